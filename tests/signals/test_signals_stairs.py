"""③ Memory that climbs in regular steps, and what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest

from gpudiag.signals import Missing
from gpudiag.signals.creep import detect
from gpudiag.signals.stairs import find_stairs

T = np.arange(2400.0)


def stairs(sizes, every=400.0):
    """Memory that rises by `sizes`, one every `every` s."""
    return 8000 + sum(size * (every * (n + 1) <= T) for n, size in enumerate(sizes))


def test_a_leak_at_every_epoch_is_found_and_counted():
    """GIVEN five steps of 2500 MiB WHEN judged THEN it grows, in steps of that size."""
    found = detect(T[240:], stairs([2500] * 5)[240:], 24_576)
    assert found.growing
    assert found.stairs.count == 5
    assert found.stairs.size == pytest.approx(2500)
    assert found.stairs.every == pytest.approx(400, abs=20)


@pytest.mark.parametrize(
    "memory",
    [
        stairs([3000]),
        stairs([3000, 2000]),
        stairs([600] * 3),
        stairs([2000, 1000, 500, 250, 125]),
        stairs([600] * 5, every=150.0),  # and then flat for long
        8000 + 3000 * ((T % 400) > 340),
        np.full(2400, 20_000.0),
    ],
    ids=["one", "two", "three", "smaller and smaller", "it stopped", "given back", "flat"],
)
def test_what_is_no_regular_climb(memory):
    """GIVEN few, unlike, ended or returned rises THEN they are no stairs."""
    assert find_stairs(T, memory) is None


def test_the_time_to_a_full_gpu_is_that_of_the_step_that_does_not_fit(make):
    """GIVEN 3676 MiB left, steps of 2500 every 400 s, the last 400 s ago THEN it is the second."""
    signals = make(
        gpu0_util_pct=[95] * 2400,
        gpu0_mem_used_mib=stairs([2500] * 5),
        start={"gpus": [{"index": 0, "mem_total_mib": 24_576}]},
    )
    assert signals.get("mem_steps_left", 0) == 1
    assert signals.get("oom_in_s", 0) == pytest.approx(400, abs=30)
    assert (
        signals.get("oom_soonest_s", 0)
        <= signals.get("oom_in_s", 0)
        <= signals.get("oom_latest_s", 0)
    )


def test_late_growth_of_another_kind_is_neither_accused_nor_called_fine(make):
    """GIVEN three unlike jumps, the last one late THEN whether it creeps is missing."""
    memory = 8000 + 900 * (T > 500) + 2500 * (T > 1400) + 1800 * (T > 2100)
    value = make(gpu0_util_pct=[95] * 2400, gpu0_mem_used_mib=memory).get("mem_creeps", 0)
    assert isinstance(value, Missing)
    assert "cannot be told" in value.reason
