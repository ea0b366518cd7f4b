"""① A clock that is set while a run is recorded."""

from __future__ import annotations

import pytest

from gpudiag.record.wall_clock import WallClock


@pytest.mark.parametrize("step", [3600.0, -3600.0, 1.5, -2.0])
def test_a_step_is_told_once(step: float) -> None:
    clock = WallClock(1_000_000.0, 5.0)
    assert clock.step(1_000_001.0, 6.0) is None
    assert clock.step(1_000_002.0 + step, 7.0) == pytest.approx(step)
    assert clock.step(1_000_003.0 + step, 8.0) is None


def test_slewing_is_no_step() -> None:
    """GIVEN NTP that makes the clock run 500 ppm fast for a day THEN no step is told."""
    clock = WallClock(0.0, 0.0)
    assert all(clock.step(t * 1.0005, float(t)) is None for t in range(1, 86_400, 60))
