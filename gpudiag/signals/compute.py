"""③ SignalSet: the one way to ask a timeline for a named quantity, computed once and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeVar, cast

import numpy as np
import pandas as pd

from gpudiag.signals.base import REGISTRY, Missing, Value
from gpudiag.signals.clock import Array, Clock, Mask, clock_of
from gpudiag.signals.limits import LIMITS
from gpudiag.signals.used import UsedGpus, used_gpus
from gpudiag.signals.window import Window, find_window
from gpudiag.timeline.columns import BY_NAME, parse_name
from gpudiag.timeline.model import Timeline

HOW_TO_RECORD = "record with: gpudiag record -- <command>"
NO_CPU_SIDE = f"no CPU side was recorded; {HOW_TO_RECORD}"


Kept = TypeVar("Kept")


class Absent(Exception):  # noqa: N818 - it is no error: it carries a Missing out of a signal
    """Raised while a signal is computed when something it needs is missing; `get` catches it."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(missing.reason)
        self.missing = missing


class SignalSet:
    """The signals of one timeline.

    `get(name, gpu)` takes a registered signal or a column of run.csv (`gpu_util_pct` with `gpu`,
    `host_cpu_pct` without) and gives a figure, a series over the ticks, or Missing with a reason.
    The other methods are for the signals themselves; those that say so raise Absent. `limits`
    replaces some of LIMITS by other values.
    """

    def __init__(self, timeline: Timeline, limits: Mapping[str, float] | None = None) -> None:
        self.timeline = timeline
        self.limits: Mapping[str, float] = {**LIMITS, **(limits or {})}
        self._values: dict[tuple[str, int | None], Value] = {}
        self._kept: dict[tuple[str, int | None], object] = {}

    @cached_property
    def clock(self) -> Clock:
        """The durations of the ticks."""
        return clock_of(self.timeline)

    @cached_property
    def used(self) -> UsedGpus:
        """Which GPUs belong to the run, and how that is known."""
        return used_gpus(self.timeline)

    @property
    def gpus(self) -> tuple[int, ...]:
        """The numbers of the GPUs that the run uses, ascending."""
        return self.used.gpus

    @property
    def why_no_gpus(self) -> str:
        """Why `gpus` is empty, where it is."""
        return self.used.reason if self.timeline.gpus else "no GPU was recorded"

    @cached_property
    def found_window(self) -> Window | Missing:
        """When the GPUs worked: start-up, warm-up, active time and the gaps within it."""
        return find_window(self.timeline, self.used, self.clock)

    @property
    def window(self) -> Window:
        """The same; raises Absent if the GPUs never worked."""
        found = self.found_window
        if isinstance(found, Missing):
            raise Absent(found)
        return found

    @property
    def active(self) -> pd.Series | Missing:
        """A series of bool over the ticks, true in the active window; gaps are part of it."""
        found = self.found_window
        if isinstance(found, Missing):
            return found
        return pd.Series(found.active, index=self.timeline.frame.index)

    def get(self, name: str, gpu: int | None = None) -> Value:
        """The value of a signal or column. Raises KeyError if there is neither of that name."""
        key = (name, gpu)
        if key not in self._values:
            spec = REGISTRY.get(name)
            try:
                if spec is None:
                    self._values[key] = self.column(name, gpu)
                else:
                    self._values[key] = spec.compute(self, gpu if spec.scope == "gpu" else None)
            except Absent as absent:
                self._values[key] = absent.missing
        return self._values[key]

    def figure(self, name: str, gpu: int | None = None) -> float | Missing:
        """A signal that is one figure, for a signal that can do without it."""
        value = self.get(name, gpu)
        if isinstance(value, pd.Series):
            raise TypeError(f"{name} is a series, not one figure")
        return value

    def need(self, name: str, gpu: int | None = None) -> float:
        """A signal that is one figure; raises Absent if it is missing."""
        value = self.figure(name, gpu)
        if isinstance(value, Missing):
            raise Absent(value)
        return value

    def reaches(self, name: str, limit: str) -> bool:
        """Whether a figure is known and at or above a limit."""
        value = self.figure(name)
        return not isinstance(value, Missing) and value >= self.limits[limit]

    def stays_within(self, name: str, limit: str) -> bool:
        """Whether a figure is known and at or below a limit."""
        value = self.figure(name)
        return not isinstance(value, Missing) and value <= self.limits[limit]

    def array(self, name: str, gpu: int | None = None) -> Array:
        """A column or series as an array over the ticks; raises Absent if it is missing."""
        value = self.get(name, gpu)
        if isinstance(value, Missing):
            raise Absent(value)
        if not isinstance(value, pd.Series):
            raise TypeError(f"{name} is one figure, not a series")
        return value.to_numpy(dtype=np.float64)

    def once(self, name: str, gpu: int | None, compute: Callable[[], Kept]) -> Kept:
        """What `compute` gives, kept for the next call of that name and GPU; passes Absent on."""
        key = (name, gpu)
        if key not in self._kept:
            try:
                self._kept[key] = compute()
            except Absent as absent:
                self._kept[key] = absent
        kept = self._kept[key]
        if isinstance(kept, Absent):
            raise kept
        return cast(Kept, kept)

    def mean(self, name: str, where: Mask, gpu: int | None = None) -> float:
        """The mean of a column over the ticks of `where`, by their duration; may raise Absent."""
        mean = self.clock.mean(self.array(name, gpu), where)
        if mean is None:
            raise Absent(Missing(f"{name} holds no reading in the time that counts"))
        return mean

    def steady_mean(self, name: str, gpu: int | None = None) -> float:
        """The mean of a column over the active time without pauses; may raise Absent."""
        return self.mean(name, self.window.steady, gpu)

    def column(self, name: str, gpu: int | None = None) -> pd.Series | Missing:
        """A column of run.csv, or why it is empty. Raises KeyError if there is no such column."""
        in_file = name
        if name.startswith("gpu_") and name[4:] in BY_NAME:
            if gpu is None:
                return Missing(f"{name} is a column of each GPU, and no GPU was named")
            in_file = f"gpu{gpu}_{name[4:]}"
        parsed = parse_name(in_file)
        if parsed is None:
            raise KeyError(name)
        series = self.timeline.column(in_file)
        if series is not None:
            return series
        reasons = self.timeline.source.missing
        said = reasons.get(in_file) or reasons.get(parsed[0].name)
        return Missing(said or self._why_empty(parsed[0].scope, in_file))

    def _why_empty(self, scope: str, in_file: str) -> str:
        recorded = bool(self.timeline.start.get("command"))
        if scope in ("host", "cgroup", "tree", "rank") and not recorded:
            return NO_CPU_SIDE
        if scope == "cgroup":
            return f"{in_file} was not measured: no control group with CPU or memory accounts"
        if scope in ("tree", "rank") and self.timeline.column("main_cpu_pct") is None:
            return f"{in_file} was not measured: no training process was seen"
        if scope == "gpu" and in_file.endswith("_util_pct"):
            return (
                f"{in_file} was not measured: the log does not hold it, or the driver does not "
                "give it (it gives none where MIG is on)"
            )
        return f"{in_file} was not measured"
