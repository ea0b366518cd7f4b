"""Signals given by a test itself, and a registry that only tests use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from gpudiag.diagnose.expression import parse
from gpudiag.diagnose.model import Cause, Remedy, Rule
from gpudiag.diagnose.nodes import Context, Symbol
from gpudiag.signals.base import Missing, Value
from gpudiag.timeline.model import Event, Source, Timeline

SYMBOLS = {
    "figure": Symbol("figure", per_gpu=False),
    "other": Symbol("figure", per_gpu=False),
    "gone": Symbol("figure", per_gpu=False),
    "active_s": Symbol("figure", per_gpu=False),
    "series": Symbol("series", per_gpu=False),
    "second": Symbol("series", per_gpu=False),
    "gone_series": Symbol("series", per_gpu=False),
    "gpu_figure": Symbol("figure", per_gpu=True),
    "gpu_series": Symbol("series", per_gpu=True),
    "gpu_util_pct": Symbol("series", per_gpu=True),
}
NAN = float("nan")


class FakeSignals:
    """Values by name, or by (name, gpu); what is absent is Missing("NAME was not recorded")."""

    def __init__(
        self,
        values: Mapping[str | tuple[str, int], float | list[float]] | None = None,
        gpus: tuple[int, ...] = (0, 1),
        times: list[float] | None = None,
        active: list[bool] | None = None,
        **facts: object,
    ) -> None:
        self.values = dict(values or {})
        self.gpus = gpus
        lists = [value for value in self.values.values() if isinstance(value, list)]
        length = len(lists[0]) if lists else 4
        stamps = [float(n + 1) for n in range(length)] if times is None else times
        index = pd.Index(stamps, name="t_s", dtype=np.float64)
        frame = pd.DataFrame(index=index)
        for name, value in self.values.items():
            if isinstance(value, list):
                if isinstance(name, tuple):
                    frame[name[0].replace("gpu_", f"gpu{name[1]}_", 1)] = value
                elif name.startswith(("main_", "workers", "host_")):
                    frame[name] = value
        source = Source("fake", "fake", time_known=bool(facts.pop("time_known", True)))
        self.timeline = Timeline(frame, dict(facts), source)
        self._active = [True] * length if active is None else active

    why_no_gpus = "no GPU was recorded"

    @property
    def active(self) -> pd.Series | Missing:
        if not self._active:
            return Missing("the GPUs were never active")
        return pd.Series(self._active, index=self.timeline.frame.index)

    def get(self, name: str, gpu: int | None = None) -> Value:
        value = self.values.get(name if gpu is None else (name, gpu))
        if value is None:
            return Missing(f"{name} was not recorded")
        if isinstance(value, list):
            return pd.Series(value, index=self.timeline.frame.index, dtype=np.float64)
        return float(value)


def context(*, per_gpu: bool = False, cost: bool = False, **thresholds: float) -> Context:
    return Context(SYMBOLS, thresholds, cost, per_gpu)


def node(text: str, *, per_gpu: bool = False, cost: bool = False):
    return parse(text, context(per_gpu=per_gpu, cost=cost))


def rule(name: str = "a-rule", **changes: object) -> Rule:
    """A rule that fires where `figure` is over 1; `changes` are fields of Rule."""
    plain = Rule(
        code="GD899",
        name=name,
        title=f"Title of {name}",
        family="input",
        scope="run",
        when="figure > 1",
        for_s=0.0,
        bridge_s=0.0,
        min_share=0.0,
        cost="",
        bound=False,
        summary=f"{name} fired.",
        meaning="…",
        confirm="…",
        fine="All is well.",
        evidence=(),
        plot=(),
        supersedes=(),
        thresholds=(),
        severity=(),
        confidence=(),
        causes=(Cause("cause", "A cause", "1 > 0", "", (Remedy("any", "Do this."),)),),
        tests=(),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def framework_event(name: str, t_s: float = 1.0) -> Event:
    return Event(t_s, "framework", f"{name} seen", {"name": name})
