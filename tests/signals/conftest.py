"""Timelines made of a few lists, for the tests of the signals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpudiag.signals import SignalSet
from gpudiag.timeline.model import Event, Source, Timeline

Make = Callable[..., SignalSet]


@pytest.fixture
def make() -> Make:
    """`make(gpu0_util_pct=[…], main_cpu_pct=100, …)`: a figure stands for a constant column."""

    def build(
        *,
        t: Sequence[float] | None = None,
        start: Mapping[str, Any] | None = None,
        end: Mapping[str, Any] | None = None,
        frameworks: Sequence[str] = (),
        time_known: bool = True,
        **columns: Sequence[float] | float,
    ) -> SignalSet:
        length = max(len(c) for c in columns.values() if not isinstance(c, int | float))
        index = np.arange(1.0, length + 1) if t is None else np.asarray(t, dtype=float)
        frame = pd.DataFrame(
            {
                name: np.full(length, float(column))
                if isinstance(column, int | float)
                else np.asarray(column, dtype=float)
                for name, column in columns.items()
            },
            index=pd.Index(index, name="t_s"),
        )
        events = tuple(
            Event(1.0, "framework", f"{name} seen", {"name": name}) for name in frameworks
        )
        source = Source("made", "run.csv", time_known=time_known)
        return SignalSet(Timeline(frame, start or {}, source, events, end))

    return build
