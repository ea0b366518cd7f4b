"""⑤ A comparison for a terminal, in its width; plain when piped."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpudiag.language import tr
from gpudiag.report.comparison.view import ComparisonView, PageView

_STYLES = {"healthy": "bold green", "problem": "bold red", "cannot tell": "bold yellow"}
_PIPED_WIDTH = 100


def print_terminal(page: PageView, console: Console) -> None:
    """Print the page to `console`."""
    for one in page.comparisons:
        _comparison(page, one, console)
    console.print()
    for name, state, said in page.runs:
        console.print(Text.assemble((f"{name}: ", "bold"), f"{state}. {said}"))


def render_terminal(page: PageView, width: int = _PIPED_WIDTH) -> str:
    """The same as plain text, for a pipe or a file."""
    out = io.StringIO()
    print_terminal(page, Console(file=out, width=width, no_color=True, force_terminal=False))
    return "\n".join(line.rstrip() for line in out.getvalue().strip("\n").splitlines()) + "\n"


def _comparison(page: PageView, one: ComparisonView, console: Console) -> None:
    console.print()
    console.print(Text(f"{one.symbol} {one.words}", style=_STYLES[one.state]))
    console.print(Text(one.sentence, style="bold"))
    for note in one.notes:
        console.print(Padding(Text(note, style="dim"), (0, 0, 0, 2)))
    heads = (page.before, one.after, tr("change"))
    _table(console, tr("Figures"), heads, one.quantities)
    _table(console, tr("Where the GPU time went"), heads, one.parts)
    if one.changes:
        console.print()
        console.print(Text(tr("Findings"), style="bold"))
    for change in one.changes:
        words = f"{change.kind}, {change.costs}" if change.costs else change.kind
        console.print(Text(f"{change.mark} {change.title} [{change.code}]: {words}"))
        if change.reason:
            console.print(Padding(Text(change.reason, style="dim"), (0, 0, 0, 2)))


def _table(
    console: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    if not rows:
        return
    console.print()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(Text(title, style="bold"))
    for head in heads:
        table.add_column(Text(head), justify="right")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
