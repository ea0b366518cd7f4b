"""① Which processes are new, without listing all of them (Linux).

A machine with hundreds of cores has thousands of kernel threads, and listing /proc would cost more
than reading the run. The kernel gives numbers out in order and says which was the last; those since
the last tick are few. The full list is still taken now and then, and where the kernel does not say.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

_LIST_S = 10.0
_LAST_PID = "/proc/sys/kernel/ns_last_pid"
_PROBES = 4  # a look at one number costs as much as so many entries of the list


class Arrivals:
    """The numbers of all processes below `root`, some of which may have ended lately."""

    def __init__(
        self,
        root: str,
        last_pid: Callable[[], int | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root = root
        self._clock = clock
        self._last_pid = last_pid or (_last_pid if _own_namespace(root) else _unknown)
        self._names: set[str] = set()
        self._pids: set[int] = set()
        self._last: int | None = None
        self._list_at = 0.0

    def look(self) -> tuple[set[int], set[int]]:
        """All processes, and those that are known to have ended since the last look."""
        last = self._last_pid()
        before, self._last = self._last, last
        now = self._clock()
        if last is None or before is None or now >= self._list_at or last < before:
            return self._list(now)
        if (last - before) * _PROBES > len(self._names):
            return self._list(now)
        self._pids |= {pid for pid in range(before + 1, last + 1) if self._is_process(pid)}
        return set(self._pids), set()

    def _list(self, now: float) -> tuple[set[int], set[int]]:
        self._list_at = now + _LIST_S
        try:
            names = set(os.listdir(self._root))  # noqa: PTH208  a third of Path.iterdir's cost
        except OSError:  # not mounted
            return set(), set()
        # of thousands of names a handful changes: only those are looked at one by one
        listed = {int(name) for name in names - self._names if name.isdigit()}
        gone = {int(name) for name in self._names - names if name.isdigit()}
        gone |= {pid for pid in self._pids if pid not in listed and str(pid) not in names}
        self._pids = (self._pids | listed) - gone
        self._names = names
        return set(self._pids), gone

    def _is_process(self, pid: int) -> bool:
        """Whether this is a process and no thread, which can be opened by its number too."""
        try:
            file = os.open(f"{self._root}/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return f"\nTgid:\t{pid}\n".encode() in os.read(file, 4096)
        except OSError:
            return False
        finally:
            os.close(file)


def _own_namespace(root: str) -> bool:
    """Whether the numbers in `root` are those that this process's kernel calls talk about."""
    try:
        return root == "/proc" and os.readlink("/proc/self") == str(os.getpid())  # noqa: PTH115
    except OSError:
        return False


def _last_pid() -> int | None:
    try:
        file = os.open(_LAST_PID, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return int(os.read(file, 32))
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)


def _unknown() -> int | None:
    return None
