"""④ The ledger: its parts sum to the wall clock of the GPUs, whatever the recording."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiag.diagnose.ledger import time_ledger
from gpudiag.signals import SignalSet
from gpudiag.timeline.model import Source, Timeline


def parts(ledger):
    return {part.name: part.share for part in ledger.parts}


def test_every_second_is_placed_once(make):
    """GIVEN start-up, work, a pause and a tail THEN each has its share, and the sum is 1."""
    util = [0] * 50 + [80] * 300 + [0] * 50 + [80] * 300 + [0] * 100
    ledger = time_ledger(make(gpu0_util_pct=util, gpu0_mem_used_mib=[5000] * 800))
    shares = parts(ledger)
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["busy"] == pytest.approx(0.6)
    assert shares["pauses"] == pytest.approx(50 / 800)
    assert shares["start_up"] == pytest.approx(50 / 800)
    assert shares["after"] == pytest.approx(100 / 800)
    assert shares["unexplained"] == pytest.approx(0.15, abs=0.001)


def test_a_stall_is_input_wait_only_with_evidence(make):
    start = {"command": ["x"], "host": {"cpus": 8, "effective_cores": 8, "affinity_cpus": 8}}
    common = {"main_cpu_pct": 100, "workers": 0, "others_cpu_pct": 0, "host_idle_cores": 7}
    seen = make(start=start, gpu0_util_pct=[50] * 300, main_read_mib_s=17, **common)
    assert parts(time_ledger(seen))["input_wait"] == pytest.approx(0.5)
    unseen = make(gpu0_util_pct=[50] * 300)
    assert parts(time_ledger(unseen))["unexplained"] == pytest.approx(0.5)


def test_an_idle_gpu_of_the_run_is_a_part(make):
    start = {"env": {"CUDA_VISIBLE_DEVICES": "0,1"}}
    ledger = time_ledger(make(start=start, gpu0_util_pct=[95] * 300, gpu1_util_pct=[0] * 300))
    assert parts(ledger)["idle_gpus"] == pytest.approx(0.5)


def test_an_uneven_gpu_is_imbalance(make):
    ledger = time_ledger(make(gpu0_util_pct=[90] * 300, gpu1_util_pct=[20] * 300))
    assert parts(ledger)["imbalance"] == pytest.approx(0.35)
    assert parts(ledger)["unexplained"] == pytest.approx(0.10)


def test_without_times_there_is_none_and_it_says_why(make):
    ledger = time_ledger(make(gpu0_util_pct=[50] * 300, time_known=False))
    assert ledger.parts == ()
    assert "no times" in ledger.reason


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.1, 20), st.one_of(st.none(), st.floats(0, 100)), st.floats(0, 100)),
        min_size=1,
        max_size=200,
    )
)
def test_the_sum_is_one_for_any_readings(rows):
    """GIVEN any spacing, any readings and any gaps THEN the parts sum to wall × GPUs."""
    import pandas as pd

    t = np.cumsum([row[0] for row in rows])
    frame = pd.DataFrame(
        {
            "gpu0_util_pct": [np.nan if row[1] is None else row[1] for row in rows],
            "gpu1_util_pct": [row[2] for row in rows],
        },
        index=pd.Index(t, name="t_s"),
    )
    timeline = Timeline(frame, {}, Source("any", "run.csv"), (), {"t_s": float(t[-1]) + 0.5})
    ledger = time_ledger(SignalSet(timeline))
    assert sum(part.share for part in ledger.parts) == pytest.approx(1)
    assert all(part.gpu_s >= 0 for part in ledger.parts)
    total = sum(part.gpu_s for part in ledger.parts)
    assert total == pytest.approx(ledger.wall_s * len(ledger.gpus))


def paused(at: float, length: float, every: float, seconds: int = 240) -> list[float]:
    """Readings at 1 Hz, each the mean of its second: pauses of `length` from `at` on, 2 s of work
    at the end."""
    grid = np.arange(0, seconds, 0.01) + 0.005
    idle = (grid >= at) & ((grid - at) % every < length) & (grid < seconds - 2)
    return list(100 * (1 - idle.reshape(seconds, 100).mean(axis=1)))


@pytest.mark.parametrize("at", [30.0, 30.3, 30.5, 30.9])
def test_pauses_count_to_their_ends_and_in_the_warm_up(make, at):
    """GIVEN pauses of 9 s every 39 s from 30 s on, wherever they fall between the readings
    THEN all of them are pauses: none is stall, and none start-up because it fell in the warm-up."""
    signals = make(gpu0_util_pct=paused(at, 9, 39), gpu0_mem_used_mib=[5000.0] * 240)
    shares = parts(time_ledger(signals))
    truth = sum(1 - u / 100 for u in paused(at, 9, 39)) / 240
    assert shares["pauses"] == pytest.approx(truth, abs=0.001)
    assert signals.get("time_pauses_share") + signals.get("time_pauses_error") >= truth
    assert signals.get("stall_share") == pytest.approx(0, abs=0.001)


def test_a_longer_pause_in_the_warm_up_is_start_up(make):
    """GIVEN 25 s of compilation after 10 s, then pauses of 9 s THEN the first is no such pause."""
    util = [90.0] * 10 + [0.0] * 25 + [90.0] * 40 + ([0.0] * 9 + [90.0] * 40) * 5
    shares = parts(time_ledger(make(gpu0_util_pct=util)))
    assert shares["pauses"] == pytest.approx(45 * 1 / len(util), abs=0.01)
    assert shares["start_up"] > 20 / len(util)


def test_a_single_pause_says_nothing_of_the_warm_up(make):
    util = [90.0] * 20 + [0.0] * 8 + [90.0] * 200 + [0.0] * 9 + [90.0] * 60
    shares = parts(time_ledger(make(gpu0_util_pct=util)))
    assert shares["pauses"] == pytest.approx(9 / len(util), abs=0.005)
