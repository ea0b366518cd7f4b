"""Three-valued evaluation, on figures and on series."""

from __future__ import annotations

import itertools

import pytest
from diagnose_fakes import NAN, FakeSignals, node
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.truth import Unknown
from gpudiag.errors import RuleError

SIGNALS = FakeSignals(
    {
        "figure": 2.0,
        "other": 0.0,
        "series": [1.0, 2.0, NAN, 4.0, 5.0, 6.0],
        "second": [0.0, 1.0, 1.0, NAN, 0.0, 2.0],
        ("gpu_figure", 0): 10.0,
        ("gpu_figure", 1): 30.0,
        ("gpu_series", 0): [0.0] * 6,
        ("gpu_series", 1): [100.0] * 6,
    },
    active=[False, True, True, True, True, False],
)


def figure(text: str, signals: FakeSignals = SIGNALS, gpu: int | None = None, **cost: float):
    made = node(text, per_gpu=gpu is not None, cost=bool(cost))
    return Evaluator(signals).figure(made, gpu, cost.get("cost"))


def condition(text: str, signals: FakeSignals = SIGNALS):
    return Evaluator(signals).condition(node(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("figure * 3 - 1 / 4", 5.75),
        ("-figure", -2.0),
        ("abs(-figure)", 2.0),
        ("least(figure, 1, 3) + most(figure, 1, 3)", 4.0),
        ("mean(series)", 11 / 3),  # the active window holds 2, NaN, 4, 5
        ("median(series)", 4.0),
        ("min(series)", 2.0),
        ("max(series)", 5.0),
        ("whole_mean(series)", 3.6),
        ("whole_min(series)", 1.0),
        ("whole_max(series * figure)", 12.0),
        ("whole_median(series)", 4.0),
        ("std(series - series)", 0.0),
        ("p5(series)", 2.2),
        ("p95(series)", 4.9),
        ("share(series > 3)", 2 / 3),  # the tick without a reading counts neither way
        ("whole_share(series > 3)", 3 / 5),
        ("whole_share(series > 3 and second < 1)", 1 / 4),
        ("share(series / other > 1 or series > 0)", None),
        ("gpus_mean(gpu_figure)", 20.0),
        ("gpus_median(mean(gpu_series))", 50.0),
        ("gpus_max(mean(gpu_series)) - gpus_min(mean(gpu_series))", 100.0),
        ("gpus_count(gpu_figure > 20)", 1.0),
        ("figure / other", None),
        ("figure / (figure - 2)", None),
        ("1e308 * 1e308", None),
        ("gone + 1", None),
        ("mean(gone_series)", None),
        ("share(gone_series > 1)", None),
        ("share(series > 1 and gone_series > 1)", None),
        ("share(series > 100 and gone_series > 1)", 0.0),  # decided without what is missing
        ("share(series > 0 or gone_series > 1)", 1.0),
    ],
)
def test_a_figure_is_reckoned_or_missing_with_a_reason(text: str, value: float | None) -> None:
    found = figure(text)
    if value is None:
        assert isinstance(found, Unknown)
        assert all(found.reasons)
        assert found.reasons
    else:
        assert found == pytest.approx(value)


def test_reasons_are_said_once_each() -> None:
    found = figure("gone + gone + mean(gone_series)")
    assert found == Unknown(("gone was not recorded", "gone_series was not recorded"))


def test_without_an_active_window_its_aggregates_are_missing_and_the_others_are_not() -> None:
    signals = FakeSignals({"series": [1.0, 2.0]}, active=[])
    assert figure("mean(series)", signals) == Unknown(("the GPUs were never active",))
    assert figure("whole_mean(series)", signals) == 1.5


def test_no_reading_in_the_window_is_missing() -> None:
    signals = FakeSignals({"series": [1.0, NAN]}, active=[False, True])
    assert isinstance(figure("mean(series)", signals), Unknown)


def test_a_gpu_figure_is_that_of_the_gpu_in_question() -> None:
    assert figure("gpu_figure", gpu=1) == 30.0
    assert figure("gpu_figure - gpus_mean(gpu_figure)", gpu=0) == -10.0


def test_over_gpus_a_statistic_leaves_out_what_is_missing_but_a_count_needs_all() -> None:
    signals = FakeSignals({("gpu_figure", 0): 10.0}, gpus=(0, 1))
    assert figure("gpus_mean(gpu_figure)", signals) == 10.0
    assert isinstance(figure("gpus_count(gpu_figure > 1)", signals), Unknown)
    nothing = FakeSignals(gpus=())
    assert figure("gpus_mean(gpu_figure)", nothing) == Unknown(("no GPU was recorded",))


def test_cost_is_never_kept_between_findings() -> None:
    evaluator = Evaluator(SIGNALS)
    made = node("share(series > cost)", cost=True)
    assert evaluator.figure(made, None, 0.0) == 1.0
    assert evaluator.figure(made, None, 9.0) == 0.0
    assert isinstance(evaluator.figure(made), Unknown)


VALUES = {"figure > 1": True, "figure < 1": False, "gone > 1": None}


@pytest.mark.parametrize(("left", "right"), list(itertools.product(VALUES, VALUES)))
def test_and_and_or_are_kleenes(left: str, right: str) -> None:
    """GIVEN true, false and missing WHEN joined THEN `false and ?` and `true or ?` are known."""
    a, b = VALUES[left], VALUES[right]
    both = False if False in (a, b) else None if None in (a, b) else True
    either = True if True in (a, b) else None if None in (a, b) else False
    for text, expected in ((f"{left} and {right}", both), (f"{left} or {right}", either)):
        found = condition(text)
        assert (None if isinstance(found, Unknown) else found) is expected
        truth = Evaluator(SIGNALS).truth(node(f"({text}) and series > -1"))
        known_ticks = ~truth.gap
        assert truth.true[known_ticks].all() == (expected is True)
        assert truth.open[known_ticks].all() == (expected is None)


def test_a_chain_compares_neighbours() -> None:
    assert condition("1 < figure < 3") is True
    assert condition("1 < figure < 2") is False
    assert condition("3 < figure < gone") is False


def test_a_tick_without_a_reading_makes_no_condition_true() -> None:
    truth = Evaluator(SIGNALS).truth(node("series > 0"))
    assert truth.true.tolist() == [True, True, False, True, True, True]
    assert truth.false.tolist() == [False] * 6


_TEXT = st.recursive(
    st.sampled_from(
        ["figure", "other", "gone", "series", "second", "gone_series", "0", "2.5", "1e300"]
    ),
    lambda part: st.one_of(
        st.tuples(part, st.sampled_from("+-*/<>"), part).map(" ".join).map("({})".format),
        st.tuples(part, st.sampled_from([" and ", " or "]), part).map("".join).map("({})".format),
        st.tuples(
            st.sampled_from(["mean", "std", "share", "whole_max", "whole_share", "abs", "p95"]),
            part,
        ).map("{0[0]}({0[1]})".format),
    ),
    max_leaves=12,
)


@given(_TEXT)
def test_whatever_is_well_formed_has_a_value(text: str) -> None:
    """GIVEN any expression that parses WHEN it is evaluated THEN it never raises, nor is it inf."""
    try:
        made = node(text)
    except RuleError:
        return
    evaluator = Evaluator(SIGNALS)
    if made.kind == "figure":
        value = evaluator.figure(made)
        assert isinstance(value, Unknown) or abs(value) < float("inf")
    elif made.kind == "series":
        evaluator.series(made)
    else:
        truth = evaluator.truth(made)
        assert not (truth.true & truth.false).any()
