"""Texts with holes: formats, braces, what is missing."""

from __future__ import annotations

from contextlib import suppress

import pytest
from diagnose_fakes import FakeSignals, context
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.holes import (
    FORMATS,
    Filling,
    fill,
    fill_code,
    fill_or_dots,
    fill_sentences,
    gpus_in_words,
    parse_text,
)
from gpudiag.diagnose.nodes import ExpressionError

FILLING = Filling(
    Evaluator(FakeSignals({"figure": 0.344, ("gpu_figure", 3): 7.0})), 3, (0, 3), cost=0.25
)
CONTEXT = context(per_gpu=True, cost=True, limit=2.0)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("no hole", "no hole"),
        ("{figure:pct} of it", "34 % of it"),
        ("{ figure * limit : f2 }", "0.69"),
        ("{cost:pct} on {gpus}, worst {gpu}: {gpu_figure}", "25 % on GPUs 0 and 3, worst 3: 7"),
        ("{{}} {{{figure:f1}}}", "{} {0.3}"),
        ("", ""),
        ("{gone:pct} is missing", None),
    ],
)
def test_a_text_is_filled(text: str, filled: str | None) -> None:
    assert fill(parse_text(text, CONTEXT), FILLING) == filled


@pytest.mark.parametrize(
    ("form", "value", "written"),
    [
        ("", 0.34567, "0.346"),
        ("", 12345.6, "12346"),
        ("pct", 0.34, "34 %"),
        ("pct", 0.0, "0 %"),
        ("pct", 0.002, "<1 %"),
        ("pct", 0.998, ">99 %"),
        ("pct", 1.0, "100 %"),
        ("pct1", 0.0123, "1.2 %"),
        ("pct_cpu", 187.3, "187 %"),
        ("int", 3.6, "4"),
        ("f1", 3.14159, "3.1"),
        ("f2", 3.14159, "3.14"),
        ("mib", 512.0, "512 MiB"),
        ("mib", 3276.8, "3.2 GiB"),
        ("mib_per_min", 12.34, "12.3 MiB/min"),
        ("duration", 200.0, "3 min 20 s"),
        ("cores", 3.25, "3.25 cores"),
        ("cores", 1.0, "1 core"),
        ("x", 1.52, "1.52×"),
    ],
)
def test_a_format_writes_a_figure(form: str, value: float, written: str) -> None:
    assert FORMATS[form](value) == written


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("a {figure", 3, "single '{'"),
        ("a } b", 3, "single '}'"),
        ("{figure:percent}", 9, "unknown format 'percent'"),
        ("{figure:}", 9, "unknown format"),
        ("{}", 2, "missing"),
        ("x {figure > 1}", 4, "a condition, not a figure"),
        ("x {series}", 4, "a series, not a figure"),
        ("x {speling:pct}", 4, "unknown name"),
        ("x {figure!r}", 10, "has no meaning"),
    ],
)
def test_a_wrong_hole_is_said_with_its_column_in_the_text(
    text: str, column: int, words: str
) -> None:
    with pytest.raises(ExpressionError) as error:
        parse_text(text, CONTEXT)
    assert error.value.column == column
    assert words in error.value.problem


def test_a_rule_of_the_whole_run_has_no_gpu_to_name() -> None:
    with pytest.raises(ExpressionError, match='scope = "gpu"'):
        parse_text("{gpu}", context())


def test_a_sentence_with_a_missing_figure_is_left_out() -> None:
    text = parse_text("All is well. It was {gone:pct}. It took {figure:f1} s.", CONTEXT)
    assert fill_sentences(text, FILLING) == "All is well. It took 0.3 s."


def test_code_shows_where_a_figure_is_missing() -> None:
    assert fill_or_dots(parse_text("f(n={gone:int})", CONTEXT), FILLING) == "f(n=…)"


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        ((3,), "GPU 3"),
        ((0, 3), "GPUs 0 and 3"),
        ((0, 1, 4), "GPUs 0, 1 and 4"),
        (tuple(range(8)), "GPUs 0 to 7"),
    ],
)
def test_gpus_in_words(gpus: tuple[int, ...], words: str) -> None:
    assert gpus_in_words(gpus) == words


@given(st.text(alphabet=st.sampled_from("{}: figure\npct!\0é"), max_size=200))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(ExpressionError):
        fill(parse_text(text, CONTEXT), FILLING)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("f(n={figure:f1|4})", "f(n=0.3)"),
        ("f(n={gone:int|4})", "f(n=4)  # a first try, not computed: gone was not recorded"),
        (
            "f(\n  n={gone|4},\n  m=1)",
            "f(\n  n=4,  # a first try, not computed: gone was not recorded\n  m=1)",
        ),
        ("f(n={gone})", ""),
    ],
)
def test_no_hole_stays_in_code(text: str, filled: str) -> None:
    """GIVEN code, which is copied THEN a missing figure is a stated try, or there is no code."""
    assert fill_code(parse_text(text, CONTEXT), FILLING) == filled


def test_what_is_to_be_tried_is_a_plain_figure() -> None:
    with pytest.raises(ExpressionError, match="plain figure to try"):
        parse_text("{gone|import os}", CONTEXT)


def test_gpus_are_counted_in_words() -> None:
    assert (FORMATS["gpus"](1), FORMATS["gpus"](3)) == ("1 GPU", "3 GPUs")
