"""⑤ A comparison as GitHub's Markdown: for pull requests and the summary of a CI job."""

from __future__ import annotations

from collections.abc import Sequence

from gpudiag.language import tr
from gpudiag.report.comparison.view import ComparisonView, PageView
from gpudiag.report.markdown import code, fence, text


def render_markdown(page: PageView) -> str:
    """The page as Markdown; the same bytes for the same view."""
    blocks = [f"<!-- {text(page.made_by)} -->"]
    for one in page.comparisons:
        blocks += _comparison(page, one)
    blocks.append(
        "\n".join(f"- {code(name)}: **{state}**. {text(said)}" for name, state, said in page.runs)
    )
    blocks += [
        f"<details><summary>{tr('How to repeat this')}</summary>",
        fence(page.command),
        "</details>",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _comparison(page: PageView, one: ComparisonView) -> list[str]:
    heads = (text(page.before), text(one.after), tr("change"))
    changes = [
        f"- {change.mark} {text(change.title)} {code(change.code)}: **{change.kind}**"
        + (f", {text(change.costs)}" if change.costs else "")
        + (f" ({text(change.reason)})" if change.reason else "")
        for change in one.changes
    ]
    return [
        f"## {one.symbol} {one.words}",
        text(one.sentence),
        "\n".join(f"- {text(note)}" for note in one.notes),
        _table(tr("Figures"), heads, one.quantities),
        _table(tr("Where the GPU time went"), heads, one.parts),
        f"### {tr('Findings')}" if changes else "",
        "\n".join(changes),
    ]


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [f"| {title} | {' | '.join(heads)} |", "|---|--:|--:|--:|"]
    lines += [f"| {' | '.join(map(text, row))} |" for row in rows]
    return "\n".join(lines)
