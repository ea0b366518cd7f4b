"""The notation of test series."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.diagnose.series import MAX_SAMPLES, SeriesError, parse_series


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("5", [5]),
        ("95*3", [95, 95, 95]),
        ("0..100*5", [0, 25, 50, 75, 100]),
        ("3..1*3 -1.5", [3, 2, 1, -1.5]),
        ("(95*1 20*2)*2 7", [95, 20, 20, 95, 20, 20, 7]),
        ("((1 2)*2 3)*2", [1, 2, 1, 2, 3, 1, 2, 1, 2, 3]),
        (" 1 * 2\n 3 ", [1, 1, 3]),
        ("1*0 2", [2]),
    ],
)
def test_samples(text: str, samples: list[float]) -> None:
    assert parse_series(text).tolist() == samples


def test_a_missing_reading_is_nan() -> None:
    assert [math.isnan(value) for value in parse_series("1 _*2 (_ 2)*1")] == [
        False, True, True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no sample"),
        ("1*0", "no sample"),
        ("1 x 2", "column 3: expected"),
        ("1*", "column 1: expected"),
        ("(1 2", "never closed"),
        ("1 2)", "column 4: a ')' too many"),
        ("1e5", "expected"),
        ("95(1 2)", "expected"),
        ("nan", "expected"),
        (f"1*{MAX_SAMPLES + 1}", "more than"),
        ("((1*100000)*100000)*100000", "more than"),
        ("(1*60000 1*60000)", "more than"),
        ("(" * 100, "deep"),
        ("1 " * 3000, "longer than"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(SeriesError) as error:
        parse_series(text)
    assert words in str(error.value)


@given(st.text(alphabet="0123456789.*()_- x\n", max_size=80))
def test_any_text_is_samples_or_an_error(text: str) -> None:
    with suppress(SeriesError):
        assert 1 <= parse_series(text).size <= MAX_SAMPLES
