"""docs/writing-rules.md: its example is a rule that passes its tests, and it leaves nothing out."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from gpudiag.diagnose import load_rules, run_rule_tests
from gpudiag.diagnose.functions import FUNCTIONS
from gpudiag.diagnose.holes import FORMATS
from gpudiag.diagnose.model import RuleTest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "writing-rules.md").read_text("utf-8")


def test_the_example_is_a_rule_that_passes_its_tests(tmp_path: Path) -> None:
    example = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]
    path = tmp_path / "machine-swaps.toml"
    path.write_text(example, encoding="utf-8")
    results = run_rule_tests(load_rules([path]))
    assert [(result.test.name, result.failure) for result in results if result.failure] == []
    assert len(results) == 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_explained(name: str) -> None:
    assert re.search(rf"`{name}[`(]", PAGE)


@pytest.mark.parametrize("name", [name for name in FORMATS if name])
def test_every_format_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE.split("## Holes")[1].split("## Tests")[0]


@pytest.mark.parametrize("name", [field.name.removesuffix("_s") for field in fields(RuleTest)[1:]])
def test_every_key_of_a_test_is_explained(name: str) -> None:
    assert f"`{name}" in PAGE.split("## Tests")[1]


@pytest.mark.parametrize(
    "name",
    ["code", "name", "family", "scope", "when", "for", "bridge", "min_share", "cost", "bound",
     "supersedes", "summary", "meaning", "confirm", "fine", "plot", "[thresholds]", "[[severity]]",
     "[[confidence]]", "[[evidence]]", "[[cause]]", "[[cause.remedy]]", "[[test]]"],
)  # fmt: skip
def test_every_key_of_a_rule_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE.split("## The keys")[1].split("## Expressions")[0]
