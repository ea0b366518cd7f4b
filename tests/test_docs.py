"""The documentation is true: links lead somewhere, and nothing that exists is left out."""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from gpudiag import cli
from gpudiag.diagnose import load_rules
from gpudiag.resources import rules_dir
from gpudiag.timeline.columns import COLUMNS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    """GIVEN a page WHEN its links are followed THEN each leads to a file of the project."""
    broken = [
        target
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not broken


def test_every_page_can_be_reached_from_the_readme() -> None:
    """GIVEN docs/ WHEN the README's links are followed THEN every page is among them."""
    linked = set(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= linked


def documentation() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    """GIVEN a command WHEN its options are listed THEN each stands in the documentation."""
    parser = argparse.ArgumentParser()
    import_module(f"gpudiag.commands.{name}").add_arguments(parser)
    text = documentation()
    options = [
        option
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    ]
    missing = [option for option in options if f"{option}" not in text]
    assert f"gpudiag {name}" in text
    assert not missing


def test_every_column_is_documented() -> None:
    """GIVEN the columns of run.csv WHEN looked for in docs/format.md THEN each is there."""
    text = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    assert not [column.name for column in COLUMNS if f"{column.name}`" not in text]


def test_every_rule_is_documented() -> None:
    """GIVEN the built-in rules WHEN looked for in the documentation THEN each is there by name."""
    text = documentation()
    assert not [
        r.name for r in load_rules([rules_dir()]) if r.name not in text or r.code not in text
    ]


def test_the_page_of_rules_is_the_rules() -> None:
    """GIVEN docs/rules.md WHEN made again from rules/ THEN it is the same."""
    spec = spec_from_file_location("make_rules_page", ROOT / "docs" / "make_rules_page.py")
    assert spec
    assert spec.loader
    maker = module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert (ROOT / "docs" / "rules.md").read_text(encoding="utf-8") == maker.page(), (
        "run: python docs/make_rules_page.py"
    )
