"""④ Whatever the cells hold, a diagnosis is made, and nothing is raised."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudiag.diagnose.engine import diagnose
from gpudiag.diagnose.load import load_rules
from gpudiag.timeline.model import Source, Timeline

RULES = load_rules()
NAMES = (
    "gpu0_util_pct", "gpu0_mem_used_mib", "gpu0_power_w", "gpu1_util_pct", "gpu1_mem_used_mib",
    "gpu0_own_procs", "host_idle_cores", "host_mem_avail_mib", "main_cpu_pct", "main_rss_mib",
    "main_read_mib_s", "workers", "workers_cpu_pct", "workers_cpu_median_pct", "others_cpu_pct",
)  # fmt: skip
CELLS = st.one_of(
    st.sampled_from([0.0, -1.0, -5.0, np.nan, 100.0, 1e308, -1e308, 1e-308]),
    st.floats(allow_nan=True, allow_infinity=False),
)


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    """Up to 1000 rows of a few patterns of arbitrary cells."""
    rows = draw(st.integers(1, 40)) * draw(st.sampled_from([1, 5, 25]))
    frame = {}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1)):
        pattern = draw(st.lists(CELLS, min_size=1, max_size=6))
        frame[name] = np.resize(np.asarray(pattern, dtype=np.float64), rows)
    interval = draw(st.sampled_from([0.05, 1.0, 30.0]))
    start = draw(st.sampled_from([{}, {"command": ["python", "train.py"], "env": {}}]))
    total = draw(st.sampled_from([None, 24_576, 0, -1]))
    facts = {**start, "gpus": [{"index": 0, "mem_total_mib": total}]}
    index = pd.Index(np.arange(1, rows + 1) * interval, name="t_s")
    known = draw(st.booleans())
    return Timeline(
        pd.DataFrame(frame, index=index), facts, Source("made", "run.csv", time_known=known)
    )


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(timelines())
def test_nothing_is_raised(timeline):
    """GIVEN any finite, missing, negative or huge cells THEN there is a verdict."""
    assert diagnose(timeline, RULES).sentence


@pytest.mark.parametrize("memory", [-5.0, -1e308, 0.0])
def test_memory_that_is_negative_throughout(memory):
    """GIVEN cells that no driver gives, and no utilisation THEN there is a verdict."""
    frame = pd.DataFrame(
        {"gpu0_mem_used_mib": np.full(200, memory), "gpu0_util_pct": np.full(200, -1.0)},
        index=pd.Index(np.arange(1.0, 201), name="t_s"),
    )
    assert diagnose(Timeline(frame, {}, Source("made", "run.csv")), RULES).sentence
