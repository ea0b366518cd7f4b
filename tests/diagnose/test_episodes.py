"""Episodes: durations by the clock, bridges, and holes in the recording."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.diagnose.episodes import episodes_of, union
from gpudiag.diagnose.model import Episode
from gpudiag.signals.clock import Clock, clock_of
from gpudiag.timeline.model import Source, Timeline


def clock(times: list[float]) -> Clock:
    frame = pd.DataFrame(index=pd.Index(times, name="t_s", dtype=np.float64))
    return clock_of(Timeline(frame, {}, Source("x", "x")))


def found(
    pattern: str, times: list[float] | None = None, for_s: float = 0.0, bridge_s: float = 0.0
) -> list[tuple[float, float]]:
    """Episodes of `#` in a pattern of `#` and `.`, one character a tick."""
    holds = np.array([c == "#" for c in pattern], dtype=bool)
    stamps = [float(n + 1) for n in range(len(pattern))] if times is None else times
    episodes = episodes_of(holds, clock(stamps), for_s, bridge_s)
    return [(episode.start_s, episode.end_s) for episode in episodes]


def test_a_tick_speaks_for_the_time_since_the_one_before() -> None:
    assert found("..##..#") == [(2.0, 4.0), (6.0, 7.0)]


def test_sixty_ticks_of_a_second_are_a_minute() -> None:
    assert found("#" * 60, for_s=60.0) == [(0.0, 60.0)]
    assert found("#" * 59 + ".", for_s=60.0) == []


def test_a_log_that_starts_at_zero_loses_no_tick_and_starts_at_zero() -> None:
    assert found("#" * 60, [float(n) for n in range(60)], for_s=60.0) == [(0.0, 59.0)]


def test_duration_is_that_of_the_clock_not_the_number_of_rows() -> None:
    """GIVEN four ticks of 10 s WHEN an episode of 30 s is wanted THEN three of them make it."""
    assert found(".###", [10.0, 20.0, 30.0, 40.0], for_s=30.0) == [(10.0, 40.0)]
    assert found(".###", [0.1, 0.2, 0.3, 0.4], for_s=1.0) == []


def test_ticks_of_a_tenth_add_up_to_a_second() -> None:
    assert len(found("#" * 10, [round(0.1 * n, 1) for n in range(1, 11)], for_s=1.0)) == 1


def test_short_interruptions_are_bridged_and_longer_ones_end_an_episode() -> None:
    assert found("##..##...##", bridge_s=2.0) == [(0.0, 6.0), (9.0, 11.0)]


def test_what_is_bridged_counts_towards_the_length() -> None:
    assert found("##.##", for_s=5.0, bridge_s=1.0) == [(0.0, 5.0)]
    assert found("##.##", for_s=5.0) == []


def test_a_hole_in_the_recording_ends_an_episode_even_within_a_bridge() -> None:
    """GIVEN ten seconds without a sample WHEN all samples hold THEN there are two episodes."""
    times = [1.0, 2.0, 3.0, 13.0, 14.0, 15.0]
    assert found("######", times) == [(0.0, 3.0), (12.0, 15.0)]
    assert found("######", times, for_s=4.0) == []
    assert found("######", times, bridge_s=60.0) == [(0.0, 3.0), (12.0, 15.0)]


def test_one_late_tick_is_no_hole() -> None:
    assert found("####", [1.0, 2.0, 4.0, 5.0]) == [(0.0, 5.0)]


@pytest.mark.parametrize("pattern", ["", ".", "...."])
def test_nothing_holds_nothing_is_found(pattern: str) -> None:
    assert found(pattern) == []


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0.05, 20)), min_size=1, max_size=60),
    st.floats(0, 10),
    st.floats(0, 10),
)
def test_episodes_are_apart_long_enough_and_hold_every_tick(
    ticks: list[tuple[bool, float]], for_s: float, bridge_s: float
) -> None:
    times = np.cumsum([step for _, step in ticks]).tolist()
    pattern = "".join("#" if holds else "." for holds, _ in ticks)
    episodes = found(pattern, times, for_s, bridge_s)
    for (_, end), (start, _) in pairwise(episodes):
        assert start >= end - 1e-9
    assert all(end - start >= for_s - 1e-5 for start, end in episodes)
    everything = found(pattern, times)
    assert all(
        any(start <= t <= end for start, end in everything)
        for t, (holds, _) in zip(times, ticks, strict=True)
        if holds
    )


def test_the_union_of_several_gpus_is_the_time_of_any() -> None:
    one, two = (Episode(0, 5), Episode(20, 30)), (Episode(4, 8), Episode(30, 31))
    assert union([one, two, ()]) == (Episode(0, 8), Episode(20, 31))
