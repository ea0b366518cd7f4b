"""① Read processes from /proc (Linux).

psutil reads the same files, but through several objects and regular expressions a process: five
to ten times the CPU for a run of a hundred processes (docs/recording.md has the measurement).
"""

# ruff: noqa: PTH208  os.listdir costs a third of Path.iterdir, on every tick

from __future__ import annotations

import os
import time

from gpudiag.record.linux.arrivals import Arrivals
from gpudiag.record.linux.kept import KeptFiles
from gpudiag.record.reading import Io, Reading, ThreadTimes

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SMALL, _LARGE = 4096, 1 << 20
# its memory may be taken from a sleeping process, and its parent may end: look now and then
_MOST_USES = 10


class _Known:
    """What was read of a process of one thread when it last had a core.

    `turns` is its schedstat, which changes whenever it gets a core: without that it can neither
    have used CPU nor read, written or waited. `uses` counts the ticks since.
    """

    __slots__ = ("io", "reading", "switches", "turns", "uses")

    def __init__(self, turns: bytes, reading: Reading) -> None:
        # a kernel that does not count says "0 0 0" of every process
        self.turns = turns if not turns.startswith(b"0 ") else b""
        self.reading = reading
        self.uses = 0
        self.io: Io | None = None
        self.switches: int | None = None

    def still(self, turns: bytes) -> bool:
        """Whether the process has had no core since."""
        return (
            bool(turns)
            and turns == self.turns
            and self.reading.state != "R"
            and self.uses < _MOST_USES
        )


class ProcFs:
    """See reading.ProcessReader. A process that has not run since the last tick costs one read."""

    def __init__(self, root: str = "/proc") -> None:
        self._root = root
        self._files = KeptFiles(root)
        self._arrivals = Arrivals(root)
        self._known: dict[int, _Known] = {}

    def pids(self) -> set[int]:
        pids, gone = self._arrivals.look()
        for pid in gone:
            self._forget(pid)
        if gone:
            for known in self._known.values():
                if known.reading.parent in gone:
                    known.turns = b""
        return pids

    def reading(self, pid: int) -> Reading | None:
        if not self._files.kept(pid):
            # only members of the run are asked for their I/O, which keeps their files open
            return _reading(self._read(f"{pid}/stat", _SMALL))
        known = self._known.get(pid)
        turns = b""
        if known is None or known.reading.threads == 1:
            turns = self._files.read(pid, "schedstat")
            if known is not None and known.still(turns):
                known.uses += 1
                return known.reading
        reading = _reading(self._files.read(pid, "stat"))
        if reading is not None:
            self._known[pid] = _Known(turns, reading)
        else:
            self._forget(pid)
        return reading

    def io(self, pid: int) -> Io | None:
        known = self._known.get(pid)
        if known is not None and known.uses and known.io is not None:
            return known.io
        # rchar, wchar, syscr, syscw, read_bytes, write_bytes, …: each name and its figure
        words = self._files.read(pid, "io").split()
        if len(words) < 12 or words[8] != b"read_bytes:":
            return None
        found = Io(int(words[1]), int(words[3]), int(words[9]), int(words[11]))
        if known is not None:
            known.io = found
        return found

    def voluntary_switches(self, pid: int) -> int | None:
        known = self._known.get(pid)
        if known is not None and known.uses and known.switches is not None:
            return known.switches
        text = self._files.read(pid, "status")
        at = text.find(b"\nvoluntary_ctxt_switches:")
        if at < 0:
            return None
        found = int(text[at + 25 :].split(b"\n", 1)[0])
        if known is not None:
            known.switches = found
        return found

    def thread_times(self, pid: int, threads: int) -> dict[int, ThreadTimes]:
        if threads == 1:  # the process's own file is that of its first thread
            found = self._thread(pid, "")
            return {} if found is None else {pid: found}
        try:
            names = os.listdir(f"{self._root}/{pid}/task")
        except OSError:
            return {}
        self._files.forget_others(pid, set(names), "task/")
        times = {int(name): self._thread(pid, f"task/{name}/") for name in names}
        return {thread: found for thread, found in times.items() if found is not None}

    def _thread(self, pid: int, folder: str) -> ThreadTimes | None:
        # nanoseconds on a core, nanoseconds ready without one, turns; cheaper than stat, and finer
        known = self._known.get(pid)
        turns = known.turns if known is not None and not folder else b""
        fields = (turns or self._files.read(pid, f"{folder}schedstat")).split()
        if len(fields) == 3 and fields[0] != b"0":
            return ThreadTimes(int(fields[0]) * 1e-9, int(fields[1]) * 1e-9)
        stat = self._files.read(pid, f"{folder}stat")  # a kernel without these figures
        fields = stat[stat.rfind(b")") + 2 :].split(b" ", 14)
        if len(fields) <= 13:
            return None
        return ThreadTimes((int(fields[11]) + int(fields[12])) * _TICK_S, None)

    def pss_bytes(self, pid: int) -> int | None:
        text = self._read(f"{pid}/smaps_rollup", _SMALL)
        at = text.find(b"\nPss:")
        words = text[at + 5 :].split(None, 1) if at >= 0 else []
        return int(words[0]) * 1024 if words and words[0].isdigit() else None

    def command(self, pid: int) -> tuple[str, ...]:
        text = self._read(f"{pid}/cmdline", _LARGE).rstrip(b"\0")
        return tuple(word.decode("utf-8", "replace") for word in text.split(b"\0")) if text else ()

    def loaded(self, pid: int) -> str:
        return self._read(f"{pid}/maps", _LARGE * 16).decode("utf-8", "replace")

    def variable(self, pid: int, name: str) -> str | None:
        wanted = name.encode() + b"="
        for item in self._read(f"{pid}/environ", _LARGE).split(b"\0"):
            if item.startswith(wanted):
                return item[len(wanted) :].decode("utf-8", "replace")
        return None

    def uptime_s(self) -> float | None:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def _forget(self, pid: int) -> None:
        self._files.forget(pid)
        self._known.pop(pid, None)

    def _read(self, path: str, most: int) -> bytes:
        """The file, empty if it cannot be read; /proc gives a page at a time beyond the first."""
        try:
            file = os.open(f"{self._root}/{path}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            data = os.read(file, _SMALL)
            if most <= _SMALL or len(data) == 0:
                return data
            parts = [data]
            total = len(data)
            while total < most and (data := os.read(file, 65536)):
                parts.append(data)
                total += len(data)
            return b"".join(parts)
        except OSError:  # the process ended in between
            return b""
        finally:
            os.close(file)


def _reading(stat: bytes) -> Reading | None:
    end = stat.rfind(b")")  # the name may hold anything, brackets included
    fields = stat[end + 2 :].split(b" ", 23)
    if len(fields) < 23:
        return None
    return Reading(
        parent=int(fields[1]),
        started=int(fields[19]) * _TICK_S,
        name=stat[stat.index(b"(") + 1 : end].decode("utf-8", "replace"),
        state=fields[0].decode("ascii", "replace"),
        cpu_s=(int(fields[11]) + int(fields[12])) * _TICK_S,
        threads=int(fields[17]),
        rss_bytes=int(fields[21]) * _PAGE,
    )
