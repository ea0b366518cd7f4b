"""The report as GitHub's Markdown: whole, and harmless whatever the recording holds."""

from __future__ import annotations

import re

import pytest
import report_fixtures as fixtures
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gpudiag.report import render_text
from gpudiag.report.markdown import code, fence, text

BLOCK = re.compile(r"^(`{3,})\n.*?^\1$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def outside_code(markdown: str) -> str:
    return SPAN.sub("", BLOCK.sub("", markdown))


def test_it_says_what_the_page_says() -> None:
    """GIVEN a report, THEN verdict, ledger, finding, remedy, checks and how to repeat it."""
    markdown = render_text(*fixtures.starving(), "markdown")
    for said in (
        "## ! Problem: The GPUs were idle 64 % of the time", "| Waiting for input | ████",
        "### 1. The GPUs wait for input data", "**Holds: The workers are at their limit",
        "\n```\nloader = DataLoader(", "<details><summary>For other frameworks</summary>",
        "- Could not be checked, because the control group", "4.1 of the 8 cores",
        "gpudiag record -o run.csv -- python train.py",
    ):  # fmt: skip
        assert said in markdown
    assert markdown.count("<details>") == markdown.count("</details>") == 4


@pytest.mark.parametrize("name", ["hostile", "starving", "foreign_log", "healthy"])
def test_no_markup_from_outside_is_left(name: str) -> None:
    """GIVEN tags, escapes and bidi characters, THEN only the tool's own four tags are markup."""
    markdown = render_text(*fixtures.PAGES[name](), "markdown")
    tags = set(re.findall(r"<[^>]*>", outside_code(markdown).split("-->", 1)[1]))
    assert tags <= {"<details>", "</details>", "<sub>", "</sub>", "<summary>", "</summary>"}
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", markdown
    )
    assert len(markdown) < 200_000


@pytest.mark.parametrize("name", ["hostile", "starving", "foreign_log", "healthy"])
def test_a_renderer_finds_neither_links_nor_images_nor_broken_tables(name: str) -> None:
    """GIVEN a report, WHEN rendered with tables and HTML, THEN all markup is the tool's own."""
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = renderer.parse(render_text(*fixtures.PAGES[name](), "markdown"))
    inner = [token for block in tokens for token in block.children or ()]
    kinds = {token.type for token in [*tokens, *inner]}
    assert not kinds & {"link_open", "image", "s_open", "hr"}
    foreign = re.sub(
        r"</?(?:details|summary|sub)>|<!--.*?-->", "",
        "\n".join(t.content for t in [*tokens, *inner] if t.type in ("html_block", "html_inline")),
    )  # fmt: skip
    assert "<" not in foreign
    cells = sum(token.type in ("td_open", "th_open") for token in tokens)
    rows = sum(token.type == "tr_open" for token in tokens)
    assert cells == 4 * rows
    assert (rows > 1) is bool(fixtures.PAGES[name]()[0].ledger.parts)


def test_words_are_neither_links_nor_mentions_nor_headings() -> None:
    """GIVEN what GitHub would make something of, THEN it is text."""
    assert text("@mara see #12 and GH-3") == "@\u200bmara see #\u200b12 and GH-\u200b3"
    assert text("https://x.org www.x.org") == "https&#58;//x.org www&#46;x.org"
    assert text("# a") == "&#35; a"
    assert text("- a") == "&#45; a"
    assert text("1. a") == "&#49;. a"
    assert text("4.1 cores, -5 to +5") == "4.1 cores, -5 to +5"
    assert text("*a* [b](c) <i> a|b $x$") == r"\*a\* \[b\](c) &lt;i&gt; a\|b \$x\$"


@given(st.text(alphabet="`~ab\n ", max_size=30))
def test_code_cannot_be_left(words: str) -> None:
    """GIVEN any backticks, THEN a block ends where it should, and inline code stays inline."""
    block = fence(words)
    ticks = block.split("\n", 1)[0]
    assert not [line for line in words.split("\n") if line.strip().startswith(ticks)]
    inline = code(words)
    if inline:
        marks = re.match("`+", inline)
        assert marks
        runs = re.findall("`+", inline[len(marks[0]) : -len(marks[0])])
        assert marks[0] not in runs
