"""The page in a real browser: nothing asked for, nothing complained about, nothing cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import axe
import chromium
import pytest
import report_fixtures

from gpudiag.report import render

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not chromium.BINARY, reason="needs Debian's chromium"),
]  # fmt: skip

WIDE_PARTS = (
    "[...document.querySelectorAll('body *')].filter(e => e.getClientRects().length"
    " && e.getBoundingClientRect().right > innerWidth + 1"
    " && !e.closest('pre, .table, .skip, .scroll-safe')).map(e => e.outerHTML.slice(0, 120))"
)
VIOLATIONS = """(async () => {
  document.querySelectorAll('details').forEach(part => { part.open = true; });
  const found = await axe.run(document, {resultTypes: ['violations']});
  return JSON.stringify(found.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html]));
})()"""
POINTER = """(() => {
  const plot = document.querySelector('%s'), box = plot.getBoundingClientRect();
  const at = {clientX: box.left + box.width * 0.5, clientY: box.top + box.height * 0.57};
  const target = document.elementFromPoint(at.clientX, at.clientY) || plot;
  (plot.contains(target) ? target : plot).dispatchEvent(
    new PointerEvent('pointermove', {...at, bubbles: true}));
  return JSON.stringify([...plot.querySelectorAll('.t-note')].map(note => note.textContent));
})()"""
KEYS = """(() => {
  const plot = document.querySelector('%s');
  const texts = () => [...plot.querySelectorAll('.t-note')].map(note => note.textContent);
  const before = texts();
  plot.focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown'])
    plot.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  return JSON.stringify([before, texts(), plot.parentNode.nextElementSibling.textContent]);
})()"""
LABELS = """JSON.stringify([...document.querySelectorAll('svg.ledger text')].map(text => {
  const under = [...document.querySelectorAll('svg.ledger rect')].filter(rect => {
    const box = rect.getBoundingClientRect(), at = text.getBoundingClientRect();
    const middle = at.left + at.width / 2;
    return box.width > 4 && box.left <= middle && box.right >= middle;
  });
  return [text.getBoundingClientRect().width, under[0].getBoundingClientRect().width];
}))"""
COLOURS = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(params=["starving", "foreign_log", "creeping", "hostile"])
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[chromium.Page]:
    diagnosis, timeline = report_fixtures.PAGES[request.param]()
    opened = chromium.Page(render(diagnosis, timeline, tmp_path / "run.html"))
    yield opened
    opened.close()


def test_the_page_asks_for_nothing_and_complains_of_nothing(page: chromium.Page) -> None:
    """GIVEN a report, WHEN opened, THEN only the file is read, and the console stays empty."""
    page.evaluate("new Promise(done => setTimeout(done, 300))")
    asked = [url for url in page.requests if not url.startswith(("file:", "data:"))]
    assert len([url for url in page.requests if url.startswith("file:")]) == 1
    assert not asked
    assert not page.complaints


def test_nothing_sticks_out_on_a_phone(page: chromium.Page) -> None:
    """GIVEN a window of 360 pixels, THEN the page does not scroll sideways."""
    page.resize(360)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(WIDE_PARTS) == []


def test_hostile_text_is_shown_and_not_run(page: chromium.Page) -> None:
    """GIVEN any report, THEN only the tool's own script and no foreign element is in it."""
    assert page.evaluate("document.scripts.length") == 1
    assert page.evaluate("document.querySelectorAll('img, iframe, object, form').length") == 0
    assert page.evaluate("document.querySelectorAll('main').length") == 1


def test_the_style_sheet_and_the_script_are_allowed_by_the_policy(page: chromium.Page) -> None:
    """GIVEN the policy with hashes, THEN the style holds and code blocks have copy buttons."""
    assert page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") != "none"
    blocks = page.evaluate("document.querySelectorAll('pre.copy').length")
    assert page.evaluate("document.querySelectorAll('.copy-button').length") == blocks > 0


def test_plots_take_their_colours_from_the_style_sheet(page: chromium.Page) -> None:
    """GIVEN a plot, THEN its curves are stroked and its texts are legible on a phone."""
    assert page.evaluate("getComputedStyle(document.querySelector('.t-line')).stroke") != "none"
    page.resize(360)
    height = page.evaluate(
        "Math.min(...[...document.querySelectorAll('.plot .t-title')]"
        ".map(e => e.getBoundingClientRect().height).filter(h => h))"
    )
    assert height >= 9


def test_dark_and_printed_pages_differ_from_the_light_one(tmp_path: Path) -> None:
    """GIVEN a dark screen, THEN the page is dark; WHEN printed, THEN it is white and unfolded."""
    page = chromium.Page(render(*report_fixtures.starving(), tmp_path / "run.html"), dark=True)
    try:
        assert page.evaluate(COLOURS) == "rgb(21, 23, 26)"
        page.ask("Emulation.setEmulatedMedia", media="print")
        assert page.evaluate(COLOURS) == "rgb(255, 255, 255)"
        folded = "document.querySelector('details:not([open]) > :not(summary)')"
        assert page.evaluate(f"{folded}.checkVisibility({{contentVisibilityAuto: true}})")
        assert page.evaluate(f"{folded}.getBoundingClientRect().height") > 10
    finally:
        page.close()


@pytest.mark.skipif(not axe.SCRIPT.exists(), reason=axe.MISSING)
@pytest.mark.parametrize("form", ["light", "dark", "phone", "dark phone", "print"])
@pytest.mark.parametrize("name", ["starving", "healthy", "foreign_log", "many_gpus"])
def test_axe_finds_no_barrier(name: str, form: str, tmp_path: Path) -> None:
    """GIVEN a report in any form, all parts unfolded, THEN axe-core reports no violation."""
    opened = chromium.Page(
        render(*report_fixtures.PAGES[name](), tmp_path / "run.html"),
        width=360 if "phone" in form else 1280,
        dark="dark" in form,
    )
    try:
        if form == "print":
            opened.ask("Emulation.setEmulatedMedia", media="print")
        opened.evaluate(axe.SCRIPT.read_text("utf-8") + "\n;typeof axe")
        assert json.loads(opened.evaluate(VIOLATIONS, wait=True)) == []
        opened.evaluate("document.querySelector('main').append(new Image())")
        [[found, _, _]] = json.loads(opened.evaluate(VIOLATIONS, wait=True))
        assert found == "image-alt"  # the checker itself works
    finally:
        opened.close()


def test_values_are_read_out_under_the_pointer(tmp_path: Path) -> None:
    """GIVEN plots, WHEN the pointer is over one, THEN time and value stand beside each title."""
    opened = chromium.Page(render(*report_fixtures.many_gpus(), tmp_path / "run.html"))
    try:
        opened.evaluate("document.querySelector('#overview-h').scrollIntoView()")
        [cell] = json.loads(opened.evaluate(POINTER % "svg[aria-labelledby^=heat]"))
        assert cell == "GPU 2, 9 min 29 s: 95 to 100 %"
        notes = json.loads(opened.evaluate(POINTER % "svg[aria-labelledby^=overview]"))
        values = [note.split(": ")[1] for note in notes]
        assert values[:4] == ["100 %", "80 %", "97 %", "40 %"]
        assert not opened.complaints
    finally:
        opened.close()


def test_values_are_read_out_by_arrow_keys(tmp_path: Path) -> None:
    """GIVEN plots, WHEN one has the focus and arrow keys move, THEN values are shown and said."""
    opened = chromium.Page(render(*report_fixtures.many_gpus(), tmp_path / "run.html"))
    try:
        opened.evaluate("document.querySelector('#overview-h').scrollIntoView()")
        before, notes, said = json.loads(opened.evaluate(KEYS % "svg[aria-labelledby^=overview]"))
        assert before != notes
        assert all(": " in note for note in notes)
        assert said == ". ".join(notes)
        _, [cell], _ = json.loads(opened.evaluate(KEYS % "svg[aria-labelledby^=heat]"))
        assert cell.startswith("GPU 1, ")
        assert not opened.complaints
    finally:
        opened.close()


def test_what_is_touched_is_large_enough_on_a_phone(page: chromium.Page) -> None:
    """GIVEN a window of 360 pixels, THEN buttons and folded parts are high enough for a finger."""
    page.resize(360)
    heights = (
        "[...document.querySelectorAll('.copy-button, summary')].filter(e => e.checkVisibility())"
        ".map(e => e.getBoundingClientRect().height)"
    )
    found = page.evaluate(heights)
    assert found
    assert min(found) >= 40


def test_the_ledger_names_its_parts_within_their_bounds(tmp_path: Path) -> None:
    """GIVEN narrow and wide parts, THEN on a phone no label is wider than its part."""
    opened = chromium.Page(render(*report_fixtures.starving(), tmp_path / "run.html"))
    try:
        opened.resize(360)
        for label, part in json.loads(opened.evaluate(LABELS)):
            assert label <= part + 1
    finally:
        opened.close()


def test_a_plot_scrolls_within_itself_on_a_phone(page: chromium.Page) -> None:
    """GIVEN a window of 360 pixels, THEN text in plots is 10 pixels high or more."""
    page.resize(360)
    height = "getComputedStyle(document.querySelector('.plot .t-tick')).fontSize"
    scale = "document.querySelector('.plot').getScreenCTM().a"
    if page.evaluate("document.querySelectorAll('.plot .t-tick').length"):
        assert float(page.evaluate(height)[:-2]) * page.evaluate(scale) >= 10


def test_without_a_script_nothing_is_missing(tmp_path: Path) -> None:
    """GIVEN a browser that runs no script, THEN text, plots and folded parts are all there."""
    opened = chromium.Page(
        render(*report_fixtures.starving(), tmp_path / "run.html"), scripts=False
    )
    try:
        assert opened.evaluate("document.querySelectorAll('.copy-button').length") == 0
        assert opened.evaluate("document.querySelectorAll('.plot .t-line').length") > 5
        assert opened.evaluate("document.querySelectorAll('details > summary').length") > 3
    finally:
        opened.close()
