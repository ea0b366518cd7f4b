"""① Read processes through psutil, where there is no /proc."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import psutil

from gpudiag.record.reading import Io, Reading, ThreadTimes

_STATES = {
    psutil.STATUS_RUNNING: "R",
    psutil.STATUS_SLEEPING: "S",
    psutil.STATUS_IDLE: "S",
    psutil.STATUS_DISK_SLEEP: "D",
    psutil.STATUS_STOPPED: "T",
    psutil.STATUS_ZOMBIE: "Z",
}
Value = TypeVar("Value")


class PsutilReader:
    """See reading.ProcessReader. Objects are kept: making one costs more than reading it."""

    def __init__(self) -> None:
        self._processes: dict[int, psutil.Process] = {}

    def pids(self) -> set[int]:
        pids = set(psutil.pids())
        for gone in self._processes.keys() - pids:
            del self._processes[gone]
        return pids

    def reading(self, pid: int) -> Reading | None:
        def read(process: psutil.Process) -> Reading:
            with process.oneshot():
                times = process.cpu_times()
                return Reading(
                    parent=process.ppid(),
                    started=process.create_time(),
                    name=process.name(),
                    state=_STATES.get(process.status(), "?"),
                    cpu_s=times.user + times.system,
                    threads=process.num_threads(),
                    rss_bytes=process.memory_info().rss,
                )

        return self._ask(pid, read)

    def io(self, pid: int) -> Io | None:
        def read(process: psutil.Process) -> Io | None:
            if not hasattr(process, "io_counters"):  # macOS
                return None
            io = process.io_counters()
            return Io(
                getattr(io, "read_chars", io.read_bytes),
                getattr(io, "write_chars", io.write_bytes),
                io.read_bytes,
                io.write_bytes,
            )

        return self._ask(pid, read)

    def voluntary_switches(self, pid: int) -> int | None:
        return self._ask(pid, lambda process: process.num_ctx_switches().voluntary)

    def thread_times(self, pid: int, threads: int) -> dict[int, ThreadTimes]:
        found = self._ask(pid, lambda process: process.threads()) or []
        return {t.id: ThreadTimes(t.user_time + t.system_time, None) for t in found}

    def pss_bytes(self, pid: int) -> int | None:
        return None

    def command(self, pid: int) -> tuple[str, ...]:
        return tuple(self._ask(pid, lambda process: process.cmdline()) or ())

    def loaded(self, pid: int) -> str:
        def read(process: psutil.Process) -> str:
            if not hasattr(process, "memory_maps"):  # macOS
                return ""
            return "\n".join(part.path for part in process.memory_maps())

        return self._ask(pid, read) or ""

    def variable(self, pid: int, name: str) -> str | None:
        return self._ask(pid, lambda process: process.environ().get(name))

    def uptime_s(self) -> float | None:
        return time.time()

    def _ask(self, pid: int, read: Callable[[psutil.Process], Value]) -> Value | None:
        try:
            process = self._processes.get(pid)
            if process is None:
                process = self._processes[pid] = psutil.Process(pid)
            return read(process)
        except (psutil.Error, OSError, NotImplementedError):
            self._processes.pop(pid, None)
            return None
