"""The report for terminals and for programs."""

from __future__ import annotations

import io
import json
import math

import pytest
import report_fixtures as fixtures
from rich.console import Console

from gpudiag.report import render_text
from gpudiag.report.build import build
from gpudiag.report.clean import clean, clean_code
from gpudiag.report.text import print_terminal

TOP_OF_TEXT = """\
! Problem
The GPUs were idle 64 % of the time because two loader workers could not keep up. Fixing this could
make the run at most 2.8 times as fast.
python train.py --config configs/resnet50.yaml
30 min 3 s · 2 × NVIDIA A100-SXM4-80GB · PyTorch · 3 Jul 2026, 14:02:07 +02:00 · node17
"""
KEYS = {
    "schema_version", "made_by", "file", "state", "sentence", "command", "framework", "run",
    "figures", "ledger", "findings", "fine", "superseded", "unchecked", "limits", "recording",
}  # fmt: skip


def on_terminal(name: str, width: int, *, colour: bool) -> str:
    diagnosis, timeline = fixtures.PAGES[name]()
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, legacy_windows=False,
        color_system="standard" if colour else None,
    )  # fmt: skip
    print_terminal(build(diagnosis, timeline, figures=False), console)
    return out.getvalue()


def test_piped_text_is_plain_and_says_the_main_things() -> None:
    """GIVEN a pipe, THEN verdict, ledger, top finding with remedy, checks, and no colour."""
    text = render_text(*fixtures.starving(), "text")
    assert text.startswith(TOP_OF_TEXT)
    assert "\x1b" not in text
    for said in (
        "62 %  Waiting for input (37.2 GPU-minutes)", "1. The GPUs wait for input data [GD101]",
        "at most 2.8× as fast", "● The workers are at their limit", "num_workers=6",
        "– ruled out: The DataLoader has no workers",
        "? could not be checked, because the control group of the run was not readable:",
        "✓ GPU memory is level",
    ):  # fmt: skip
        assert said in text


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("name", ["starving", "healthy", "foreign_log", "creeping", "hostile"])
def test_text_keeps_to_the_width_of_the_terminal(name: str, width: int) -> None:
    """GIVEN a terminal of some width, THEN no line is longer."""
    lines = on_terminal(name, width, colour=False).splitlines()
    assert max(map(len, lines)) <= width


def test_the_ledger_bar_has_a_character_for_each_part() -> None:
    """GIVEN four parts, THEN the bar is as wide as the text and its parts keep their order."""
    bar = render_text(*fixtures.starving(), "text").splitlines()[6]
    assert len(bar) == 98
    assert [bar.count(character) for character in "█░▓▒"] == [2, 32, 61, 3]


def test_hostile_text_reaches_neither_the_terminal_nor_rich() -> None:
    """GIVEN escapes and rich markup from outside, THEN they are shown as text."""
    text = on_terminal("hostile", 100, colour=False)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[31mred\\x1b[0m" in text


def test_colour_only_where_it_is_wanted() -> None:
    """GIVEN a terminal with colour, THEN there are escapes, all of them rich's own."""
    assert "\x1b[1;31m! Problem" in on_terminal("starving", 80, colour=True)


@pytest.mark.parametrize("name", ["starving", "healthy", "foreign_log", "hostile"])
def test_json_has_the_documented_keys(name: str) -> None:
    """GIVEN any report, THEN its JSON is strict, versioned, and has all keys."""
    document = json.loads(render_text(*fixtures.PAGES[name](), "json"), parse_constant=pytest.fail)
    assert set(document) == KEYS
    assert document["schema_version"] == 1
    for finding in document["findings"]:
        assert {"code", "severity", "cost", "bound", "episodes", "causes"} <= set(finding)


def test_json_figures_are_figures_and_unknown_is_null() -> None:
    """GIVEN costs, THEN they are numbers; GIVEN none, THEN null and not 0."""
    document = json.loads(render_text(*fixtures.starving(), "json"))
    assert document["findings"][0]["cost"] == 0.64
    assert math.isclose(sum(part["share"] for part in document["ledger"]["parts"]), 1.0)
    [finding] = json.loads(render_text(*fixtures.foreign_log(), "json"))["findings"]
    assert finding["cost"] is None
    assert finding["bound"] is None


def test_cleaning_shows_what_is_hidden() -> None:
    """GIVEN control and direction characters, THEN they are visible; newlines stay in code only."""
    assert clean("a\x1b[1m\u202eb\tc\nd\x00") == "a\\x1b[1m\\u202eb c⏎ d\\x00"
    assert clean_code("a\tb\r\nc\x07") == "a    b\nc\\x07"
    assert clean("x" * 30, 10) == "x" * 10 + "… (20 more characters)"
    assert clean("naïve 日本 é") == "naïve 日本 é"
    clean("\ud800").encode()
