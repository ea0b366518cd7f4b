"""What became of the ledger, the findings and the figures."""

from __future__ import annotations

import pytest
from comparing import compared, run

STARVED = {
    "main_cpu_pct": 99.0, "main_read_mib_s": 30.0, "workers": 0.0, "others_cpu_pct": 0.0,
    "host_idle_cores": 10.0,
}  # fmt: skip
FED = {**STARVED, "main_read_mib_s": 0.0, "main_cpu_pct": 90.0}


def test_a_finding_that_is_gone() -> None:
    """GIVEN a starved run and a busy one THEN the finding is gone, and new the other way round."""
    starved, fed = run(30, **STARVED), run(97, seed=2, **FED)
    there = {change.code: change.kind for change in compared(starved, fed).changes}
    back = {change.code: change.kind for change in compared(fed, starved).changes}
    assert there["GD101"] == "gone"
    assert back["GD101"] == "new"


@pytest.mark.parametrize(("util", "kind"), [(55.0, "less"), (32.0, "same"), (15.0, "more")])
def test_a_finding_that_is_still_there(util: float, kind: str) -> None:
    """GIVEN a cost that moves by more than five points THEN it is less or more, else the same."""
    changes = compared(run(30, **STARVED), run(util, seed=2, **STARVED)).changes
    found = next(change for change in changes if change.code == "GD101")
    assert found.kind == kind


def test_what_was_not_checked_is_not_gone() -> None:
    """GIVEN a second run without a CPU side THEN the finding cannot be told to be gone."""
    changes = compared(run(30, **STARVED), run(60, seed=2)).changes
    found = next(change for change in changes if change.code == "GD101")
    assert found.kind == "unchecked"
    assert found.reason


def test_the_ledgers_are_aligned() -> None:
    """GIVEN two ledgers THEN each part has both shares, and either column sums to 1."""
    comparison = compared(run(30, **STARVED), run(97, seed=2, **FED))
    assert sum(part.before_share or 0 for part in comparison.parts) == pytest.approx(1)
    assert sum(part.after_share or 0 for part in comparison.parts) == pytest.approx(1)
    busy = next(part for part in comparison.parts if part.name == "busy")
    assert busy.after_share is not None
    assert busy.before_share is not None
    assert busy.after_share > 2 * busy.before_share


def test_figures_of_one_run_only_have_no_change() -> None:
    """GIVEN a figure that one run was not measured for THEN its change is not known, never 0."""
    figures = {q.name: q for q in compared(run(30, **STARVED), run(97, seed=2)).quantities}
    assert figures["main_cpu_pct"].after is None
    assert figures["main_cpu_pct"].change is None
    assert figures["util_pct"].change
    assert figures["util_pct"].change.low is not None
