"""② Which readings are of one moment, and where these moments stand on one clock."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gpudiag.timeline.readings import Readings
from gpudiag.units import format_duration


class Ticks:
    """Which tick each reading belongs to, and where the ticks stand on the clock.

    `number`: the tick of each reading, ascending from 0. `at`: seconds of each tick since the
    first, strictly ascending. `known`: whether these are seconds or only counts. `span_s` and
    `interval_s` (median between readings of one GPU): None if time is not known. `steps`: where the
    clock went back (tick after it), and by how many seconds.
    """

    def __init__(
        self,
        readings: Readings,
        gpu: np.ndarray,
        block: np.ndarray | None,
        interval_s: float | None,
    ) -> None:
        undated = readings.time is not None and np.isnan(readings.time)
        if isinstance(undated, np.ndarray) and undated.any():
            # Rows before the first date line: they go to the first moment that has one.
            assert readings.time is not None
            readings.time = pd.Series(readings.time).bfill().ffill().to_numpy()
        time = readings.time
        self.number = self._of(time, gpu, block)
        starts = np.flatnonzero(np.diff(self.number, prepend=-1))
        self.known = time is not None
        self.interval_s: float | None = interval_s
        self.span_s: float | None = None
        self.steps: list[tuple[int, float]] = []
        if time is None:
            self._count(len(starts), interval_s, readings)
            return
        shift = self._shifts(time[starts], readings, starts)
        self._measure(time + shift[self.number], gpu)
        self.at = self._spread(time[starts] + shift, readings)

    def _of(self, time: np.ndarray | None, gpu: np.ndarray, block: np.ndarray | None) -> np.ndarray:
        if block is not None:
            new = np.diff(block, prepend=block[0]) != 0
        else:
            new = _turns(gpu)
            if time is not None and len(time) > 1:
                pause = np.diff(time, prepend=time[0])
                again = [np.diff(time[gpu == g]) for g in np.unique(gpu)]
                steps = np.concatenate(again)
                steps = steps[steps > 0]
                if len(steps):
                    new |= pause > max(0.5 * float(np.median(steps)), 1e-6)
        new[0] = False
        return np.cumsum(new)

    def _count(self, count: int, interval_s: float | None, readings: Readings) -> None:
        self.at = np.arange(count) * (interval_s or 1.0)
        if interval_s:
            self.known = True
            self.span_s = float(self.at[-1])
            readings.notes.append(
                f"The log has no times; they were counted from the interval of "
                f"{interval_s:g} s that was given."
            )
        else:
            readings.notes.append(
                "The log has no times: durations cannot be told, only shares of its samples. "
                "Give --interval if you know it."
            )

    def _shifts(self, at: np.ndarray, readings: Readings, starts: np.ndarray) -> np.ndarray:
        """What must be added after each backward step of the clock so that time goes on."""
        steps = np.diff(at)
        back = np.flatnonzero(steps < 0)
        shifts = np.zeros(len(at))
        if not len(back):
            return shifts
        forward = steps[steps > 0]
        usual = float(np.median(forward)) if len(forward) else 1.0
        for n, k in enumerate(back):
            shifts[k + 1 :] += usual - steps[k]
            self.steps.append((int(k) + 1, float(steps[k])))
            if n < 5:
                what = " (the end of summer time?)" if abs(-steps[k] + usual - 3600) < 60 else ""
                readings.notes.append(
                    f"The clock goes back by {format_duration(float(-steps[k]))} at line "
                    f"{readings.line[starts[k + 1]]}{what}; it was taken to run on."
                )
        if len(back) > 5:
            readings.notes.append(f"The clock goes back {len(back)} times in all.")
        return shifts

    def _measure(self, time: np.ndarray, gpu: np.ndarray) -> None:
        self.span_s = round(float(time[-1] - time[0]), 6)
        steps = np.concatenate([np.diff(time[gpu == g]) for g in np.unique(gpu)])
        self.interval_s = round(float(np.median(steps)), 6) if len(steps) else None

    def _spread(self, at: np.ndarray, readings: Readings) -> np.ndarray:
        """Seconds since the first tick; ticks of one written time are spread until the next."""
        # Seconds since 1970 hold microseconds, no more.
        at = np.round(at - at[0], 6)
        values, first, counts = np.unique(at, return_index=True, return_counts=True)
        if len(values) == len(at):
            return at
        if len(values) == 1:
            self.known, self.interval_s = False, None
            readings.notes.append(
                "All rows carry one and the same time: durations cannot be told, only shares of "
                "its samples."
            )
            return np.arange(len(at), dtype=float)
        room = np.append(np.diff(values), 1.0).clip(max=1.0)
        place = np.arange(len(at)) - np.repeat(first, counts)
        readings.notes.append(
            f"{len(at) - len(values):,} samples have the time of the one before; they were "
            "spread over the second."
        )
        spread: np.ndarray = at + place * np.repeat(room / counts, counts)
        return spread


def _turns(gpu: np.ndarray) -> np.ndarray:
    """Where a new round over the GPUs begins, in the order of their numbers or of their rows."""
    numbers, first = np.unique(gpu, return_index=True)
    rank = np.argsort(np.argsort(first))[np.searchsorted(numbers, gpu)]
    by_number, by_row = (np.diff(order, prepend=order[0] - 1) <= 0 for order in (gpu, rank))
    return by_row if by_row.sum() < by_number.sum() else by_number
