"""③ Every signal gives a figure or a reason, on any recording, and never an exception."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from gpudiag.signals import REGISTRY, Missing, SignalSet
from gpudiag.timeline.columns import COLUMNS
from gpudiag.timeline.model import Source, Timeline


def timelines():
    """An empty one, one row, nothing but NaN, nonsense facts, and one with every column."""
    empty = pd.DataFrame(index=pd.Index([], name="t_s", dtype=float))
    yield Timeline(empty, {}, Source("empty", "run.csv"))
    one = pd.DataFrame({"gpu0_util_pct": [50.0]}, index=pd.Index([1.0], name="t_s"))
    yield Timeline(one, {}, Source("one", "run.csv"))
    index = pd.Index(np.arange(1.0, 401.0), name="t_s")
    names = [column.in_file(0) for column in COLUMNS if column.name != "t_s"]
    yield Timeline(pd.DataFrame(np.nan, index=index, columns=names), {}, Source("nan", "run.csv"))
    rng = np.random.default_rng(3)
    full = pd.DataFrame(rng.uniform(0, 100, (400, len(names))), index=index, columns=names)
    yield Timeline(full, {}, Source("full", "run.csv"), (), {"t_s": 400.0, "exit_code": 0})
    odd = {"gpus": [{"index": 0, "mem_total_mib": "lots"}], "host": "none", "env": 7, "rank": []}
    yield Timeline(full, odd, Source("odd", "run.csv"), (), {"exit_code": "yes"})
    yield Timeline(full, {}, Source("timeless", "csv", time_known=False))


@pytest.mark.parametrize("timeline", list(timelines()), ids=lambda timeline: timeline.source.path)
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_signal_gives_a_figure_or_a_reason(timeline, name):
    spec = REGISTRY[name]
    signals = SignalSet(timeline)
    value = signals.get(name, 0 if spec.scope == "gpu" else None)
    if isinstance(value, Missing):
        assert value.reason
    else:
        assert spec.kind == "figure"
        assert isinstance(value, float)
        assert np.isfinite(value)


@pytest.mark.parametrize("spec", REGISTRY.values(), ids=lambda spec: spec.name)
def test_a_signal_is_described(spec):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", spec.name)
    assert spec.meaning.endswith(".")
    assert len(spec.meaning) >= 15


def test_an_unknown_name_is_a_mistake(make):
    signals = make(gpu0_util_pct=[1.0] * 5)
    with pytest.raises(KeyError):
        signals.get("nonsense")
    assert isinstance(signals.get("gpu_util_pct", 0), pd.Series)
    assert isinstance(signals.get("gpu_util_pct", 3), Missing)
    assert isinstance(signals.get("gpu_util_pct"), Missing)


def test_no_signal_has_the_name_of_a_column():
    assert not set(REGISTRY) & {column.name for column in COLUMNS}
