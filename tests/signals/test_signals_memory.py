"""③ The memory: growth told from benign shapes, and the time to a full GPU."""

from __future__ import annotations

import numpy as np
import pytest

from gpudiag.signals import Missing
from gpudiag.signals.creep import detect, theil_sen

MINUTE = 60


def series(shape: str, minutes: int, rng: np.random.Generator, slope: float = 0.0) -> np.ndarray:
    """Memory in MiB once a second; `slope` in MiB/min for the leaks."""
    n = minutes * MINUTE
    t = np.arange(n)
    base = np.full(n, 20_000.0)
    if shape == "warm-up":
        y = base + 8000 * rng.random() * (1 - np.exp(-t / rng.uniform(10, 240)))
    elif shape == "high-water":
        y = base + 1500 * np.maximum.accumulate(rng.lognormal(0, 0.5, n))
    elif shape == "evaluation":
        period, length = rng.integers(120, 400), rng.integers(20, 60)
        y = base + rng.uniform(500, 6000) * ((t % period) >= period - length)
    elif shape == "sawtooth":
        period = rng.integers(60, 400)
        y = base + rng.uniform(500, 5000) * (t % period) / period
    elif shape == "co-tenant":
        y = base + rng.uniform(500, 8000) * (t >= rng.integers(0, n))
    elif shape == "pool":
        y = base * 3
    elif shape == "stairs":
        period = rng.integers(20, 120)
        y = base + (t // period) * period * slope / MINUTE
    else:
        y = base + t * slope / MINUTE
    return np.round(y + rng.normal(0, 1.5, n))


def judged(y: np.ndarray) -> object:
    cut = max(30, len(y) // 10)
    return detect(np.arange(len(y), dtype=float)[cut:], y[cut:], 81_920)


@pytest.mark.parametrize(
    "shape", ["warm-up", "high-water", "evaluation", "sawtooth", "co-tenant", "pool"]
)
def test_benign_shapes_are_no_leaks_at_twenty_minutes(shape):
    """GIVEN 40 seeded series THEN at most 5 % are called growing."""
    rng = np.random.default_rng(11)
    assert sum(judged(series(shape, 20, rng)).growing for _ in range(40)) <= 2


@pytest.mark.parametrize("shape", ["linear", "stairs"])
def test_leaks_of_200_mib_a_minute_are_found_at_twenty_minutes(shape):
    """GIVEN 20 seeded leaks THEN at least 90 % are found, and their slope is within 10 %."""
    rng = np.random.default_rng(12)
    found = [judged(series(shape, 20, rng, slope=200)) for _ in range(20)]
    assert sum(creep.growing for creep in found) >= 18
    slopes = [creep.slope * MINUTE for creep in found if creep.growing]
    assert np.median(slopes) == pytest.approx(200, rel=0.1)
    assert all(creep.low <= creep.slope <= creep.high for creep in found)


def test_theil_sen_ignores_an_outlier():
    x = np.arange(20.0)
    y = 3 * x
    y[5] = 1000
    slope, low, high = theil_sen(x, y)
    assert slope == pytest.approx(3)
    assert low <= 3 <= high


def test_time_to_oom_of_a_linear_leak(make):
    """GIVEN 60 MiB/min on a 16 GiB card THEN the time to full is right within 10 %."""
    memory = np.linspace(6000, 8400, 480)
    signals = make(
        t=np.arange(1, 481) * 5.0,
        gpu0_util_pct=[95] * 480,
        gpu0_mem_used_mib=memory,
        start={"gpus": [{"index": 0, "mem_total_mib": 16_384}]},
    )
    expected = (16_384 - 8400 - 400) / 60 * 60
    assert signals.get("mem_creeps", 0) == 1
    assert signals.get("oom_in_s", 0) == pytest.approx(expected, rel=0.1)
    assert signals.get("oom_soonest_s", 0) <= signals.get("oom_in_s", 0)
    assert signals.get("oom_latest_s", 0) >= signals.get("oom_in_s", 0)


def test_the_memory_that_a_job_gives_back_at_its_end_is_no_part_of_it(make):
    memory = [*np.linspace(6000, 8400, 480), *[10] * 120]
    signals = make(
        t=np.arange(1, 601) * 5.0,
        gpu0_util_pct=[95] * 480 + [0] * 120,
        gpu0_mem_used_mib=memory,
    )
    assert signals.get("mem_creeps", 0) == 1
    assert signals.get("mem_last_mib", 0) == pytest.approx(8400)


def test_nothing_is_said_of_growth_under_ten_minutes(make):
    value = make(gpu0_util_pct=[95] * 300, gpu0_mem_used_mib=np.linspace(6000, 9000, 300)).get(
        "mem_creeps", 0
    )
    assert isinstance(value, Missing)
    assert "10 min" in value.reason


def test_a_pool_taken_in_advance_is_seen(make):
    start = {"gpus": [{"index": 0, "mem_total_mib": 16_384}]}
    pool = make(gpu0_util_pct=[95] * 200, gpu0_mem_used_mib=[10] * 5 + [12_288] * 195, start=start)
    assert pool.get("mem_from_start", 0) == 1
    grown = make(
        gpu0_util_pct=[95] * 200,
        gpu0_mem_used_mib=[10] * 5 + [4000] * 95 + [12_288] * 100,
        start=start,
    )
    assert grown.get("mem_from_start", 0) == 0
    unknown = make(gpu0_util_pct=[95] * 200, gpu0_mem_used_mib=[12_288] * 200)
    assert isinstance(unknown.get("mem_from_start", 0), Missing)
