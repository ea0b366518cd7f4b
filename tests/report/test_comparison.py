"""A comparison in every format: complete, harmless, the same twice, and open to everybody."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from pathlib import Path
from typing import Any

import axe
import chromium
import pytest
import report_fixtures
from test_report_browser import VIOLATIONS, WIDE_PARTS

from gpudiag.cli import main
from gpudiag.compare import compare
from gpudiag.compare.model import Comparison, Side
from gpudiag.diagnose import diagnose
from gpudiag.language import speaking
from gpudiag.report import FORMATS, Format
from gpudiag.report.comparison import render_comparison
from gpudiag.timeline.converted import run_csv
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.read import read

ROOT = Path(__file__).resolve().parents[2]
# a sentence is three words in a row
SENTENCE = re.compile(r"(?:\b[A-Za-z][a-z]{2,}\b[ ,;:]+){2,}[a-z]{2,}[^\n]{0,60}")
RUN = ROOT / "tests" / "fixtures" / "runs" / "demo-starvation.csv"
OTHER = ROOT / "tests" / "fixtures" / "runs" / "demo-imbalance.csv"
SECRET = "s3cr3tvalue0123456789"
browser = [
    pytest.mark.browser,
    pytest.mark.skipif(not chromium.BINARY, reason="needs Debian's chromium"),
]


def side(name: str, title: str, **changes: Any) -> Side:
    diagnosis, timeline = report_fixtures.PAGES[name]()
    return Side(title, dataclasses.replace(timeline, **changes), diagnosis)


def comparison(
    before: str = "starving", after: str = "healthy", name: str = "after.csv"
) -> Comparison:
    return compare(side(before, "before.csv"), side(after, name))


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_it(form: Format) -> None:
    """GIVEN a comparison THEN verdict, runs, ledger and findings stand in every format."""
    one = comparison()
    text = render_comparison([one], form)
    plain = html.unescape(text) if form == "html" else text.replace("\\", "")
    for words in ("before.csv", "after.csv", one.outcome.capitalize()[:5].lower()):
        assert words in plain.lower()
    assert one.parts
    if form == "json":
        assert [part["name"] for part in json.loads(text)["comparisons"][0]["ledger"]] == [
            part.name for part in one.parts
        ]
    assert render_comparison([comparison()], form) == text  # the same bytes twice


def test_the_json_keeps_its_schema() -> None:
    """GIVEN comparisons of all kinds THEN their JSON is what docs/compare-schema.json says."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "docs" / "compare-schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    pairs = [("starving", "healthy"), ("healthy", "foreign_log"), ("creeping", "many_gpus")]
    for before, after in pairs:
        document = json.loads(render_comparison([comparison(before, after)], "json"))
        assert list(validator.iter_errors(document)) == []
    assert list(validator.iter_errors({**document, "before": 7}))  # the schema can fail


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_text_is_harmless(form: Format) -> None:
    """GIVEN markup, escapes and a secret in names and commands THEN none of it is in a format."""
    diagnosis, timeline = report_fixtures.hostile()
    bad = f"<script>alert(1)</script>\x1b[31m\u202e--api-key={SECRET}|x`"
    told = dataclasses.replace(diagnosis, sentence=bad)
    one = compare(Side(bad, timeline, told), Side("after.csv", timeline, told))
    text = render_comparison([one], form)
    assert SECRET not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    if form == "html":
        assert text.count("<script") == 1
    if form == "markdown":
        markdown_it = pytest.importorskip("markdown_it")
        assert "<script" not in markdown_it.MarkdownIt("commonmark").enable("table").render(text)


def test_chinese_has_no_english_left() -> None:
    """GIVEN the language zh THEN no sentence of the comparison stays English."""
    with speaking("zh"):
        sides = [Side(path.name, read(path), diagnose(read(path))) for path in (RUN, OTHER)]
        text = render_comparison([compare(sides[0], sides[1]), compare(sides[1], sides[0])], "text")
    assert SENTENCE.findall(text) == []


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a run and itself THEN no difference is shown, on the terminal and in a page."""
    page = tmp_path / "compare.html"
    assert main(["compare", str(RUN), str(RUN), "--lang", "en"]) == 0
    assert "No difference shown" in capsys.readouterr().out
    assert main(["compare", str(RUN), str(RUN), str(OTHER), "-o", str(page)]) == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert page.read_text("utf-8").count("</table>") >= 4
    assert main(["compare", str(RUN), str(RUN), "-o", str(page)]) == 0  # our own is replaced


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([str(RUN)], 2, "AFTER"),
        (["-", "-"], 2, "only one of the runs"),
        ([str(RUN), "nowhere.csv"], 3, "nowhere.csv"),
        ([str(RUN), str(RUN), "--max-regression", "much"], 2, "percentage"),
        ([str(RUN), str(RUN), "--open"], 2, "--open"),
        ([str(RUN), str(RUN), "-o", "x.pdf"], 2, ".pdf"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a mistake THEN the exit code of its kind, and a line that names it."""
    assert exit_code(["compare", *words]) == code
    assert said in capsys.readouterr().err


def exit_code(words: list[str]) -> object:
    try:
        return main(words)
    except SystemExit as left:  # argparse's own
        return left.code


def _slower(run: Timeline) -> Timeline:
    frame = run.frame.copy()
    for name in frame.columns:
        if name.endswith("_util_pct"):
            frame[name] *= 0.5
    return dataclasses.replace(run, frame=frame)


def test_a_regression_fails_and_what_cannot_be_told_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a run of half the speed THEN --max-regression 5% fails; of 60% it passes; a run of
    which it cannot be told fails."""
    slower = tmp_path / "slower.csv"
    slower.write_text("".join(run_csv(_slower(read(RUN)))), "utf-8")
    assert main(["compare", str(RUN), str(slower), "--max-regression", "5%"]) == 1
    assert "slower by" in capsys.readouterr().err
    assert main(["compare", str(RUN), str(slower), "--max-regression", "60%"]) == 0
    short = tmp_path / "short.csv"
    lines = RUN.read_text("utf-8").splitlines(keepends=True)
    short.write_text("".join(lines[:20]), "utf-8")
    capsys.readouterr()
    assert main(["compare", str(RUN), str(short), "--max-regression", "5%"]) == 1
    assert "cannot be told" in capsys.readouterr().err


class TestPage:
    """The page in a real browser."""

    pytestmark = browser

    @pytest.fixture(params=["light", "dark", "phone"])
    def page(self, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
        file = tmp_path / "compare.html"
        file.write_text(
            render_comparison([comparison(), comparison("healthy", "foreign_log", "log")])
        )
        width = 360 if request.param == "phone" else 1280
        opened = chromium.Page(file, width=width, dark=request.param == "dark")
        yield opened
        opened.close()

    def test_nothing_is_asked_for_and_nothing_sticks_out(self, page: chromium.Page) -> None:
        """GIVEN the page THEN no request, no complaint, and no scrolling sideways."""
        assert not [url for url in page.requests if not url.startswith(("file:", "data:"))]
        assert not page.complaints
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(WIDE_PARTS) == []
        assert page.evaluate("document.querySelectorAll('.t-other').length") > 0

    @pytest.mark.skipif(not axe.SCRIPT.exists(), reason=axe.MISSING)
    def test_axe_finds_no_barrier(self, page: chromium.Page) -> None:
        """GIVEN the page THEN axe-core reports no violation."""
        page.evaluate(axe.SCRIPT.read_text("utf-8") + "\n;typeof axe")
        assert json.loads(page.evaluate(VIOLATIONS, wait=True)) == []
