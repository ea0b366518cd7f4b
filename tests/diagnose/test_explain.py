"""④ Why a condition does not hold, with the figure that was measured."""

from __future__ import annotations

import pytest
from diagnose_fakes import FakeSignals, rule

from gpudiag.diagnose.compiled import compile_rule
from gpudiag.diagnose.engine import evaluate
from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.explain import why_false
from gpudiag.diagnose.expression import parse
from gpudiag.diagnose.model import Cause, Need, Remedy
from gpudiag.diagnose.nodes import Context, vocabulary
from gpudiag.signals.base import REGISTRY

SYMBOLS = vocabulary(REGISTRY)
VALUES = {
    "main_cpu": 70.0,
    "main_busy_ratio": 0.82,
    "workers_count": 4.0,
    "stall_share": 0.5,
    "storage_wait_evidence": 0.0,
    "has_cpu_side": 1.0,
    "active_s": 90.0,
    "mem_peak_mib": 2048.0,
}


def why(text: str, values: dict[str, float] = VALUES) -> str:
    context = Context(SYMBOLS, {"asleep_ratio": 0.3, "pool_cpu": 200.0}, per_gpu=True)
    return why_false(parse(text, context, "condition"), Evaluator(FakeSignals(values)))


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (
            "main_busy_ratio <= asleep_ratio",
            "0.82, and with this cause it would be at most 0.3.",
        ),
        (
            "main_cpu >= pool_cpu",
            "CPU use of the training process is 70 %, and with this cause it would be at",
        ),
        ("pool_cpu <= main_cpu", "is 70 %, and with this cause it would be at least 200 %."),
        ("stall_share < 0.1", "is 50 %, and with this cause it would be less than 10 %."),
        ("active_s > 120", "active_s is 90 s, and with this cause it would be more than 2 min"),
        ("storage_wait_evidence >= 1", "There is no proof that the workers wait for storage."),
        ("has_cpu_side < 1", "There is a record of the CPU side."),
    ],
)
def test_the_failed_comparison_is_said_with_its_figure_and_its_limit(condition, said):
    """GIVEN a condition that is false THEN what fails, what was measured and what is needed."""
    assert said in why(condition)


def test_only_what_fails_is_said():
    """GIVEN an `and` of which one side holds and one is missing THEN neither is named."""
    text = why("workers_count >= 1 and worker_cpu > 5 and main_cpu >= pool_cpu")
    assert text.count(";") == 0
    assert "training process" in text
    assert why("workers_count >= 1") == ""


def findings_and_checks(made, values):
    compiled = compile_rule(made, vocabulary(REGISTRY))
    return evaluate([compiled], Evaluator(FakeSignals(values)))


def test_the_evidence_of_a_cause_that_is_ruled_out_is_not_said():
    """GIVEN a cause that is false and one that is missing THEN their own texts are not said."""
    remedies = (Remedy("any", "x"),)
    causes = (
        Cause("pool", "A pool", "main_cpu >= 200", "It used several threads.", remedies),
        Cause("open", "Open", "worker_cpu >= 1", "The workers were busy.", remedies),
        Cause("true", "True", "main_cpu >= 1", "It used {main_cpu:int} %.", remedies),
    )
    ((finding,), _) = findings_and_checks(rule(when="stall_share > 0.1", causes=causes), VALUES)
    ruled_out, unknown, holds = finding.causes
    assert "several threads" not in ruled_out.evidence
    assert "70 %" in ruled_out.evidence
    assert unknown.evidence == ""
    assert holds.evidence == "It used 70 %."


NEED = (Need("has_cpu_side >= 1", "no CPU side was recorded"),)


@pytest.mark.parametrize(
    ("values", "outcome", "missing"),
    [
        (VALUES, "fine", ()),
        ({**VALUES, "has_cpu_side": 0.0}, "unchecked", ("no CPU side was recorded",)),
        ({"stall_share": 0.5}, "unchecked", ("has_cpu_side was not recorded",)),
    ],
)
def test_fine_is_said_only_where_the_fault_could_have_shown(values, outcome, missing):
    """GIVEN a rule that is silent THEN it is fine only if what it needs for that is so."""
    made = rule(when="stall_share > 0.9", fine_needs=NEED)
    _, (check,) = findings_and_checks(made, values)
    assert (check.outcome, check.missing) == (outcome, missing)


def test_fine_is_not_said_where_its_figure_is_missing():
    """GIVEN a `fine` of one sentence with a missing figure THEN the rule is unchecked."""
    made = rule(when="stall_share > 0.9", fine="Only {worker_cpu:int} %.")
    _, (check,) = findings_and_checks(made, VALUES)
    assert (check.outcome, check.missing) == ("unchecked", ("worker_cpu was not recorded",))
