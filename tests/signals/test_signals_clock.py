"""③ Real durations: late rows, holes, and the wall clock."""

from __future__ import annotations

import numpy as np
import pytest

from gpudiag.signals import Missing


def test_each_tick_weighs_as_long_as_it_lasted(make):
    """GIVEN busy readings after 1 s, idle ones after 3 s THEN the stall counts three times."""
    t = np.cumsum([1, 3] * 40)
    signals = make(t=t, gpu0_util_pct=[100, 0] * 40)
    assert signals.get("gpu_stall_share", 0) == pytest.approx(0.75, abs=0.02)


def test_a_hole_in_the_data_is_nobody_s_time(make):
    """GIVEN 100 s without rows THEN they are no data, and the rest is as busy as before."""
    t = [*range(1, 201), *range(300, 500)]
    signals = make(t=t, gpu0_util_pct=[90] * 400)
    assert signals.clock.hole.sum() == pytest.approx(99)
    assert signals.clock.wall == pytest.approx(499)
    assert signals.get("stall_share") == pytest.approx(0.10)


def test_the_end_event_sets_the_wall_clock(make):
    signals = make(gpu0_util_pct=[90] * 100, end={"t_s": 104.0, "exit_code": 0})
    assert signals.get("recording_s") == pytest.approx(104)


def test_without_times_durations_are_missing_and_shares_are_not(make):
    """GIVEN a log without times THEN nothing in seconds is said, but shares of readings are."""
    signals = make(gpu0_util_pct=[50] * 300, time_known=False)
    for name in ("recording_s", "active_s", "pauses", "start_up_s"):
        value = signals.get(name)
        assert isinstance(value, Missing)
        assert "no times" in value.reason
    assert signals.get("stall_share") == pytest.approx(0.5)


def test_one_row_is_no_crash(make):
    signals = make(gpu0_util_pct=[50])
    assert isinstance(signals.get("stall_share"), Missing)
    assert signals.get("samples") == 1
