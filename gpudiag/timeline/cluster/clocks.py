"""② How far the clocks of machines are apart, from the rhythm that one run gives all its GPUs.

A run in step starts, pauses and ends on all machines at once. The mean utilisation of each machine
is moved against that of the first until both agree best. Nothing is claimed where the curves hold
no change, or where another shift fits about as well (a rhythm that repeats itself).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpudiag.timeline.cluster.model import Clock
from gpudiag.timeline.model import Timeline

Array = npt.NDArray[np.float64]

MOST_S = 5.0  # clocks that NTP keeps are closer; further apart, other work would fit by chance
STEP_S = 0.1
LEAST_CORRELATION = 0.6
LEAST_LEAD = 0.02  # in correlation, over every shift that is more than an interval away
_LEAST_SPREAD_PCT = 3.0


def compare_clocks(first: Timeline, other: Timeline, begin_s: float) -> Clock:
    """The clock of `other`, whose time 0 is `begin_s` of `first` if the clocks agree."""
    one, two = _curve(first), _curve(other)
    if one is None or two is None:
        return Clock()
    interval = max(_interval(one[0]), _interval(two[0]))
    low = max(one[0][0], two[0][0] + begin_s) + MOST_S
    high = min(one[0][-1], two[0][-1] + begin_s) - MOST_S
    if high - low < 30 * interval:
        return Clock()
    grid = np.arange(low, high, min(STEP_S, interval / 4))
    reference = np.interp(grid, *one)
    if reference.std() < _LEAST_SPREAD_PCT:
        return Clock()
    shifts = np.arange(-MOST_S, MOST_S + STEP_S / 2, STEP_S)
    fits = np.array([_fit(reference, np.interp(grid - begin_s + s, *two)) for s in shifts])
    best = int(np.argmax(fits))
    away = np.abs(shifts - shifts[best]) > 1.5 * interval
    if fits[best] < LEAST_CORRELATION or fits[best] - fits[away].max() < LEAST_LEAD:
        return Clock()
    # a reading is of the second before it, at any place in it: half an interval in both curves
    return Clock(float(round(shifts[best], 1)), interval)


def _curve(timeline: Timeline) -> tuple[Array, Array] | None:
    """Times and the mean utilisation of all GPUs."""
    columns = [
        column.to_numpy(dtype=np.float64)
        for gpu in timeline.gpus
        if (column := timeline.column(f"gpu{gpu}_util_pct")) is not None
    ]
    if not columns or not timeline.source.time_known:
        return None
    table = np.vstack(columns)
    valid = np.isfinite(table).all(axis=0)
    if valid.sum() < 10:
        return None
    times = timeline.frame.index.to_numpy(dtype=np.float64)[valid]
    return times, np.asarray(table[:, valid].mean(axis=0))


def _interval(times: Array) -> float:
    return float(np.median(np.diff(times)))


def _fit(one: Array, two: Array) -> float:
    if two.std() < _LEAST_SPREAD_PCT:
        return 0.0
    return float(np.corrcoef(one, two)[0, 1])
