"""⑤ The report as GitHub's Markdown: for pull requests, issues and the summary of a CI job.

The same as the page without its plots; what a reader opens seldom is folded. Text from outside is
escaped so that it is neither markup nor a link, mentions nobody, and refers to no issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpudiag.language import tr
from gpudiag.report.view import Brief, CauseView, CheckView, FindingView, RemedyView, View
from gpudiag.report.words import state_words

_SPECIAL = re.compile(r"([\\`*_{}\[\]~|$])")
_LINE_START = re.compile(r"^(\s*)([#+\-=]|\d+(?=[.)](?:\s|$)))")
_MENTION = re.compile(r"(@|#|\bGH-)(?=\w)")
_LINK = re.compile(r"(?<=[A-Za-z])://|(?<=\bwww)\.", re.IGNORECASE)
_TICKS = re.compile(r"`+")
_BAR = 24


def render_markdown(view: View) -> str:
    """The report as Markdown; the same bytes for the same view."""
    blocks = [
        f"<!-- {text(view.made_by)} -->",
        f"## {view.symbol} {state_words(view.state)}: {text(view.headline)}",
        text(view.lead),
        _list(_line(line) for line in view.brief),
        code(view.command) if view.command else "",
        " · ".join(text(value) for _, value in view.facts),
    ]
    if view.limits:
        blocks += [f"**{tr('What this recording cannot tell')}**", _list(map(text, view.limits))]
    blocks += [f"### {tr('Where the GPU time went')}", _ledger(view)]
    for number, finding in enumerate(view.findings, 1):
        blocks += _finding(number, finding)
    if not view.findings:
        blocks += [f"### {tr('No finding')}"]
    fine = [f"✓ {text(check.text)} {code(check.code)}" for check in view.fine]
    unchecked = [
        f"? {text(tr('; ').join(missing) or checks[0].text)}: "
        + tr(", ").join(map(_unchecked, checks))
        for missing, checks in view.unknown
    ]
    blocks += _folded(
        tr("Checked, and fine: {count}", count=len(fine)), [_list(fine)] if fine else []
    )
    blocks += _folded(
        tr("Could not be checked: {count}", count=len(view.unchecked)), [_list(unchecked)]
    )
    repeat = [f"{text(name)}:\n\n{fence(command)}" for name, command in view.repeat]
    blocks += _folded(tr("How to repeat this"), repeat)
    blocks.append(
        "<sub>"
        + tr("Made by {tool} from {file}.", tool=text(view.made_by), file=code(view.file))
        + "</sub>"
    )
    return "\n\n".join(block for block in blocks if block) + "\n"


def _line(line: Brief) -> str:
    rest = tr(", {rest}", rest=text(line.rest)) if line.rest else ""
    return tr("{name}: {value}", name=line.heading, value=f"**{text(line.figure)}**") + rest


def _finding(number: int, finding: FindingView) -> list[str]:
    blocks = [
        f"### {number}. {text(finding.title)}",
        f"{tr(finding.severity)} · {finding.where} · {code(f'{finding.code} {finding.name}')}",
        text(finding.summary),
        _list(
            f"{name}: **{text(figure)}**{':' if name == tr('How sure') else ''} {text(rest)}"
            for name, figure, rest in finding.stakes
        ),
        f"**{tr('Evidence')}**" if finding.evidence else "",
        _list(map(text, finding.evidence)),
    ]
    for cause in finding.causes:
        if cause.verdict == "holds":
            blocks += [f"**{tr('Holds: {cause}', cause=text(cause.title))}**", text(cause.evidence)]
            blocks += _remedies(cause)
    rest = [_unknown(missing, causes) for missing, causes in finding.unknown]
    rest += [_ruled_out(cause) for cause in finding.causes if cause.verdict == "ruled out"]
    blocks += [_list(rest)]
    if finding.confirm:
        blocks.append(f"**{tr('How to confirm')}:** {_paragraph(finding.confirm)}")
    return blocks


def _ruled_out(cause: CauseView) -> str:
    return tr(
        "Ruled out: {cause}. {evidence}", cause=text(cause.title), evidence=text(cause.evidence)
    ).rstrip()


def _unchecked(check: CheckView) -> str:
    besides = tr("; ").join(check.missing)
    also = f" ({text(tr('also because {reasons}', reasons=besides))})" if besides else ""
    return f"{text(check.title)} {code(check.code)}{also}"


def _unknown(missing: Sequence[str], causes: Sequence[CauseView]) -> str:
    titles = tr(", ").join(text(cause.title) for cause in causes)
    if not missing:
        return tr("Could not be checked: {causes}", causes=titles)
    reasons = text(tr("; ").join(missing))
    return tr("Could not be checked, because {reasons}: {causes}", reasons=reasons, causes=titles)


def _remedies(cause: CauseView) -> list[str]:
    blocks = [block for remedy in cause.remedies for block in _remedy(remedy)]
    others = [block for remedy in cause.others for block in _remedy(remedy)]
    return blocks + _folded(tr("For other frameworks"), others)


def _remedy(remedy: RemedyView) -> list[str]:
    name = f"**{remedy.framework}:** " if remedy.framework != "any framework" else ""
    return [name + _paragraph(remedy.text), fence(remedy.code) if remedy.code else ""]


def _ledger(view: View) -> str:
    if not view.ledger.rows:
        if not view.ledger.reason:
            return tr("The GPU time of this run cannot be split.")
        reason = text(view.ledger.reason)
        return tr("The GPU time of this run cannot be split: {reason}.", reason=reason)
    rows = [
        f"| {text(row.title)} | {'█' * max(1, round(row.share * _BAR))} | {row.percent} "
        f"| {row.time} |"
        for row in view.ledger.rows
    ]
    return "\n".join(
        [f"| {tr('part')} | | {tr('share')} | {tr('GPU time')} |", "|---|---|--:|--:|", *rows]
    )


def text(words: str) -> str:
    """Words as plain inline text, whatever they hold."""
    kept = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    kept = _MENTION.sub("\\1\N{ZERO WIDTH SPACE}", _SPECIAL.sub(r"\\\1", kept))
    kept = _LINK.sub(lambda found: _entity(found[0][0]) + found[0][1:], kept)
    return _LINE_START.sub(lambda found: f"{found[1]}{_entity(found[2])}", kept)


def _entity(character: str) -> str:
    return "".join(f"&#{ord(c)};" for c in character)


def _paragraph(words: str) -> str:
    return " ".join(text(line.strip()) for line in words.splitlines())


def code(words: str) -> str:
    """Words as inline code, on one line and safe within a table."""
    ticks = "`" * (max(map(len, _TICKS.findall(words)), default=0) + 1)
    inner = " ".join(words.split())
    blank = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{ticks}{blank}{inner}{blank}{ticks}" if inner else ""


def fence(words: str) -> str:
    """Words as a block of code that nothing within them can end."""
    ticks = "`" * max(3, max(map(len, _TICKS.findall(words)), default=0) + 1)
    return f"{ticks}\n{words}\n{ticks}"


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _folded(title: str, blocks: list[str]) -> list[str]:
    """A part that opens on a click; nothing where there is nothing in it."""
    inside = [block for block in blocks if block]
    return [f"<details><summary>{title}</summary>", *inside, "</details>"] if inside else []
