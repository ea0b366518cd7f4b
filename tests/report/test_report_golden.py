"""Reports say what they said when they were last looked at, and their JSON keeps to its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import report_fixtures
import report_golden

import gpudiag
from gpudiag.report import json as report_json
from gpudiag.report import render_text

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "report-schema.json").read_text("utf-8")
)
AGAIN = "look at it; if it is meant: python tests/report/report_golden.py"


@pytest.mark.parametrize("name", report_golden.RECORDED)
def test_a_recorded_run_is_judged_as_before(name: str) -> None:
    """GIVEN a recorded fixture, THEN its JSON holds the decisions that were looked at."""
    assert report_golden.decisions(name) == report_golden.golden_file(name).read_text("utf-8"), (
        AGAIN
    )


@pytest.mark.parametrize("name", report_golden.WHOLE)
def test_a_whole_report_is_written_as_before(name: str) -> None:
    """GIVEN a diagnosis made by hand, THEN every line of the report is the one looked at."""
    assert report_golden.whole(name) == (report_golden.GOLDEN / name).read_text("utf-8"), AGAIN


def documents() -> dict[str, dict[str, Any]]:
    made = {name: make() for name, make in report_fixtures.PAGES.items() if name != "whole_day"}
    for name in report_golden.RECORDED:
        timeline = gpudiag.read(report_golden.FIXTURES / name)
        made[name] = (gpudiag.diagnose(timeline), timeline)
    return {name: json.loads(render_text(*of, "json")) for name, of in made.items()}


def test_every_report_keeps_to_the_documented_schema() -> None:
    """GIVEN reports of all kinds, THEN each is valid, and the version is the documented one."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    for name, document in documents().items():
        assert not [error.message for error in validator.iter_errors(document)], name
    assert SCHEMA["properties"]["schema_version"]["const"] == report_json.SCHEMA_VERSION


def test_the_schema_describes_every_key_and_can_fail() -> None:
    """GIVEN a report, THEN no key is undocumented; GIVEN a wrong one, THEN the schema says so."""
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(render_text(*report_fixtures.starving(), "json"))
    assert set(document) == set(SCHEMA["properties"])
    assert set(document["findings"][0]) == set(SCHEMA["$defs"]["finding"]["properties"])
    assert set(document["findings"][0]["causes"][0]) == set(SCHEMA["$defs"]["cause"]["properties"])
    assert set(document["fine"][0]) == set(SCHEMA["$defs"]["check"]["properties"])
    document["findings"][0]["cost"] = 64
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(document))
