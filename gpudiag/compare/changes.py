"""④ What became of the parts of the time ledger, and of each finding."""

from __future__ import annotations

from gpudiag.compare.model import Change, Kind, PartPair
from gpudiag.diagnose.model import Check, Diagnosis, Finding, Ledger
from gpudiag.language import retold, tr

# a cost that moved by less is called the same: two recordings of one run differ by a few points
SAME_POINTS = 0.05


def parts(before: Ledger, after: Ledger) -> tuple[PartPair, ...]:
    """The parts of either ledger that hold any time, in the order of the ledger."""
    first = {part.name: part for part in before.parts}
    second = {part.name: part for part in after.parts}
    found = []
    for name in {**first, **second}:
        one, two = first.get(name), second.get(name)
        if (one and one.share > 0) or (two and two.share > 0):
            known = one or two
            assert known is not None
            found.append(
                PartPair(
                    name,
                    known.title,
                    None if not first else one.gpu_s if one else 0.0,
                    None if not second else two.gpu_s if two else 0.0,
                    None if not first else one.share if one else 0.0,
                    None if not second else two.share if two else 0.0,
                )
            )
    return tuple(found)


def changes(before: Diagnosis, after: Diagnosis) -> tuple[Change, ...]:
    """One for each rule that fired in either run, the dearest first."""
    first = {finding.rule.code: finding for finding in before.findings}
    second = {finding.rule.code: finding for finding in after.findings}
    found = [
        _change(first.get(code), second.get(code), _check(before, code), _check(after, code))
        for code in {**first, **second}
    ]
    return tuple(
        sorted(found, key=lambda c: (-max(c.before_cost or 0.0, c.after_cost or 0.0), c.code))
    )


def _check(diagnosis: Diagnosis, code: str) -> Check | None:
    return next((check for check in diagnosis.checks if check.rule.code == code), None)


def _change(
    before: Finding | None, after: Finding | None, first: Check | None, second: Check | None
) -> Change:
    finding = after or before
    assert finding is not None
    kind, reason = _kind(before, after, first, second)
    return Change(
        finding.rule.code,
        finding.rule.name,
        finding.rule.title,
        kind,
        before.cost if before else None,
        after.cost if after else None,
        finding.summary,
        reason,
    )


def _kind(
    before: Finding | None, after: Finding | None, first: Check | None, second: Check | None
) -> tuple[Kind, str]:
    if before and after:
        if before.cost is None or after.cost is None:
            return "same", ""
        moved = after.cost - before.cost
        return "same" if abs(moved) < SAME_POINTS else "more" if moved > 0 else "less", ""
    other = second if before else first
    if other is None:  # another set of rules
        return "unchecked", tr("the rule was not among those that were used")
    if other.outcome == "unchecked":
        return "unchecked", tr("; ").join(map(retold, other.missing))
    if other.outcome == "superseded":
        return "covered", ""
    return ("gone" if before else "new"), ""
