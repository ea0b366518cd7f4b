"""⑤ The report for a terminal: verdict, ledger, findings with the first remedies, in its width.

rich decides on colour: none when piped, none with NO_COLOR. All text is passed as plain `Text`, so
that nothing from outside is read as markup.
"""

from __future__ import annotations

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from gpudiag.language import tr
from gpudiag.report.view import CauseView, FindingView, LedgerView, View
from gpudiag.report.words import state_words

_STATE = {"problem": "bold red", "healthy": "bold green", "cannot tell": "bold yellow"}
_FILLS = "█░▓▒▚▞▤▥▦▧"  # what is busy stands out, what is lost is open
_PIPED_WIDTH = 100


def print_terminal(view: View, console: Console) -> None:
    """Print the report to `console`."""
    say = _Printer(console)
    say(f"{view.symbol} {state_words(view.state)}", style=_STATE[view.state])
    say(view.sentence, style="bold")
    if view.state != "problem":
        for line in view.brief:
            say(
                tr("{name}: {value}, {rest}", name=line.heading, value=line.figure, rest=line.rest)
                if line.rest
                else tr("{name}: {value}", name=line.heading, value=line.figure),
                indent=2,
            )
    if view.command:
        say(view.command, style="dim")
    say(" · ".join(text for name, text in view.facts if name != "Exit"), style="dim")
    for limit in view.limits:
        say(f"? {limit}", indent=2)
    _ledger(view.ledger, say, console.width)
    for number, finding in enumerate(view.findings, 1):
        _finding(number, finding, say)
    if view.fine or view.unchecked:
        say()
    for check in view.fine:
        say(f"✓ {check.text}", style="green")
    for missing, checks in view.unknown:
        say(
            tr("? Not checked: {reasons}", reasons=tr("; ").join(missing) or checks[0].text),
            style="yellow",
        )
        for check in checks:  # what else each lacks stands in the page and in Markdown
            say(f"{check.title} [{check.code}]", style="yellow", indent=4)


def render_terminal(view: View, width: int = _PIPED_WIDTH) -> str:
    """The same as plain text, for a pipe or a file."""
    out = io.StringIO()
    print_terminal(view, Console(file=out, width=width, no_color=True, force_terminal=False))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


class _Printer:
    """Prints wrapped plain text with an indent; a bare call is an empty line."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def __call__(self, text: str = "", style: str = "", indent: int = 0) -> None:
        self.console.print(Padding(Text(text, style=style), (0, 0, 0, indent)), soft_wrap=False)


def _ledger(ledger: LedgerView, say: _Printer, width: int) -> None:
    say()
    if not ledger.rows:
        if ledger.reason:
            say(tr("The GPU time cannot be split: {reason}.", reason=ledger.reason))
        return
    cells = max(20, min(width, 100) - 2)
    edges = [round(row.start * cells) for row in ledger.rows] + [cells]
    fills = [_FILLS[place % len(_FILLS)] for place in range(len(ledger.rows))]
    say("".join(f * (b - a) for f, a, b in zip(fills, edges, edges[1:], strict=False)))
    for fill, row in zip(fills, ledger.rows, strict=True):
        say(f"{fill} {row.percent:>7}  {row.title} ({row.time})")


def _finding(number: int, finding: FindingView, say: _Printer) -> None:
    say()
    say(f"{number}. {finding.title} [{finding.code}]", style="bold")
    say(finding.summary, indent=3)
    sure = tr("not sure yet") if finding.confidence == "watch" else tr(finding.confidence)
    words = tr(
        "{severity}, {sure}, {where}",
        severity=tr(finding.severity),
        sure=sure,
        where=finding.where,
    )
    say(words, style="dim", indent=3)
    cost = tr("; ").join(filter(None, (finding.cost_words, finding.bound_words)))
    say(tr("Cost: {cost}", cost=cost), indent=3)
    for cause in finding.causes:
        if cause.verdict == "holds":
            _cause(cause, say)
    for missing, causes in finding.unknown:
        said = (
            tr("? could not be checked, because {reasons}:", reasons=tr("; ").join(missing))
            if missing
            else tr("? could not be checked:")
        )
        say(said, indent=3)
        for cause in causes:
            say(cause.title, indent=5)
    for cause in finding.causes:
        if cause.verdict == "ruled out":
            say(tr("– ruled out: {cause}", cause=cause.title), style="dim", indent=3)


def _cause(cause: CauseView, say: _Printer) -> None:
    say(f"● {cause.title}", style="bold", indent=3)
    if cause.evidence:
        say(cause.evidence, indent=5)
    for remedy in cause.remedies[:2]:
        say(f"→ {remedy.text}", style="cyan", indent=5)
        if remedy.code:
            say(remedy.code, indent=7)
