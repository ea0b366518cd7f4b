"""Durations from text and to text."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.units import format_duration, format_roughly, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1", 1.0),
        ("1s", 1.0),
        ("0.2s", 0.2),
        ("500ms", 0.5),
        ("5m", 300.0),
        ("1h30m", 5400.0),
        ("2 min", 120.0),
        (" 1 d ", 86400.0),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    """GIVEN a duration as people write it WHEN it is parsed THEN it is in seconds."""
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", " ", "abc", "1x", "-1s", "1s!", "1e3", "nan", "٣s", "1,5s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """GIVEN anything else WHEN it is parsed THEN ValueError, nothing guessed."""
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


@given(st.text(max_size=40))
def test_any_text_gives_a_duration_or_a_value_error(text: str) -> None:
    """GIVEN any text WHEN it is parsed THEN a finite figure or ValueError, never anything else."""
    with contextlib.suppress(ValueError):
        assert parse_duration(text) >= 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (0.84, "0.8 s"),
        (9.96, "10 s"),
        (119.4, "119 s"),
        (120.0, "2 min"),
        (200.0, "3 min 20 s"),
        (3599.6, "1 h"),
        (7500.0, "2 h 05 min"),
        (200_000.0, "2 d 8 h"),
        (-90.0, "-90 s"),
    ],
)
def test_a_duration_is_written_in_two_parts_at_most(seconds: float, text: str) -> None:
    """GIVEN seconds WHEN written for people THEN the two largest units that matter."""
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3, "5 s"), (47, "45 s"), (203, "3.4 min"), (596, "9.9 min"), (610, "10 min"),
        (3000, "50 min"), (6120, "1.7 h"), (36_000, "10 h"), (216_000, "2.5 d"), (1e8, "1,200 d"),
    ],
)  # fmt: skip
def test_an_estimate_has_two_digits(seconds: float, text: str) -> None:
    assert format_roughly(seconds) == text
