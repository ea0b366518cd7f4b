"""③ The active window: warm-up, pauses, waves of steps, and stretches without a job."""

from __future__ import annotations

import numpy as np
import pytest

from gpudiag.signals import Missing


def test_start_up_warm_up_and_tail_are_left_out(make):
    """GIVEN 40 s of import, a slow first minute and an idle tail THEN none of it is a stall."""
    util = [0] * 40 + [20, 60] * 30 + [95] * 300 + [0] * 100
    signals = make(gpu0_util_pct=util)
    assert signals.get("stall_share") == pytest.approx(0.05, abs=0.01)
    assert signals.get("start_up_s") == pytest.approx(40, abs=2)
    assert signals.get("idle_tail_s") == pytest.approx(100)
    assert signals.get("warm_up_s") == pytest.approx(60, abs=2)


def test_utilisation_at_zero_with_the_power_up_is_no_pause(make):
    """GIVEN readings that fall on the loading part of each step for half a minute, three times
    THEN the power, which is a mean, shows that no pause was there; GIVEN that it fell, one was."""
    util = ([90] * 60 + [0] * 30) * 6
    assert make(gpu0_util_pct=util, gpu0_power_w=[190.0] * 540).get("pauses") == 0
    fallen = make(gpu0_util_pct=util, gpu0_power_w=([250.0] * 60 + [70.0] * 30) * 6)
    assert fallen.get("pauses") == 5
    assert make(gpu0_util_pct=util).get("pauses") == 5


def test_a_run_that_never_reaches_20_percent_still_has_a_window(make):
    signals = make(gpu0_util_pct=([0] * 12 + [8]) * 40)
    assert signals.get("stall_share") == pytest.approx(1 - 8 / 13 / 100, abs=0.005)


def test_a_blip_at_the_start_is_no_activity(make):
    util = [0] * 20 + [40] + [0] * 60 + [95] * 200
    assert make(gpu0_util_pct=util).get("start_up_s") == pytest.approx(81, abs=1)


def test_a_checkpoint_is_a_pause_and_no_stall(make):
    """GIVEN 96 s of saving in an epoch of 168 s THEN 57 % of the time is pauses (bound 2.3)."""
    signals = make(gpu0_util_pct=([93] * 72 + [0] * 96) * 6)
    assert signals.get("pause_share") == pytest.approx(0.57, abs=0.04)
    assert signals.get("stall_share") == pytest.approx(0.07, abs=0.01)
    assert signals.get("pause_median_s") == pytest.approx(96)
    assert signals.get("pause_every_s") == pytest.approx(168)


def test_long_steps_are_waves_and_no_pauses(make):
    """GIVEN 4 s of work and 6 s of loading in turn THEN that is stall: it returns every 10 s."""
    signals = make(gpu0_util_pct=([97] * 4 + [0] * 6) * 60)
    assert signals.get("pauses") == 0
    assert signals.get("stall_share") == pytest.approx(0.61, abs=0.03)


def test_an_hour_between_two_jobs_is_neither_stall_nor_pause(make):
    util = [95] * 300 + [0] * 3600 + [95] * 300
    memory = [8000] * 300 + [10] * 3600 + [8000] * 300
    signals = make(gpu0_util_pct=util, gpu0_mem_used_mib=memory)
    assert signals.get("pauses") == 0
    assert signals.get("stall_share") == pytest.approx(0.05, abs=0.01)


def test_a_short_run_says_how_short(make):
    """GIVEN 20 s of work THEN the reason names what was there and what is needed."""
    value = make(gpu0_util_pct=[0] * 5 + [50] * 20).get("stall_share")
    assert isinstance(value, Missing)
    assert "gross faults 30 s" in value.reason
    steady = make(gpu0_util_pct=[0] * 5 + [50] * 60)
    assert steady.get("stall_share") == pytest.approx(0.5)
    assert isinstance(steady.get("steady_stall_share"), Missing)


def test_no_utilisation_says_why(make):
    signals = make(
        gpu0_mem_used_mib=[10] * 5 + [8000] * 100,
        start={"gpus": [{"index": 0, "mig": "Enabled"}]},
    )
    value = signals.get("stall_share")
    assert isinstance(value, Missing)
    assert "MIG" in value.reason


def test_the_active_series_fits_the_frame(make):
    signals = make(gpu0_util_pct=[0] * 20 + [90] * 200)
    assert list(signals.active.index) == list(signals.timeline.frame.index)
    assert signals.active.dtype == bool


def seen(step_s: float, stall: float) -> np.ndarray:
    """Five minutes of readings of steps that vary by a tenth and end in a stall."""
    rng = np.random.default_rng(7)
    starts = np.cumsum(step_s * rng.normal(1, 0.1, int(400 / step_s)))
    looks = np.arange(1, 301)[:, None] - np.linspace(0, 1 / 6, 50)[None, :]
    step = np.clip(np.searchsorted(starts, looks) - 1, 0, len(starts) - 2)
    phase = (looks - starts[step]) / (starts[step + 1] - starts[step])
    return 100 * (phase >= stall).mean(axis=1)


@pytest.mark.parametrize("step_s", [0.3, 0.7, 2.5])
@pytest.mark.parametrize("stall", [0.05, 0.3, 0.6])
def test_the_mean_of_1_hz_readings_is_the_busy_share(make, step_s, stall):
    """GIVEN steps that vary by a tenth, seen through a window of 1/6 s once a second, for 5 min,
    THEN the stall share is within 4 points of the truth."""
    signals = make(gpu0_util_pct=seen(step_s, stall))
    assert signals.get("stall_share") == pytest.approx(stall, abs=0.04)
    assert signals.get("stall_error") < 0.06


def test_steps_as_long_as_the_interval_are_owned_up_to(make):
    """GIVEN steps of 1 s read once a second THEN the mean may be off, and the error says so."""
    signals = make(gpu0_util_pct=seen(1.0, 0.6))
    assert signals.get("stall_error") > 0.08
    assert abs(signals.get("stall_share") - 0.6) <= 1.5 * signals.get("stall_error")
