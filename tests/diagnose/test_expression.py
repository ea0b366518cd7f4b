"""Expressions: kinds, positions in messages, and text that means harm."""

from __future__ import annotations

from contextlib import suppress

import pytest
from diagnose_fakes import context, node
from hypothesis import example, given
from hypothesis import strategies as st

from gpudiag.diagnose.expression import parse
from gpudiag.diagnose.nodes import ExpressionError, Node, vocabulary
from gpudiag.errors import EXIT_BAD_RULE, RuleError
from gpudiag.signals.base import REGISTRY
from gpudiag.timeline.columns import COLUMNS


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", "figure"),
        ("figure * 2 - -1", "figure"),
        ("series / figure", "series"),
        ("mean(series)", "figure"),
        ("share(series < 10 and figure > 1)", "figure"),
        ("figure > 1", "condition"),
        ("0 < figure <= 1", "condition"),
        ("series > 1 or figure > 1", "series condition"),
        ("gpus_max(mean(gpu_series)) - gpus_min(gpu_figure)", "figure"),
        ("gpus_count(mean(gpu_series) > 5)", "figure"),
        ("least(figure, 1, abs(other))", "figure"),
        ("figure\n  > 1", "condition"),
        ("whole_share(series == 0)", "figure"),
    ],
)
def test_every_part_has_a_kind(text: str, kind: str) -> None:
    assert node(text).kind == kind


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("figure > speling", 10, "unknown name 'speling'"),
        ("figur > 1", 1, "did you mean 'figure'"),
        ("1 + meen(series)", 5, "did you mean 'mean'"),
        ("figure > 1 and series", 16, "this is a series: compare it"),
        ("(figure > 1) + 1", 2, "a condition is not a figure"),
        ("mean(figure)", 6, "takes one series, and this is a figure"),
        ("share(series)", 7, "takes one series condition"),
        ("gpus_max(gpu_series)", 10, "write gpus_max(mean(…))"),
        ("gpus_max(figure)", 10, "the same for all"),
        ("gpus_max(gpus_max(gpu_figure))", 10, "cannot stand inside"),
        ("gpu_figure > 1", 1, "measured for each GPU: write gpus_max(gpu_figure)"),
        ("gpu_series > 1", 1, "write gpus_max(mean(gpu_series))"),
        ("not figure > 1", 1, "no 'not'"),
        ("figure != 1", 8, "no '!='"),
        ("figure > cost", 10, "only in severity"),
        ("figure > 1e999", 10, "too large"),
        ("least(figure)", 1, "2 or more figures"),
        ("mean(series, series)", 1, "one series"),
        ("figure > mean", 10, "write mean(…)"),
        ("   figure > speling", 13, "unknown name"),
        ("", 1, "missing"),
        ("figure > 'x'", 10, "no text"),
        ("figure >", 9, "cannot be read"),
    ],
)
def test_a_mistake_is_said_with_its_column(text: str, column: int, words: str) -> None:
    with pytest.raises(ExpressionError) as error:
        node(text)
    assert error.value.column == column
    assert words in error.value.problem


def test_a_kind_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ExpressionError, match="this is a series condition, not a condition"):
        parse("series > 1", context(), "condition")


def test_scope_gpu_reads_the_gpu_in_question_and_can_compare_it_with_all() -> None:
    made = node("gpu_figure < gpus_median(gpu_figure)", per_gpu=True)
    assert made.per_gpu
    assert not made.args[1].per_gpu


def test_thresholds_and_cost_are_figures() -> None:
    made = parse("cost > limit", context(cost=True, limit=0.5), "condition")
    assert made.uses_cost
    assert made.args[1].number == 0.5


HOSTILE = (
    "__class__",
    "().__class__.__bases__[0].__subclasses__()",
    "figure.__class__",
    "lambda: 1",
    "f'{figure}'",
    "(figure := 1)",
    "(x for x in series)",
    "[x for x in series]",
    "figure if figure else figure",
    "9**9**9**9",
    "figure // 2",
    "1j",
    "True",
    "None",
    "...",
    "__import__(figure)",
    "print(1)",
    "mean(*series)",
    "mean(x=series)",
    "mean(series)(1)",
    "figure.real",
    "figure[0]",
    "await figure",
    "yield",
    "figure; figure",
    "figure # > 1",
    "ﬁgure",
    "𝐟igure",
    "figure\0",
    "\ud800",
    "figure is figure",
    "figure in figure",
    "~figure",
    "1e999",
    "9" * 1999,
    "9" * 10_000,
    "(" * 1999,
    "(" * 150 + "figure" + ")" * 150 + "x",
    "-" * 1999 + "1",
    "1+" * 999 + "1",
    "abs(" * 300 + "1" + ")" * 300,
    "figure and " * 150 + "figure",
    "x" * 10_000_000,
    "(" * 10_000_000,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(RuleError) as error:
        node(text)
    assert error.value.exit_code == EXIT_BAD_RULE
    assert len(error.value.message) < 300


@given(st.text(max_size=300))
@example("figure > 1")
def test_any_text_is_a_tree_or_a_rule_error(text: str) -> None:
    with suppress(RuleError):
        assert isinstance(node(text), Node)


_WORDS = st.sampled_from(
    ["figure", "series", "gpu_series", "mean(", "share(", "gpus_max(", "least(", ")", "(", "1",
     ".5", "1e308", "+", "-", "*", "/", "**", "<", "==", "and", "or", "not", "if", ",", "\n"]
)  # fmt: skip


@given(st.lists(_WORDS, max_size=40).map(" ".join))
def test_any_mixture_of_its_own_words_is_a_tree_or_a_rule_error(text: str) -> None:
    with suppress(RuleError):
        assert isinstance(node(text), Node)


def test_every_column_and_every_signal_can_be_named() -> None:
    known = vocabulary(REGISTRY)
    for column in COLUMNS:
        if column.scope not in ("rank", "tick"):
            name = f"gpu_{column.name}" if column.scope == "gpu" else column.name
            assert known[name].kind == "series" or name in REGISTRY
    assert REGISTRY.keys() <= known.keys()
