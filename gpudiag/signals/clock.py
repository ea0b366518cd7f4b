"""③ How long each tick stands for: real durations, holes in the data, the wall clock of the run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpudiag.timeline.model import Timeline

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# A utilisation is an average over the second before its reading. Three intervals without a reading
# are more than a late row (streams at 1 Hz were seen at 1.4 s a row on hosts with eight GPUs).
HOLE_INTERVALS = 3.0


@dataclass(frozen=True)
class Clock:
    """The ticks of a timeline as arrays, all of one length, in seconds.

    `t` is the end of each tick, `weight` how long its reading stands for, `hole` the time before it
    that no reading stands for. `wall` is the length of the recording: the sum of both plus `tail`,
    the time between the last reading and the end. Where `known` is false the unit is one sample.
    """

    t: Array
    weight: Array
    hole: Array
    tail: float
    interval: float
    known: bool

    @property
    def wall(self) -> float:
        return float(self.weight.sum() + self.hole.sum() + self.tail)

    @cached_property
    def begin(self) -> Array:
        """The start of each tick."""
        return self.t - self.weight

    def mean(self, values: Array, where: Mask) -> float | None:
        """The mean of `values` over the ticks of `where`, by duration; None without a reading."""
        valid = where & np.isfinite(values)
        total = float(self.weight[valid].sum())
        if total <= 0:
            return None
        return float((values[valid] * self.weight[valid]).sum() / total)

    def seconds(self, where: Mask) -> float:
        """How long the ticks of `where` last together."""
        return float(self.weight[where].sum())


def clock_of(timeline: Timeline) -> Clock:
    """The clock of `timeline`. The first tick lasts one interval; a hole is no part of any tick."""
    t = timeline.frame.index.to_numpy(dtype=np.float64)
    known = timeline.source.time_known
    interval = _interval(timeline, t)
    if len(t) == 0:
        empty = np.zeros(0)
        return Clock(empty, empty, empty, 0.0, interval, known)
    lead = float(t[0]) if known and t[0] > 0 else interval
    between = np.concatenate(([lead], np.diff(t)))
    is_hole = between > HOLE_INTERVALS * interval
    weight = np.where(is_hole, interval, np.maximum(between, 0.0))
    hole = np.maximum(between - weight, 0.0)
    end = timeline.end or {}
    end_s = _number(end.get("t_s"))
    tail = max(end_s - float(t[-1]), 0.0) if known and end_s is not None else 0.0
    return Clock(t, weight, hole, tail, interval, known)


def _interval(timeline: Timeline, t: Array) -> float:
    steps = np.diff(t)
    steps = steps[steps > 0]
    if len(steps):
        return float(np.median(steps))
    for stated in (timeline.source.interval_s, timeline.start.get("interval_s")):
        number = _number(stated)
        if number is not None and number > 0:
            return number
    return 1.0


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value):
        return float(value)
    return None
