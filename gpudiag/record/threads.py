"""① What the threads of a process did: how busy the busiest was, how long they had no core."""

from __future__ import annotations

from typing import NamedTuple

from gpudiag.record.reading import ProcessReader, ThreadTimes
from gpudiag.record.tree import Member


class ThreadRates(NamedTuple):
    """Since the last look, 100 is one thread all the time; None is not known."""

    busiest_pct: float | None
    wait_pct: float | None


class Threads:
    """Looks at some processes of the run on every tick; the first look at one tells nothing."""

    def __init__(self, reader: ProcessReader) -> None:
        self._reader = reader
        self._before: dict[tuple[int, float], tuple[float, dict[int, ThreadTimes]]] = {}
        self._rates: dict[tuple[int, float], ThreadRates] = {}

    def look(self, member: Member, now: float) -> ThreadRates:
        """What the threads of `member` did since the last tick at which they were looked at."""
        if self._before.get(member.key, (None,))[0] == now:
            return self._rates[member.key]  # the training process is a rank too
        rates = self._rates[member.key] = self._read(member, now)
        return rates

    def _read(self, member: Member, now: float) -> ThreadRates:
        alone = member.reading.threads == 1
        times = self._reader.thread_times(member.pid, member.reading.threads)
        then, before = self._before.get(member.key, (now, {}))
        self._before[member.key] = (now, times)
        elapsed = now - then
        busiest = member.rates.cpu_pct if alone else None
        if elapsed <= 0 or not times or not before:
            return ThreadRates(busiest, None)
        start = ThreadTimes(0.0, 0.0)  # of a thread that was born since
        if not alone:
            spent = (found.cpu_s - before.get(tid, start).cpu_s for tid, found in times.items())
            busiest = 100 * max(0.0, *spent) / elapsed
        waits = [
            found.wait_s - (before.get(tid, start).wait_s or 0.0)
            for tid, found in times.items()
            if found.wait_s is not None
        ]
        return ThreadRates(busiest, 100 * max(0.0, sum(waits)) / elapsed if waits else None)

    def keep(self, keys: set[tuple[int, float]]) -> None:
        """Forget all other processes."""
        for gone in self._before.keys() - keys:
            del self._before[gone], self._rates[gone]
