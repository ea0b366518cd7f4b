"""⑤ The four lines under the verdict: what a reader in a hurry takes along, whatever the verdict.

A run with a problem, a healthy one and one of which nothing can be told say equally loudly what is
known, why, what to do next, and how sure that is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gpudiag.diagnose.model import State
from gpudiag.language import tr
from gpudiag.report.view import Brief, CheckView, FindingView, LedgerView
from gpudiag.report.words import sentence

_FIRST = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")
_LONGEST = 160
_MOST_CAUSES = 3  # more of them are counted, not named
_UNKNOWN = "#unchecked-h"


def brief(
    state: State,
    ledger: LedgerView,
    findings: Sequence[FindingView],
    fine: Sequence[CheckView],
    unchecked: Sequence[CheckView],
    *,
    recorded: bool,
) -> tuple[Brief, ...]:
    """The lines; `recorded`: by gpudiag, with the CPU side and not from a log of the GPUs alone."""
    if state == "problem" and findings:
        return _problem(findings[0], ledger)
    done = _rules(len(fine) + len(findings))
    found = (
        tr("none found a problem")
        if not findings
        else tr("{count} found something", count=len(findings))
    )
    lines = [_time(ledger), Brief(tr("Checked"), done, found, "#fine-h")]
    if unchecked:
        lines.append(
            Brief(tr("Could not be checked"), _rules(len(unchecked)), _why(unchecked), _UNKNOWN)
        )
    else:
        lines.append(
            Brief(tr("Could not be checked"), tr("Nothing"), tr("every rule had its figures"))
        )
    if state == "cannot tell":
        lines.append(_next(recorded))
    return tuple(line for line in lines if line.figure)


def _problem(top: FindingView, ledger: LedgerView) -> tuple[Brief, ...]:
    link = "#finding-1"
    (_, cost, of_what), *_, (_, sure, because) = top.stakes
    holding = [cause for cause in top.causes if cause.verdict == "holds"]
    unknown = [cause.title for cause in top.causes if cause.verdict == "unknown"]
    if holding:
        more = tr("and {count} more", count=len(holding) - 1) if len(holding) > 1 else ""
        why = Brief(tr("Why"), holding[0].title, more, link)
    elif unknown:
        why = Brief(tr("Why"), tr("Not established"), _possible(unknown), link)
    else:
        why = Brief(tr("Why"), "", "", link)
    remedies = [remedy for cause in holding for remedy in cause.remedies]
    if remedies:
        change = Brief(tr("What to change"), _short(remedies[0].text), "", link)
    else:
        change = Brief(tr("What to do"), _short(top.confirm), "", link)
    if top.cost is None:
        time = [
            _time(ledger),
            Brief(tr("What it costs"), tr("{cost} {of_what}", cost=cost, of_what=of_what), ""),
        ]
    else:
        time = [Brief(tr("What was lost"), tr("{cost} {of_what}", cost=cost, of_what=of_what), "")]
    lines = (*time, why, change, Brief(tr("How sure"), sure, because))
    return tuple(line for line in lines if line.figure)


def _possible(causes: Sequence[str]) -> str:
    if len(causes) > _MOST_CAUSES:
        return tr("{count} possible causes could not be checked", count=len(causes))
    if len(causes) == 1:
        return tr("one possible cause could not be checked: {cause}", cause=causes[0])
    return tr("possible causes: {causes}", causes=tr("; ").join(causes))


def _time(ledger: LedgerView) -> Brief:
    if not ledger.rows:
        return Brief(tr("GPU time"), tr("Cannot be split") if ledger.reason else "", ledger.reason)
    busy = next((row for row in ledger.rows if row.kind == "busy"), None)
    if busy is None:
        return Brief(tr("GPU time"), tr("None"), tr("of it was seen busy"))
    return Brief(
        tr("GPU time"),
        tr("{share} busy", share=busy.percent),
        tr("{part} of {whole}", part=busy.time, whole=ledger.total),
    )


def _next(recorded: bool) -> Brief:
    if not recorded:
        return Brief(
            tr("What would tell"),
            tr("Record the next run"),
            tr("gpudiag record adds what is missing"),
            _UNKNOWN,
        )
    return Brief(
        tr("What would tell"),
        tr("A longer recording"),
        tr("or a profiler, where no rule knows more"),
    )


def _why(unchecked: Sequence[CheckView]) -> str:
    """The commonest reason."""
    counts = Counter(reason for check in unchecked for reason in check.missing)
    if not counts:
        return ""
    reason, _ = counts.most_common(1)[0]
    first = reason.split(tr("; "))[0][:_LONGEST]
    if len(counts) > 1:
        return tr("mostly because {reason}", reason=first)
    return tr("because {reason}", reason=first)


def _rules(count: int) -> str:
    return tr("1 rule") if count == 1 else tr("{count} rules", count=count)


def _short(text: str) -> str:
    """The first sentence; cut where it is long."""
    first = " ".join(sentence(_FIRST.split(text.strip(), maxsplit=1)[0]).split())
    return first if len(first) <= _LONGEST else first[:_LONGEST].rsplit(" ", 1)[0] + " …"
