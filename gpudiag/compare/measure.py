"""④ What a comparison needs of one run: its signals, the time that counts, and means over it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudiag.compare.bootstrap import Mean, block_mean
from gpudiag.signals.base import Missing
from gpudiag.signals.clock import Array, Mask
from gpudiag.signals.compute import SignalSet
from gpudiag.timeline.model import Timeline

_SHORTEST_BLOCK_S = 5.0  # what lasts a few seconds (a step, a batch, a log line) stays whole


@dataclass(frozen=True)
class Measured:
    """A run as a comparison sees it. `active` is from the end of the warm-up to the last activity,
    pauses included, time without a job left out; None if the GPUs never worked."""

    timeline: Timeline
    signals: SignalSet

    @classmethod
    def of(cls, timeline: Timeline) -> Measured:
        """Measure `timeline`."""
        return cls(timeline, SignalSet(timeline))

    @cached_property
    def active(self) -> Mask | None:
        """The ticks that count."""
        found = self.signals.found_window
        return None if isinstance(found, Missing) else found.active

    @property
    def active_s(self) -> float:
        """How long they last together."""
        return 0.0 if self.active is None else self.signals.clock.seconds(self.active)

    @cached_property
    def busy_gpus(self) -> Array:
        """How many GPUs of the run were busy, at each tick: the sum of their utilisations."""
        readings = [
            column.to_numpy(dtype=np.float64) / 100
            for gpu in self.signals.gpus
            if (column := self.timeline.column(f"gpu{gpu}_util_pct")) is not None
        ]
        if not readings:
            return np.full(len(self.timeline.frame), np.nan)
        return np.asarray(np.vstack(readings).sum(axis=0))

    @cached_property
    def least_block(self) -> int:
        """Readings of the shortest block: pauses that recur stay whole, with what is between."""
        clock, found = self.signals.clock, self.signals.found_window
        seconds = _SHORTEST_BLOCK_S
        if not isinstance(found, Missing) and len(found.spans) > 1:
            starts = [clock.begin[first] for first, _ in found.spans]
            seconds = max(seconds, float(np.median(np.diff(starts))))
        return max(1, math.ceil(seconds / clock.interval)) if clock.known else 5

    def mean(self, values: Array) -> Mean | None:
        """The mean over the ticks that count."""
        if self.active is None or len(values) != len(self.active):
            return None
        weight = self.signals.clock.weight
        return block_mean(values[self.active], weight[self.active], self.least_block)

    def column_mean(self, name: str) -> Mean | None:
        """The same of a column of run.csv; None if it was not recorded."""
        column = self.timeline.column(name)
        return None if column is None else self.mean(column.to_numpy(dtype=np.float64))

    def gpu_columns(self, name: str) -> Array | None:
        """A column of every GPU of the run, a row each; None if one of them lacks it."""
        found = [self.timeline.column(f"gpu{gpu}_{name}") for gpu in self.signals.gpus]
        if not found or any(column is None for column in found):
            return None
        return np.vstack([c.to_numpy(dtype=np.float64) for c in found if c is not None])

    def per_busy(self, name: str) -> float | None:
        """The mean of a column of the GPUs over the time in which they were busy."""
        table, busy = self.gpu_columns(name), self.gpu_columns("util_pct")
        if table is None or busy is None or self.active is None:
            return None
        weight = busy * self.signals.clock.weight * self.active
        valid = np.isfinite(table) & np.isfinite(weight)
        total = float(weight[valid].sum())
        return float((table[valid] * weight[valid]).sum() / total) if total > 0 else None

    def peak(self, name: str) -> float | None:
        """The highest reading of a column of the GPUs."""
        table = self.gpu_columns(name)
        if table is None or not np.isfinite(table).any():
            return None
        return float(np.nanmax(table))
