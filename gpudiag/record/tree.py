"""① Which processes belong to the run, and what each did since the last tick.

A tick must not pay for the other processes of the machine: new ones are found as the difference of
two lists of numbers, and only members are read. A number that a stranger gave back and the run took
over between two ticks is found by a full look every 30 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from gpudiag.record.reading import Io, ProcessReader, Reading

_FULL_LOOK_S = 30.0
_DEEPEST = 64  # generations between a process and the run's first
_NAME_AGES_S = (1.0, 3.0, 10.0)  # exec may change the command line after the process was found


class Rates(NamedTuple):
    """Since the last tick. `cpu_pct` 100 is one core; None is not known."""

    cpu_pct: float | None
    read: float | None
    written: float | None
    disk_read: float | None
    disk_written: float | None


class Member:
    """A process of the run."""

    def __init__(self, pid: int, reading: Reading, command: tuple[str, ...], now: float) -> None:
        self.pid = pid
        self.reading = reading
        self.command = command
        self.found = now
        self.io: Io | None = None
        self.rates = Rates(None, None, None, None, None)
        self.age_s = 0.0
        self.names_read = 0
        self.key = (pid, reading.started)  # tells it from a later process of the same number


class Tree:
    """The run: the children of process `root`, their descendants, orphans that came to `root`.

    With `top`, a process that somebody else has started: it and its descendants.
    """

    def __init__(
        self,
        reader: ProcessReader,
        root: int,
        own_pids: Callable[[], set[int]],
        now: float,
        top: int | None = None,
    ) -> None:
        self.members: dict[int, Member] = {}
        self.changes = 0  # grows when a member comes, goes or gets another name
        self._reader = reader
        self._root = root
        self._top = top
        self._own_pids = own_pids
        self._strangers: set[int] = set()
        self._last = now
        self._last_uptime = reader.uptime_s()
        self._full_look = now + _FULL_LOOK_S

    def update(self, now: float) -> None:
        """Find who came and went, and read every member once."""
        if now >= self._full_look:
            self._strangers.clear()
            self._full_look = now + _FULL_LOOK_S
        elapsed, self._last = now - self._last, now
        uptime, before = self._reader.uptime_s(), self._last_uptime
        self._last_uptime = uptime
        pids = self._reader.pids()
        self._strangers &= pids
        own = self._own_pids()
        gone = [m for pid, m in self.members.items() if pid not in pids or pid in own]
        for member in gone:
            del self.members[member.pid]
        readings = {pid: self._reader.reading(pid) for pid in self.members}
        for pid, reading in readings.items():
            member = self.members[pid]
            if reading is None or reading.started != member.reading.started:
                gone.append(member)
                del self.members[pid]
                readings[pid] = None
        fresh = self._discover(pids - self._strangers - self.members.keys() - own, now)
        reaped = _reaped(gone)
        self.changes += len(gone) + len(fresh)
        for member in self.members.values():
            reading = readings.get(member.pid)
            new = member.pid in fresh
            # a process that is older than it is known may not have its past counted as one tick
            late = new and before is not None and member.reading.started < before - 0.02
            cpu = None if late else self._cpu(member, reading, new, elapsed)
            member.rates = self._rates(member, cpu, elapsed, reaped.get(member.pid), late)
            if reading is not None:
                if reading.name != member.reading.name:
                    self.changes += 1
                    member.command = self._reader.command(member.pid) or member.command
                member.reading = reading
            if uptime is not None:
                member.age_s = max(0.0, uptime - member.reading.started)
            self._refresh_name(member)

    def owns(self, pid: int) -> bool:
        """Whether process `pid` is of the run, looked up now."""
        for _ in range(_DEEPEST):
            if pid in self.members:
                return True
            reading = self._reader.reading(pid)
            if reading is None or reading.parent == self._root:
                return reading is not None
            pid = reading.parent
        return False

    def _discover(self, candidates: Iterable[int], now: float) -> set[int]:
        """Add those of `candidates` that descend from the root; their PIDs."""
        readings = {pid: r for pid in candidates if (r := self._reader.reading(pid)) is not None}
        found: set[int] = set()
        while True:
            mine = [
                pid
                for pid, reading in readings.items()
                if pid not in found
                and (
                    reading.parent in self.members
                    or reading.parent == self._root
                    or pid == self._top
                )
            ]
            if not mine:
                break
            for pid in mine:
                found.add(pid)
                self.members[pid] = Member(pid, readings[pid], self._reader.command(pid), now)
        self._strangers |= readings.keys() - found
        return found

    def _cpu(
        self, member: Member, reading: Reading | None, new: bool, elapsed: float
    ) -> float | None:
        if elapsed <= 0 or (reading is None and not new):
            return None
        spent = member.reading.cpu_s if new else 0.0
        if reading is not None:
            spent = reading.cpu_s - member.reading.cpu_s
        return max(0.0, 100 * spent / elapsed)

    def _rates(
        self, member: Member, cpu: float | None, elapsed: float, reaped: Io | None, late: bool
    ) -> Rates:
        io = self._reader.io(member.pid)
        before = member.io
        if before is None and not late:
            before = Io()
        member.io = io or member.io
        if io is None or before is None or elapsed <= 0:
            return Rates(cpu, None, None, None, None)
        if reaped is None and io == before:  # most processes, most of the time
            return Rates(cpu, 0.0, 0.0, 0.0, 0.0)
        # the kernel adds what a child had read and written to the parent that reaps it
        taken_off = reaped or Io()
        deltas = (
            max(0.0, (after - then - off) / elapsed)
            for after, then, off in zip(io, before, taken_off, strict=True)
        )
        return Rates(cpu, *deltas)

    def _refresh_name(self, member: Member) -> None:
        read = member.names_read
        if read < len(_NAME_AGES_S) and member.age_s >= _NAME_AGES_S[read]:
            member.names_read += 1
            self.changes += 1
            member.command = self._reader.command(member.pid) or member.command


def _reaped(gone: Iterable[Member]) -> dict[int, Io]:
    """What processes that have ended had read and written, by the parent that gets it added."""
    totals: dict[int, Io] = {}
    for member in gone:
        if member.io is not None:
            before = totals.get(member.reading.parent, Io())
            totals[member.reading.parent] = Io(
                *(a + b for a, b in zip(before, member.io, strict=True))
            )
    return totals
