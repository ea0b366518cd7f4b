"""From rules and signals to findings: which fire, what they say, in which order."""

from __future__ import annotations

import pytest
from diagnose_fakes import NAN, SYMBOLS, FakeSignals, framework_event, rule

from gpudiag.diagnose.compiled import compile_rule
from gpudiag.diagnose.engine import evaluate
from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.framework import framework_of
from gpudiag.diagnose.model import Cause, Check, Episode, Finding, Level, Remedy, Rule
from gpudiag.timeline.model import Source, Timeline


def run(*rules: Rule, **signals: object) -> tuple[tuple[Finding, ...], tuple[Check, ...]]:
    given = dict(signals)
    fake = FakeSignals(given.pop("values", {"figure": 2.0}), **given)  # type: ignore[arg-type]
    return evaluate([compile_rule(r, SYMBOLS) for r in rules], Evaluator(fake))


def outcomes(checks: tuple[Check, ...]) -> dict[str, str]:
    return {check.rule.name: check.outcome for check in checks}


def test_a_rule_fires_is_fine_or_is_not_checked_and_says_why() -> None:
    findings, checks = run(
        rule("fires"), rule("silent", when="figure > 5"), rule("open", when="gone > 1")
    )
    assert [finding.summary for finding in findings] == ["fires fired."]
    assert outcomes(checks) == {"fires": "fired", "silent": "fine", "open": "unchecked"}
    assert checks[1].text == "All is well."
    assert checks[2].text == "not checked, because gone was not recorded"
    assert checks[2].missing == ("gone was not recorded",)


def test_missing_data_accuses_nobody_and_clears_where_it_can() -> None:
    findings, checks = run(
        rule("cleared", when="figure > 5 and gone > 1"),
        rule("open", when="figure > 1 and gone > 1"),
        rule("proven", when="figure > 1 or gone > 1"),
    )
    assert [finding.rule.name for finding in findings] == ["proven"]
    assert outcomes(checks) == {"cleared": "fine", "open": "unchecked", "proven": "fired"}


def test_a_fine_sentence_with_a_missing_figure_is_left_out() -> None:
    _, checks = run(
        rule("a", when="figure > 5", fine="It was {figure}. The rest was {gone}."),
        rule("b", when="figure > 5", fine="It was {gone}."),
    )
    assert [check.text for check in checks] == [
        "It was 2.",
        "not checked, because gone was not recorded",
    ]


def test_findings_come_by_cost_then_severity_and_what_ends_the_run_comes_first() -> None:
    always = "figure > 0"
    findings, _ = run(
        rule("cheap", cost="0.1", code="GD001"),
        rule("no-cost", code="GD002", severity=(Level("high", always),)),
        rule("dear", cost="0.6", code="GD003"),
        rule("dear-too", cost="0.6", code="GD004", severity=(Level("high", always),)),
        rule("fatal", code="GD005", severity=(Level("critical", always),)),
    )
    names = [finding.rule.name for finding in findings]
    assert names == ["fatal", "dear-too", "dear", "cheap", "no-cost"]


@pytest.mark.parametrize(
    ("cost", "bound", "expected"),
    [
        ("0.2", True, (0.2, 1.25)),
        ("0.2", False, (0.2, None)),
        ("1.7", True, (1.0, None)),
        ("-3", True, (0.0, 1.0)),
        ("gone", True, (None, None)),
        ("", False, (None, None)),
    ],
)
def test_cost_is_a_share_and_bounds_the_speed_up(
    cost: str, bound: bool, expected: tuple[float | None, float | None]
) -> None:
    ((finding,), _) = run(rule(cost=cost, bound=bound))
    assert (finding.cost, finding.bound) == pytest.approx(expected)


def test_ladders_take_the_last_step_that_holds_and_a_missing_figure_never_raises_them() -> None:
    steps = (Level("low", "cost >= 0.1"), Level("medium", "gone > 1"), Level("high", "cost > 0.9"))
    ((finding,), _) = run(rule(cost="0.5", severity=steps))
    assert (finding.severity, finding.confidence) == ("low", "watch")
    sure = (Level("likely", "figure > 1"), Level("confirmed", "figure > 1"))
    ((finding,), _) = run(rule(confidence=sure))
    assert (finding.severity, finding.confidence) == ("info", "confirmed")


def test_a_more_specific_finding_supersedes_a_vague_one_only_where_it_fires() -> None:
    vague = rule("vague")
    findings, checks = run(vague, rule("specific", supersedes=("vague",)))
    assert [finding.rule.name for finding in findings] == ["specific"]
    assert outcomes(checks)["vague"] == "superseded"
    findings, checks = run(vague, rule("specific", when="figure > 5", supersedes=("vague",)))
    assert [finding.rule.name for finding in findings] == ["vague"]


def test_causes_hold_are_ruled_out_or_unknown_and_remedies_carry_figures() -> None:
    remedy = Remedy("pytorch", "Use {figure:int}.", "f(n={figure:int}, m={gone|4})\ng()")
    causes = tuple(
        Cause(name, name, when, "It was {figure}.", (remedy,))
        for name, when in (("yes", "figure > 1"), ("no", "figure > 5"), ("open", "gone > 5"))
    )
    ((finding,), _) = run(rule(causes=causes))
    assert [(c.cause.name, c.verdict) for c in finding.causes] == [
        ("yes", "holds"), ("no", "ruled out"), ("open", "unknown"),
    ]  # fmt: skip
    assert finding.causes[2].missing == ("gone was not recorded",)
    assert finding.causes[0].evidence == "It was 2."
    assert finding.causes[0].cause.remedies == (
        Remedy(
            "pytorch",
            "Use 2.",
            "f(n=2, m=4)  # a first try, not computed: gone was not recorded\ng()",
        ),
    )


def test_evidence_with_a_missing_figure_is_dropped_and_a_summary_falls_back_to_the_title() -> None:
    ((finding,), _) = run(rule(evidence=("One {figure}.", "Two {gone}."), summary="S {gone}."))
    assert finding.evidence == ("One 2.",)
    assert finding.summary == "Title of a-rule"


GPUS = {("gpu_figure", 0): 5.0, ("gpu_figure", 1): 0.0, ("gpu_figure", 2): 9.0}


def test_a_rule_of_each_gpu_is_one_finding_of_all_it_fires_on() -> None:
    """GIVEN three GPUs, firing on two WHEN merged THEN cost is the mean over all three."""
    ((finding,), _) = run(
        rule(
            scope="gpu",
            when="gpu_figure > 1",
            cost="gpu_figure / 10",
            bound=True,
            summary="{gpus}; worst {gpu}: {gpu_figure}.",
            evidence=("GPU {gpu} had {gpu_figure}.", "Of the worst: {gpu_figure}."),
            severity=(Level("low", "gpu_figure > 4"), Level("high", "gpu_figure > 8")),
            confidence=(Level("likely", "gpu_figure > 8"),),
            causes=(
                Cause("one", "One", "gpu_figure < 6", "GPU {gpu}", (Remedy("any", "x"),)),
                Cause("none", "None", "gpu_figure > 10", "", (Remedy("any", "x"),)),
            ),
        ),
        values=GPUS,
        gpus=(0, 1, 2),
    )
    assert finding.gpus == (0, 2)
    assert finding.cost == pytest.approx((0.5 + 0.9) / 3)
    assert finding.summary == "GPUs 0 and 2; worst 2: 9."
    assert (finding.severity, finding.confidence) == ("high", "likely")
    assert finding.evidence == ("GPU 0 had 5.", "GPU 2 had 9.", "Of the worst: 9.")
    assert [(c.verdict, c.evidence) for c in finding.causes] == [
        ("holds", "GPU 0"),
        ("ruled out", "gpu_figure is 9, and with this cause it would be more than 10."),
    ]  # fmt: skip


def test_a_rule_of_each_gpu_is_unchecked_if_one_gpu_that_might_fire_is_not_known() -> None:
    _, checks = run(
        rule(scope="gpu", when="gpu_figure > 20"), values={("gpu_figure", 0): 5.0}, gpus=(0, 1)
    )
    assert checks[0].outcome == "unchecked"
    _, checks = run(rule(scope="gpu", when="gpu_figure > 20"), gpus=())
    assert checks[0].missing == ("no GPU was recorded",)


def test_episodes_need_their_length_and_their_share_of_the_recording() -> None:
    values = {"series": [1.0] * 5 + [0.0] * 10 + [1.0] * 5}
    episodes = rule(when="series > 0", for_s=5.0)
    ((finding,), _) = run(episodes, values=values)
    assert finding.episodes == (Episode(0.0, 5.0), Episode(15.0, 20.0))
    for change in ({"for_s": 6.0}, {"min_share": 0.51}):
        findings, checks = run(rule(when="series > 0", **change), values=values)
        assert (findings, checks[0].outcome) == ((), "fine")
    assert run(rule(when="series > 0", min_share=0.5), values=values)[0]


def test_episodes_of_several_gpus_are_joined() -> None:
    values = {("gpu_series", 0): [1.0, 1.0, 0.0, 0.0], ("gpu_series", 1): [0.0, 1.0, 1.0, 0.0]}
    ((finding,), _) = run(rule(scope="gpu", when="gpu_series > 0"), values=values)
    assert finding.episodes == (Episode(0.0, 3.0),)


def test_episodes_that_a_missing_signal_would_decide_are_unchecked() -> None:
    values = {"series": [1.0] * 4 + [0.0] * 6}
    open_rule = rule(when="series > 0 and gone_series > 0", for_s=4.0)
    assert run(open_rule, values=values)[1][0].missing == ("gone_series was not recorded",)
    # four seconds at most could hold, whatever the missing signal was
    decided = rule(when="series > 0 and gone_series > 0", for_s=5.0)
    assert run(decided, values=values)[1][0].outcome == "fine"


def test_episodes_of_a_series_without_any_reading_are_unchecked() -> None:
    _, checks = run(rule(when="series > 0"), values={"series": [NAN] * 5})
    assert checks[0].outcome == "unchecked"


def test_without_times_a_length_cannot_be_checked_but_a_share_can() -> None:
    values = {"series": [1.0] * 4}
    _, checks = run(rule(when="series > 0", for_s=2.0), values=values, time_known=False)
    assert checks[0].missing == ("the times of the samples are not known",)
    assert run(rule(when="series > 0", min_share=0.5), values=values, time_known=False)[0]


@pytest.mark.parametrize(
    ("seen", "framework"),
    [
        ((), "any"),
        (("pytorch",), "pytorch"),
        (("pytorch", "lightning", "transformers"), "lightning"),
        (("transformers", "pytorch"), "transformers"),
        (("transformers", "tensorflow"), "tensorflow"),
        (("tensorflow", "pytorch"), "pytorch"),
        (("tensorflow", "paddle"), "paddle"),
        (("paddle", "pytorch"), "paddle"),
        (("paddle", "transformers"), "paddle"),
        (("jax",), "jax"),
        (("something-new",), "any"),
    ],
)
def test_the_framework_is_the_one_the_run_is_written_with(
    seen: tuple[str, ...], framework: str
) -> None:
    events = tuple(framework_event(name, float(n)) for n, name in enumerate(seen))
    frame = FakeSignals().timeline.frame
    assert framework_of(Timeline(frame, {}, Source("x", "x"), events)) == framework
