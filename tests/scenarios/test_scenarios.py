"""The fast part of the closed loop: `python -m tests.scenarios` runs all of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.scenarios.live import run  # noqa: E402
from tests.scenarios.model import Outcome, Scenario  # noqa: E402
from tests.scenarios.suite import summary  # noqa: E402
from tests.scenarios.table import HEAVY, LIGHT, MADE, SCENARIOS  # noqa: E402


@pytest.mark.parametrize("scenario", MADE, ids=lambda scenario: scenario.name)
def test_a_made_recording_gets_its_true_cause(scenario: Scenario) -> None:
    """GIVEN a recording with one known cause, or benign, THEN that is said, or nothing."""
    outcome = run(scenario)
    assert outcome.right, (outcome.codes, outcome.held, outcome.sentence)


def test_the_table_is_as_large_as_it_claims() -> None:
    """GIVEN the scenarios THEN 30 and more, 10 and more benign, each name once, twins with keys."""
    names = [scenario.name for scenario in SCENARIOS]
    assert len(names) == len(set(names)) >= 30
    assert sum(not scenario.truth for scenario in SCENARIOS) >= 10
    assert sum(scenario.twin is not None for scenario in (*HEAVY, *LIGHT)) >= 10


def test_the_summary_counts_what_was_wrong() -> None:
    """GIVEN a missed fault and an accused benign run THEN both are counted against it."""
    fault, benign = Scenario("fault", ("GD101",)), Scenario("benign")
    missed = Outcome(fault, False, (), (), (), None, None, "")
    accused = Outcome(benign, False, ("GD101",), ("GD101",), (), None, None, "")
    assert not missed.right
    assert not accused.right
    text = summary([missed, accused])
    assert "top finding: 0 of 1" in text
    assert "benign and silent:             0 of 1" in text


def test_a_live_scenario_from_program_to_verdict() -> None:
    """GIVEN the recorder, emulated GPUs and a program that hardly loads the CPU THEN silence.

    What other programs do on the machine cannot make this one wrong: it waits by sleeping.
    """
    short = next(scenario for scenario in LIGHT if scenario.name == "healthy-half-of-a-minute")
    outcome = run(short)
    assert outcome.failure == ""
    assert outcome.rate is not None
    assert "GD101" not in outcome.above_info
