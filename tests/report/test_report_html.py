"""The page as text: every section there, everything from outside harmless, the same bytes twice."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import report_fixtures as fixtures
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiag.report import FORMATS, Format, html, render_text
from gpudiag.report.build import build

SECTIONS = (
    "Where the GPU time went", "2 findings, the costliest first", "The whole run", "Memory",
    "Power, clocks and temperature", "Checked, and fine", "Could not be checked", "Environment",
    "Quality of the recording", "How to repeat this",
)  # fmt: skip
RECORDED = Path(__file__).resolve().parents[1] / "fixtures" / "runs" / "demo-imbalance.csv"
VOID = {"meta", "link", "br"}


class Outline(HTMLParser):
    """What a page is made of: tags, attributes, ids, headings, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.headings: list[str] = []
        self.texts: list[str] = []
        self.unclosed: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.unclosed.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.unclosed.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.unclosed and self.unclosed[-1] in ("script", "style"):
            return
        self.texts.append(data)
        if self.unclosed and self.unclosed[-1] == "h2":
            self.headings.append(data)

    def values(self, name: str) -> list[str]:
        return [value or "" for _, attribute, value in self.attributes if attribute == name]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).replace("\xa0", " ").split())


@pytest.mark.parametrize("name", ["starving", "healthy", "foreign_log", "creeping", "hostile"])
def test_a_page_is_well_formed_and_names_each_thing_once(name: str) -> None:
    """GIVEN any report, THEN every tag is closed, ids are unique, and references lead somewhere."""
    outline = Outline(render_text(*fixtures.PAGES[name]()))
    ids = outline.values("id")
    assert outline.unclosed == []
    assert len(ids) == len(set(ids))
    named = [word for value in outline.values("aria-labelledby") for word in value.split()]
    assert set(named) <= set(ids)
    assert {link[1:] for link in outline.values("href") if link.startswith("#")} <= set(ids)


def test_every_section_is_there_in_its_order() -> None:
    """GIVEN a full recording, THEN the page says all that it has to, in the order of the design."""
    outline = Outline(render_text(*fixtures.starving()))
    assert tuple(outline.headings) == SECTIONS
    for said in (
        "The GPUs were idle 64 % of the time", "python train.py --config configs/resnet50.yaml",
        "2 × NVIDIA A100-SXM4-80GB", "node17", "3 Jul 2026, 14:02:07 +02:00",
        "At most 2.8× as fast if all of it went away", "38.4 GPU-minutes", "Confirmed",
        "num_workers=6", "Holds: The workers are at their limit",
        "Ruled out: The workers wait for storage", "Could not be checked: The CPU quota",
        "the control group of the run was not readable", "145 episodes are shaded",
        "GPU memory is level", "Repeat one batch", "gpudiag report run.csv", "550.54.15",
    ):  # fmt: skip
        assert said in outline.text


def test_remedies_for_the_framework_in_use_come_first_and_others_are_folded() -> None:
    """GIVEN a PyTorch run, THEN its remedy stands before the fold, Paddle's inside it."""
    page = render_text(*fixtures.starving())
    mine = page.index("loader = DataLoader(")
    fold = page.index("For other frameworks", mine)
    assert page.index("Decode once", mine) < fold < page.index("paddle.io.DataLoader", mine)


def test_a_log_without_times_counts_samples_and_says_its_limits() -> None:
    """GIVEN a log without times or CPU side, THEN nothing is invented, and limits come first."""
    outline = Outline(render_text(*fixtures.foreign_log()))
    assert "What this recording cannot tell" in outline.headings[0]
    assert "No CPU side was recorded: the cause cannot be told." in outline.text
    assert "cannot be split: the log has no timestamps" in outline.text
    assert "Duration not known" in outline.text
    assert "Why: not established" in outline.text
    assert outline.text.count("Because no CPU side was recorded.") == 1  # said once for all causes
    assert "lines 17, 20, 23, 26, 29, 32, 35, 38 and 4 more" in outline.text
    assert not re.search(r"\d (s|min|h) in total", outline.text)


def test_nothing_from_outside_becomes_markup() -> None:
    """GIVEN tags, quotes, escapes and bidi characters everywhere, THEN all is shown as text."""
    page = render_text(*fixtures.hostile())
    outline = Outline(page)
    assert outline.tags.count("script") == 1
    assert outline.tags.count("style") == 1
    assert not {"img", "iframe", "object", "form", "base"} & set(outline.tags)
    assert not [name for _, name, _ in outline.attributes if name.startswith("on")]
    assert not [name for _, name, _ in outline.attributes if name == "style"]
    assert "<script>alert(1)</script>" in outline.text
    assert "{{ 7*7 }} $x^2$ &amp;" in outline.text
    assert "\\x1b[31mred" in outline.text
    assert "\\u202egnp.exe\\u202c" in outline.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page)


def test_a_text_of_a_hundred_kilobytes_is_cut() -> None:
    """GIVEN texts of 100 kB in a dozen places, THEN the page stays small and says what it cut."""
    page = render_text(*fixtures.hostile())
    assert len(page) < 200_000
    assert "more characters)" in page


def test_the_policy_forbids_everything_but_this_page() -> None:
    """GIVEN a page, THEN its policy starts from nothing and allows no inline style or script."""
    outline = Outline(render_text(*fixtures.healthy()))
    [policy] = [value for value in outline.values("content") if "default-src" in value]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_input_gives_the_same_bytes(form: Format) -> None:
    """GIVEN one recording, WHEN reported twice, THEN not a byte differs."""
    for make in (fixtures.starving, fixtures.many_gpus):
        assert render_text(*make(), form) == render_text(*make(), form)


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    """GIVEN processes that order sets differently and tell another time, THEN one page."""
    pages = []
    for seed, zone in (("1", "Asia/Tokyo"), ("2", "America/Lima")):
        page = tmp_path / f"{seed}.html"
        subprocess.run(
            [sys.executable, "-m", "gpudiag", "report", RECORDED.name, "-o", page],
            cwd=RECORDED.parent, check=True, capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
        )  # fmt: skip
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]
    assert pages[0].count(b"<svg") > 3


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=4,
)
START = ("time", "command", "cwd", "interval_s", "host", "env", "rank")
HOST = ("hostname", "cpus", "effective_cores", "mem_total_mib", "cgroup")
END = ("t_s", "exit_code", "signal", "gpu_rows_lost", "recorder_cpu_s", "recorder_max_rss_mib")
GPU = ("name", "mem_total_mib", "power_limit_w", "pcie_gen_max", "pcie_lanes_max", "driver")


def some(keys: tuple[str, ...]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(keys, ANYTHING))


@settings(max_examples=60, deadline=None)
@given(some(START), some(HOST) | ANYTHING, some(END) | st.none(), some(GPU))
def test_whatever_the_facts_hold_there_is_a_report(
    start: dict[str, object], host: object, end: dict[str, object] | None, gpu: dict[str, object]
) -> None:
    """GIVEN any JSON in the facts of a recording, THEN a report is made, in every format."""
    diagnosis, timeline = fixtures.healthy()
    facts = {"host": host, **start, "gpus": [{**gpu, "index": 0}]}
    odd = dataclasses.replace(timeline, start=facts, end=end)
    for form in ("json", "text"):
        assert render_text(diagnosis, odd, form)
    assert html.render_html(build(diagnosis, odd, figures=False))


@pytest.mark.parametrize(("hours", "most"), [(1.0, 500_000), (24.0, 1_000_000)])
def test_eight_gpus_fit_in_a_mail(hours: float, most: int) -> None:
    """GIVEN noise on eight GPUs, which no path shortens, THEN the page stays small."""
    diagnosis, timeline = fixtures.whole_day(8, hours)
    assert len(render_text(diagnosis, timeline).encode()) <= most


def test_nothing_is_escaped_twice() -> None:
    """GIVEN a reason with a placeholder in angle brackets THEN the page shows it as it is typed."""
    diagnosis, timeline = fixtures.starving()
    reason = "py-spy top --pid <pid> shows it"
    checks = tuple(
        dataclasses.replace(check, missing=(reason,)) if check.outcome == "unchecked" else check
        for check in diagnosis.checks
    )
    page = render_text(dataclasses.replace(diagnosis, checks=checks), timeline, "html")
    assert "&lt;pid&gt; shows it" in page
    assert "&amp;lt;" not in page
