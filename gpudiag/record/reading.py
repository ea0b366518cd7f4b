"""① What is read of one process, whichever way it is read."""

from __future__ import annotations

import sys
from typing import NamedTuple, Protocol


class Reading(NamedTuple):
    """A process at one moment. `started` tells it from a later process of the same number."""

    parent: int
    started: float
    name: str
    state: str  # R running, S sleeping, D blocked, Z ended but not reaped, other letters as in ps
    cpu_s: float
    threads: int
    rss_bytes: int


class Io(NamedTuple):
    """Bytes since the process started: through system calls, and from and to storage."""

    read: int = 0
    written: int = 0
    disk_read: int = 0
    disk_written: int = 0


class ThreadTimes(NamedTuple):
    """Seconds since a thread started: on a core, and ready to run without one (None: not told)."""

    cpu_s: float
    wait_s: float | None


class ProcessReader(Protocol):
    """None or empty where a process has gone or the system does not tell."""

    def pids(self) -> set[int]:
        """All processes of the machine; one that has ended lately may be among them."""

    def reading(self, pid: int) -> Reading | None:
        """The cheap figures, read for every process of the run on every tick."""

    def io(self, pid: int) -> Io | None:
        """What it has read and written."""

    def voluntary_switches(self, pid: int) -> int | None:
        """How often it gave up the CPU to wait for something."""

    def thread_times(self, pid: int, threads: int) -> dict[int, ThreadTimes]:
        """The times of each of its threads; `threads` is how many it had a moment ago."""

    def pss_bytes(self, pid: int) -> int | None:
        """Its memory, each shared page divided among its users. Slow: it visits every page."""

    def command(self, pid: int) -> tuple[str, ...]:
        """Its command line."""

    def loaded(self, pid: int) -> str:
        """The files mapped into its memory, as one text."""

    def variable(self, pid: int, name: str) -> str | None:
        """A variable of the environment it was started with."""

    def uptime_s(self) -> float | None:
        """Now, on the clock of `Reading.started`."""


def process_reader() -> ProcessReader:
    """The reader for this system: /proc on Linux, psutil elsewhere."""
    if sys.platform == "linux":
        from gpudiag.record.linux.procfs import ProcFs

        return ProcFs()
    from gpudiag.record.portable import PsutilReader

    return PsutilReader()
