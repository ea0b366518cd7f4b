"""`gpudiag check`: for CI, one line a finding, exit code 0 or 1, and nothing that passes unseen."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import pytest
import report_fixtures as fixtures

from gpudiag.cli import main
from gpudiag.commands import check
from gpudiag.diagnose.model import SEVERITIES
from gpudiag.report import clean

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "check-schema.json"
HEAD = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n"


@pytest.fixture
def idle(tmp_path: Path) -> str:
    """A log of a GPU that is busy four seconds of every eight."""
    path = tmp_path / "idle.csv"
    path.write_text(
        HEAD
        + "".join(
            f"2026/07/03 14:{s // 60:02d}:{s % 60:02d}.000, 0, {s // 4 % 2 * 96} %, 4500 MiB\n"
            for s in range(600)
        )
    )
    return str(path)


def test_the_levels_are_those_of_the_findings() -> None:
    """GIVEN the severities of findings, THEN --fail-on knows them, in their order."""
    assert check.LEVELS == SEVERITIES


@pytest.mark.parametrize(
    ("fail_on", "failing"), [("critical", 0), ("high", 1), ("medium", 1), ("low", 2), ("never", 0)]
)
def test_findings_fail_from_their_severity_on(fail_on: str, failing: int) -> None:
    """GIVEN a high and a low finding, THEN those at or above the limit fail."""
    result = check.check(*fixtures.starving(), fail_on, None)
    assert len(result.failing) == len(result.reasons) == failing


def test_what_is_not_sure_yet_is_said_and_does_not_fail() -> None:
    """GIVEN a finding of confidence watch, THEN it is printed as a note, and the check passes."""
    diagnosis, timeline = fixtures.starving()
    [first, *_] = diagnosis.findings
    unsure = dataclasses.replace(
        diagnosis, findings=(dataclasses.replace(first, confidence="watch"),)
    )
    result = check.check(unsure, timeline, "info", None)
    assert not result.reasons
    assert check.lines(result)[0].startswith("note  high, not sure yet  GD101")


def test_one_line_a_finding_and_exit_code_one(
    idle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN an idle GPU, WHEN nothing may be found, THEN a line a finding, the verdict, and 1."""
    assert main(["check", idle, "--fail-on", "info"]) == 1
    *findings, verdict, outcome = capsys.readouterr().out.splitlines()
    assert findings
    assert all(line.startswith(("FAIL  ", "note  ")) for line in findings)
    assert verdict.startswith(("! Problem: ", "? Cannot tell: "))
    assert outcome.startswith("failed: GD")


def test_the_stall_has_a_limit_of_its_own(idle: str, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a GPU that idles half of the time, THEN 20 % are exceeded and 90 % are not."""
    assert main(["check", idle, "--fail-on", "never", "--max-stall", "20%"]) == 1
    assert "more than 20 %" in capsys.readouterr().out
    assert main(["check", idle, "--fail-on", "never", "--max-stall", "90 %"]) == 0
    assert capsys.readouterr().out.endswith("passed\n")


def test_a_limit_that_cannot_be_checked_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a log without utilisation, THEN --max-stall does not pass in silence."""
    path = tmp_path / "memory.csv"
    path.write_text(
        "timestamp, memory.used [MiB]\n"
        + "".join(f"2026/07/03 14:00:{s:02d}.000, 4500 MiB\n" for s in range(60))
    )
    assert main(["check", str(path), "--max-stall", "20%"]) == 1
    assert "the stall could not be checked: " in capsys.readouterr().out


def test_json_says_the_same(idle: str, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN --format json, THEN it is one document, and its outcome is that of the exit code."""
    code = main(["check", idle, "--max-stall", "20%", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is (code == 0) is False
    assert 0.3 < document["stall"] < 0.7
    assert document["findings"][0]["code"].startswith("GD")


def test_json_keeps_to_its_schema(idle: str, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN checks that pass, fail and cannot tell, THEN each document is as described."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for more in ([], ["--max-stall", "20%"], ["--fail-on", "never"], ["--fail-on", "info"]):
        main(["check", idle, "--format", "json", *more])
        document = json.loads(capsys.readouterr().out)
        validator.validate(document)
        assert set(document) == set(schema["properties"])
    assert schema["properties"]["schema_version"]["const"] == check.SCHEMA_VERSION
    assert not validator.is_valid({**document, "passed": "yes"})
    assert not validator.is_valid({**document, "findings": [{}]})


@pytest.mark.parametrize("limit", ["20", "0.2", "101%", "-3%", "a%", ""])
def test_a_limit_must_be_a_percentage(limit: str, idle: str) -> None:
    """GIVEN a figure that could be a share or a percentage, THEN it is asked for plainly."""
    with pytest.raises(SystemExit) as stopped:
        main(["check", idle, f"--max-stall={limit}"])
    assert stopped.value.code == 2


def test_hostile_names_reach_neither_terminal_nor_json() -> None:
    """GIVEN a hostile rule and summary, THEN each finding is one line without hidden characters."""
    result = check.check(*fixtures.hostile(), "high", None)
    lines = check.lines(result)
    assert len(lines) == 3
    assert all(line == clean.clean(line, 10_000) for line in lines)
    args = argparse.Namespace(files=[fixtures.HOSTILE], fail_on="high", max_stall=None)
    for text in every_text(check.document(result, args)):
        assert text == clean.clean(text, 10_000)
        text.encode()


@pytest.mark.parametrize("leak", ["--api-key=s3cr3tvalue0123456789", "hf_s3cr3tvalue0123456789"])
def test_no_secret_reaches_a_line_of_a_check(leak: str) -> None:
    """GIVEN a recording whose summary and name hold a secret, THEN neither form shows it."""
    diagnosis, timeline = fixtures.starving()
    [first, *_] = diagnosis.findings
    told = dataclasses.replace(
        diagnosis, sentence=leak, findings=(dataclasses.replace(first, summary=f"It ran {leak}."),)
    )
    result = check.check(told, timeline, "high", None)
    args = argparse.Namespace(files=[leak], fail_on="high", max_stall=None)
    said = [*check.lines(result), *every_text(check.document(result, args))]
    assert not [text for text in said if "s3cr3tvalue" in text]
    assert [text for text in said if "***" in text]


def every_text(part: object) -> list[str]:
    if isinstance(part, dict):
        return [text for inner in part.values() for text in every_text(inner)]
    if isinstance(part, list):
        return [text for inner in part for text in every_text(inner)]
    return [part] if isinstance(part, str) else []
