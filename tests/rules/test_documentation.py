"""The pages about signals and rules are complete, and true to the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import RULES

from gpudiag.signals import REGISTRY
from gpudiag.signals.document import page

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_of_signals_is_that_of_the_code():
    """If this fails: python -m gpudiag.signals.document > docs/signals.md"""
    assert (DOCS / "signals.md").read_text(encoding="utf-8") == "".join(page())


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_signal_is_documented(name):
    assert f"| `{name}` |" in (DOCS / "signals.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_is_explained(rule):
    text = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    assert f"### {rule.code} {rule.name}\n" in text
