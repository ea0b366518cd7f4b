"""The tests within rules: what a synthetic recording holds, and what a failure says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpudiag.diagnose import load_rules, run_rule_tests
from gpudiag.diagnose.model import RuleTest
from gpudiag.diagnose.rule_tests import COMMAND, timeline_of
from gpudiag.errors import RuleError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"
WAITS = load_rules([FIXTURES])[0]
FIRES, SILENT, UNCHECKED = WAITS.tests


def failure(**changes: object) -> str:
    """The failure of the firing test after `changes`."""
    (result,) = run_rule_tests([replace(WAITS, tests=(replace(FIRES, **changes),))])
    return result.failure


def test_the_tests_of_the_fixtures_pass() -> None:
    results = run_rule_tests(load_rules([FIXTURES]))
    assert [result.failure for result in results] == [""] * 5


def test_a_test_that_fails_says_why_with_the_figures_that_decided() -> None:
    quiet = replace(FIRES, series={**FIRES.series, "gpu_util_pct": "97*300"})
    (result,) = run_rule_tests([replace(WAITS, tests=(quiet,))])
    assert result.failure == "must fire, but it was silent"
    assert "1 - gpus_mean(mean(gpu_util_pct)) / 100 = 0.03" in result.figures
    assert "mean(main_cpu_pct) = 100" in result.figures
    assert any(figure.startswith("mean(workers_blocked) = missing: ") for figure in result.figures)


def test_every_way_to_fail_is_told_apart() -> None:
    assert failure() == ""
    assert failure(fires=False, holds=()).startswith(
        "must be silent, but it fires: The GPUs waited"
    )
    assert failure(series={"gpu_util_pct": "(90 0)*150"}).startswith(
        "must fire, but it could not be checked, because "
    )
    assert failure(holds=("no-workers", "slow-disk")).startswith(
        "cause 'slow-disk' must hold, but is unknown ("
    )
    silent = {"fires": False, "holds": ()}
    assert failure(**silent, unchecked=True, series=SILENT.series) == (
        "must be unchecked, but it was checked and silent"
    )


def test_silence_for_want_of_data_is_no_passed_test() -> None:
    """GIVEN a silent test whose column is misspelt or left out THEN it does not pass unnoticed."""
    assert "add: unchecked = true" in failure(fires=False, holds=(), series=UNCHECKED.series)


def test_gpu_series_alone_are_a_log_and_a_cpu_side_makes_a_recording() -> None:
    log = timeline_of(UNCHECKED)
    assert not log.start["command"]
    assert log.gpus == (0,)
    recording = timeline_of(FIRES)
    assert recording.start["command"] == COMMAND
    assert recording.frame.index[[0, -1]].tolist() == [1.0, 300.0]
    assert recording.end is not None
    assert recording.end["exit_code"] == 0
    assert recording.end["t_s"] == 300.0


def test_start_end_events_and_interval_are_what_the_test_says() -> None:
    timeline = timeline_of(
        RuleTest(
            "x",
            True,
            {"gpu_util_pct": "1*10", "gpu3_util_pct": "1*10"},
            start={"frameworks": ["paddle"], "env": {"FLAGS_x": "1"}, "gpus": [{"index": 3}]},
            end={},
            events=({"t_s": 2.0, "kind": "gpu-lost", "text": "GPU 3 is lost"},),
            interval_s=0.5,
        )
    )
    assert timeline.gpus == (0, 3)
    assert timeline.start["env"] == {"FLAGS_x": "1"}
    assert [event.kind for event in timeline.events] == ["framework", "gpu-lost"]
    assert timeline.end is None
    assert timeline.frame.index[-1] == 5.0


@pytest.mark.parametrize(
    "changes",
    [
        {"start": {"host": 1}},
        {"events": ({"kind": "no time"},)},
        {"events": ({"t_s": float("nan"), "kind": "x"},)},
        {"end": {"t_s": "late"}},
    ],
)
def test_facts_that_make_no_sense_are_a_rule_error(changes: dict[str, object]) -> None:
    with pytest.raises(RuleError, match="test 'fires where"):
        failure(**changes)
