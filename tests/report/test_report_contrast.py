"""The colours of the page: legible, and told apart without colour vision and in grey prints."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

STYLE = (Path(__file__).resolve().parents[2] / "reports" / "templates" / "style.css").read_text(
    "utf-8"
)
FORMS = ("light", "dark", "print")
AA_TEXT, AA_LINE = 4.5, 3.0
CURVES = ("gpu", "memory", "process", "host", "io", "power")
UNDER_WHITE = ("busy", "input", "start", "main", "imbalance", "idle")
HEAT = tuple(f"heat-{letter}" for letter in "abcdef")


def palette(form: str) -> dict[str, str]:
    """The colours by name, as they are in that form: later ones replace earlier ones."""
    blocks = re.findall(r":root \{(.*?)\n\s*\}", STYLE, re.DOTALL)
    assert len(blocks) == len(FORMS)
    chosen = {"light": blocks[:1], "dark": blocks[:2], "print": [blocks[0], blocks[2]]}[form]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6});", "\n".join(chosen)))


def luminance(colour: str) -> float:
    """Relative luminance, 0 to 1 (WCAG 2.2)."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio, 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_the_formula_is_that_of_the_guideline() -> None:
    """GIVEN black on white and the lightest grey that passes, THEN the published ratios."""
    assert contrast("#000", "#fff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert palette("dark")["paper"] != palette("light")["paper"] != palette("print")["paper"]


@pytest.mark.parametrize("form", FORMS)
def test_text_in_plots_is_legible(form: str) -> None:
    """GIVEN the page in a form, THEN each colour of text in and beside plots passes AA."""
    colours = palette(form)
    # `t-title` takes the colour of its curve
    for name in ("ink", "quiet", "bad", "good", "unsure", "accent", *CURVES):
        assert contrast(colours[name], colours["paper"]) >= AA_TEXT, name
    for name in ("ink", "quiet", "accent"):
        assert contrast(colours[name], colours["panel"]) >= AA_TEXT, name


@pytest.mark.parametrize("form", FORMS)
def test_the_ledger_is_legible(form: str) -> None:
    """GIVEN a part of the ledger, THEN its label passes AA on it."""
    colours = palette(form)
    for name in UNDER_WHITE:
        assert contrast("#ffffff", colours[name]) >= AA_TEXT, name
    for name in ("pause", "other"):
        assert contrast("#14161a", colours[name]) >= AA_TEXT, name
    for name in ("rest", "unknown"):
        assert contrast(colours["ink"], colours[name]) >= AA_TEXT, name


@pytest.mark.parametrize("form", FORMS)
def test_the_levels_of_the_heat_map_are_in_order_without_colour(form: str) -> None:
    """GIVEN the six levels in grey, THEN each is darker (dark page: brighter) than the last."""
    colours = palette(form)
    levels = [luminance(colours[name]) for name in HEAT]
    ordered = levels if form == "dark" else levels[::-1]
    for darker, brighter in pairwise(ordered):
        assert (brighter + 0.05) / (darker + 0.05) >= 1.2
    assert contrast(colours["heat-f"], colours["paper"]) >= AA_LINE


@pytest.mark.parametrize("form", ["light", "print"])
def test_work_stands_out_from_every_loss_in_grey(form: str) -> None:
    """GIVEN a grey print, THEN the busy part is darker than any other."""
    colours = palette(form)
    for name in (*UNDER_WHITE[1:], "pause", "other", "rest", "unknown"):
        assert contrast(colours["busy"], colours[name]) >= 1.5, name
