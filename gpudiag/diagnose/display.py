"""④ How findings show themselves in a notebook and on a prompt, without the timeline.

The page with its plots needs the timeline and is the report's business (⑤); this is what an
object says of itself. Colours are the viewer's own, so that it is legible on light and dark.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gpudiag.language import tr

if TYPE_CHECKING:
    from gpudiag.diagnose.model import Diagnosis, Finding, LedgerPart

_SYMBOLS = {"problem": "!", "healthy": "✓", "cannot tell": "?"}
_MOST = 20


def plain(diagnosis: Diagnosis) -> str:
    """The verdict and a line a finding, as text."""
    lines = [f"{_SYMBOLS[diagnosis.state]} {_visible(_state(diagnosis))}"]
    lines += [f"  {_visible(_line(finding))}" for finding in diagnosis.findings[:_MOST]]
    return "\n".join(lines)


def headline(diagnosis: Diagnosis) -> str:
    """The verdict as a paragraph of HTML."""
    return f"<p><strong>{_SYMBOLS[diagnosis.state]} {_safe(_state(diagnosis))}</strong></p>"


def html(diagnosis: Diagnosis) -> str:
    """The verdict, where the GPU time went, and the findings, as HTML."""
    parts = [f"<li>{_safe(p.title)}: {100 * p.share:.0f} %</li>" for p in _shown(diagnosis)]
    ledger = f"<p>{_safe(tr('Where the GPU time went'))}</p><ul>{''.join(parts)}</ul>"
    found = "".join(f"<li>{finding_html(finding)}</li>" for finding in diagnosis.findings)
    limits = "".join(f"<p>? {_safe(limit)}</p>" for limit in diagnosis.limits)
    return (
        headline(diagnosis)
        + (ledger if parts else "")
        + (f"<ol>{found}</ol>" if found else "")
        + limits
    )


def finding_html(finding: Finding) -> str:
    """A finding: title, summary, causes that hold with their first remedy, as HTML."""
    causes = []
    for found in finding.causes:
        if found.verdict != "holds":
            continue
        first = found.cause.remedies[0]
        code = f"<pre>{_safe(first.code.strip())}</pre>" if first.code else ""
        causes.append(
            f"<li>{_safe(found.cause.title)}. {_safe(found.evidence)}"
            f"<br>→ {_safe(first.text.strip())}{code}</li>"
        )
    rest = f"<ul>{''.join(causes)}</ul>" if causes else ""
    return (
        f"<strong>{_safe(finding.rule.title)}</strong> [{_safe(finding.rule.code)}], "
        f"{_safe(_weight(finding))}<br>{_safe(finding.summary)}{rest}"
    )


def finding_plain(finding: Finding) -> str:
    """A finding on one line."""
    return _visible(_line(finding))


def _shown(diagnosis: Diagnosis) -> list[LedgerPart]:
    return [part for part in diagnosis.ledger.parts if part.share >= 0.005]


def _state(diagnosis: Diagnosis) -> str:
    state = {
        "problem": tr("Problem"),
        "healthy": tr("Healthy"),
        "cannot tell": tr("Cannot tell"),
    }[diagnosis.state]
    sentence = diagnosis.sentence.removeprefix("Cannot tell: ")
    return f"{state}: {sentence[:1].upper()}{sentence[1:]}"


def _line(finding: Finding) -> str:
    return f"[{finding.rule.code}] {finding.rule.title} ({_weight(finding)}): {finding.summary}"


def _weight(finding: Finding) -> str:
    severity = tr(finding.severity)
    if finding.cost is None:
        return severity
    return tr(
        "{severity}, {cost} of the GPU time", severity=severity, cost=f"{100 * finding.cost:.0f} %"
    )


def _visible(text: str) -> str:
    """Control characters of a log must not reach a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _safe(text: str) -> str:
    return escape("".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text))
