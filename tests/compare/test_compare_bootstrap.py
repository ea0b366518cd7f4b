"""How far a mean may be off: the interval holds the truth about as often as it says."""

from __future__ import annotations

import numpy as np
import pytest

from gpudiag.compare.bootstrap import block_mean, memory, student


def wandering(count: int, keep: float, chance: np.random.Generator) -> np.ndarray:
    """A series with mean 0 in which each value keeps the share `keep` of the one before."""
    values = np.empty(count)
    values[0] = chance.normal() / np.sqrt(1 - keep**2)
    for place in range(1, count):
        values[place] = keep * values[place - 1] + chance.normal()
    return values


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.9])
def test_the_interval_holds_the_truth(keep: float) -> None:
    """GIVEN 200 series of 600 readings that remember more or less THEN nine in ten intervals or
    more hold the true mean, and not nearly all of them, as far wider ones would."""
    chance = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        mean = block_mean(wandering(600, keep, chance), np.ones(600))
        assert mean is not None
        assert mean.half is not None
        held += abs(mean.value) <= mean.half
    assert 178 <= held <= 199


def test_memory() -> None:
    """GIVEN independent readings THEN half a reading; a series of 0.9 remembers about ten."""
    chance = np.random.default_rng(5)
    assert memory(chance.normal(size=5000)) == pytest.approx(0.5, abs=0.2)
    assert memory(wandering(20_000, 0.9, chance)) == pytest.approx(9.5, rel=0.3)
    assert memory(np.full(50, 7.0)) == 0.5


@pytest.mark.parametrize(("freedom", "quantile"), [(3, 3.182), (5, 2.571), (10, 2.228)])
def test_students_quantile(freedom: int, quantile: float) -> None:
    """GIVEN tables of Student's t THEN the expansion is within 4 % of them."""
    assert student(freedom) == pytest.approx(quantile, rel=0.04)


def test_means_are_by_duration_and_skip_what_was_not_read() -> None:
    """GIVEN readings of 1 s and 9 s and one that is missing THEN the mean is by duration."""
    values, weight = np.array([0.0, 10.0, np.nan]), np.array([1.0, 9.0, 5.0])
    mean = block_mean(values, weight)
    assert mean is not None
    assert mean.value == 9.0
    assert mean.half is None  # too few blocks to know
    assert block_mean(np.array([np.nan]), np.array([1.0])) is None


def test_two_blocks_say_nothing() -> None:
    """GIVEN a series of fewer than three blocks THEN how much it varies is not known."""
    values = np.random.default_rng(7).normal(size=600)
    short, long = (block_mean(values, np.ones(600), least) for least in (5, 150))
    assert short is not None
    assert long is not None
    assert (short.blocks, long.blocks) == (120, 4)
    assert short.half
    assert long.half
    assert long.half > 0.5 * short.half
    two = block_mean(values, np.ones(600), 250)
    assert two is not None
    assert two.half is None
