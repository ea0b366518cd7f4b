"""⑤ A comparison as a page, on the terminal, as Markdown or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudiag.compare.model import Comparison
    from gpudiag.report import Format


def render_comparison(comparisons: Sequence[Comparison], form: Format = "html") -> str:
    """The comparisons of one run with one or more others, as text in one of FORMATS.

    Raises ValueError if there is none.
    """
    from gpudiag.report.comparison.view import build

    if not comparisons:
        raise ValueError("nothing is compared")
    page = build(comparisons, figures=form == "html")
    if form == "html":
        from gpudiag.report.html import render_page

        return render_page("compare.html.j2", page=page)
    if form == "json":
        from gpudiag.report.comparison.json import render_json

        return render_json(comparisons, page)
    if form == "markdown":
        from gpudiag.report.comparison.markdown import render_markdown

        return render_markdown(page)
    from gpudiag.report.comparison.text import render_terminal

    return render_terminal(page)
