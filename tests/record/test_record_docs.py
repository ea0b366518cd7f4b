"""docs/recording.md keeps up with the code."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from gpudiag.commands import record
from gpudiag.timeline.columns import COLUMNS

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "recording.md").read_text(encoding="utf-8")


def test_every_column_is_explained() -> None:
    """GIVEN the columns of the format THEN each is named in the page."""
    named = set(re.findall(r"`(\w+)`", TEXT))
    assert {column.name for column in COLUMNS} - named == set()


def test_every_option_is_explained() -> None:
    """GIVEN the options of `record` THEN each is named in the page."""
    parser = argparse.ArgumentParser(add_help=False)
    record.add_arguments(parser)
    options = {name for action in parser._actions for name in action.option_strings}
    assert options
    assert all(f"`{name}" in TEXT for name in options)
