"""① When a row is written: the arrival of a batch of GPU readings sets the pace.

With two independent timers GPU and host samples of one row lie up to an interval apart; with the
last GPU row of a batch as the trigger they lie about a millisecond apart. If no batch arrives, a
timer writes rows without GPU readings. A reading is in one row at most.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudiag.record.gpu_query import GpuRow

_PATIENCE = 1.5  # intervals without a batch until the timer writes a row
# while the number of GPUs is not known, a batch ends when nothing has come for so long
_QUIET_S = 0.15
# a GPU that is missing so often is gone, and no longer waited for
_SHORT_BATCHES = 3


class Batch(NamedTuple):
    """The readings of all GPUs that belong together, by index."""

    rows: dict[int, GpuRow]
    first: float
    last: float


class Pacemaker:
    """Times are monotonic seconds."""

    def __init__(self, interval_s: float, now: float) -> None:
        self._expected: int | None = None
        self._short = 0
        self.lost_rows = 0
        self._interval = interval_s
        self._rows: dict[int, GpuRow] = {}
        self._ready: Batch | None = None
        self._timer = now + interval_s

    def add(self, row: GpuRow) -> None:
        """Take a reading; the batch it completes, if any, waits for `take`."""
        if row.gpu in self._rows or (self._rows and row.gpu < max(self._rows)):
            self._close_short()
        self._rows[row.gpu] = row
        if self._expected is not None and len(self._rows) >= self._expected:
            self._short = 0
            self._close()

    def expect(self, count: int) -> None:
        """A batch is complete with so many GPUs."""
        self._expected = count
        if len(self._rows) >= count:
            self._close()

    def flush(self) -> None:
        """No more readings belong to the batch (nvidia-smi has ended, or fell silent)."""
        if self._rows:
            self._close()

    def take(self, now: float) -> Batch | None:
        """The newest complete batch, if one is waiting; it is given out once."""
        if self._rows and self._expected is None:
            last = max(row.arrived for row in self._rows.values())
            if now - last >= _QUIET_S:
                self._expected = len(self._rows)
                self._close()
        batch, self._ready = self._ready, None
        if batch is not None:
            self._timer = now + _PATIENCE * self._interval
        return batch

    @property
    def incomplete(self) -> bool:
        """Whether a batch has begun and nothing can be done before its next reading."""
        return self._expected is not None and self._ready is None and bool(self._rows)

    def timer_due(self, now: float) -> bool:
        """Whether a row without GPU readings must be written now; sets the next time for it."""
        if now < self._timer:
            return False
        self._timer = max(self._timer + self._interval, now + self._interval / 2)
        return True

    def deadline(self, now: float) -> float:
        """When to look again at the latest."""
        if self._rows and self._expected is None:
            return min(self._timer, now + _QUIET_S)
        return self._timer

    def _close_short(self) -> None:
        """The next batch has begun before this one was complete."""
        self._short += 1
        if self._expected is None or self._short >= _SHORT_BATCHES:
            self._expected = len(self._rows)
            self._short = 0
        self._close()

    def _close(self) -> None:
        if self._ready is not None:
            # they came in one lump: only the newest was read just now
            self.lost_rows += len(self._ready.rows)
        arrivals = [row.arrived for row in self._rows.values()]
        self._ready = Batch(self._rows, min(arrivals), max(arrivals))
        self._rows = {}
