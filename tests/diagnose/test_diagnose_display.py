"""How a diagnosis and a finding show themselves in a notebook and on a prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpudiag.api.report import Report
from gpudiag.diagnose import diagnose
from gpudiag.diagnose.display import finding_html, html, plain
from gpudiag.diagnose.model import Diagnosis
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.read import read

RUN = Path(__file__).resolve().parents[1] / "fixtures" / "runs" / "demo-starvation.csv"
HOSTILE = '</p><script>alert("1")</script>\x1b[31m\u202e'


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    return read(RUN)


@pytest.fixture(scope="module")
def diagnosis(timeline: Timeline) -> Diagnosis:
    return diagnose(timeline)


class Printer:
    """IPython's pretty printer, as far as it is used."""

    def __init__(self) -> None:
        self.said = ""

    def text(self, text: str) -> None:
        self.said += text


def test_a_diagnosis_shows_its_verdict_and_findings(diagnosis: Diagnosis) -> None:
    """GIVEN a run with a problem THEN verdict, ledger, findings and a remedy are in the HTML, and
    verdict and findings in the text."""
    first = diagnosis.findings[0]
    shown = diagnosis._repr_html_()
    assert "! Problem" in shown
    assert first.rule.code in shown
    assert first._repr_html_() in shown
    assert "→ " in first._repr_html_()
    for part in diagnosis.ledger.parts:
        if part.share >= 0.01:
            assert f"{100 * part.share:.0f} %" in shown
    printer = Printer()
    diagnosis._repr_pretty_(printer, False)
    assert printer.said.splitlines()[0].startswith("! Problem: ")
    assert len(printer.said.splitlines()) == 1 + len(diagnosis.findings)
    one = Printer()
    first._repr_pretty_(one, False)
    assert one.said in printer.said


def test_text_from_outside_is_only_text(diagnosis: Diagnosis, timeline: Timeline) -> None:
    """GIVEN a diagnosis whose texts are markup and control characters THEN none of it acts."""
    first = replace(diagnosis.findings[0], summary=HOSTILE)
    hostile = replace(diagnosis, sentence=HOSTILE, limits=(HOSTILE,), findings=(first,))
    shown = [
        html(hostile),
        finding_html(first),
        Report(Path(f"{HOSTILE}.csv"), timeline, hostile)._repr_html_(),
    ]
    for text in shown:
        assert "<script" not in text
        assert "\x1b" not in text
    assert "\x1b" not in plain(hostile)
    assert "\u202e" not in plain(hostile)


def test_a_verdict_without_findings(diagnosis: Diagnosis) -> None:
    """GIVEN nothing found THEN the verdict stands alone, and its state is said once."""
    nothing = replace(
        diagnosis, state="cannot tell", sentence="Cannot tell: too short.", findings=(), limits=()
    )
    assert plain(nothing) == "? Cannot tell: Too short."
    assert html(nothing).startswith("<p><strong>? Cannot tell: Too short.</strong></p>")
    assert "<ol>" not in html(nothing)
