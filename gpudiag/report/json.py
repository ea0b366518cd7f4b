"""⑤ The report as JSON, for programs: schema version 1, described in docs/report.md.

Within a version keys are only ever added. What is not known is null, never 0.
"""

from __future__ import annotations

import json
import math
from typing import Any

from gpudiag.report.view import CheckView, FindingView, RemedyView, View

SCHEMA_VERSION = 1


def render_json(view: View) -> str:
    """The report as indented JSON with sorted keys; the same bytes for the same view."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "made_by": view.made_by,
        "file": view.file,
        "state": view.state,
        "sentence": view.sentence,
        "command": view.command or None,
        "framework": view.framework,
        "run": {name.lower(): text for name, text in view.facts},
        "figures": {name: _finite(value) for name, value in view.figures},
        "ledger": {
            "parts": [
                {
                    "name": r.name,
                    "title": r.title,
                    "share": _finite(r.share),
                    "gpu_s": _finite(r.gpu_s),
                }
                for r in view.ledger.rows
            ],
            "reason": view.ledger.reason or None,
        },
        "findings": [_finding(finding) for finding in view.findings],
        "fine": [_check(check) for check in view.fine],
        "superseded": [_check(check) for check in view.superseded],
        "unchecked": [_check(check) for check in view.unchecked],
        "limits": list(view.limits),
        "recording": {
            "facts": dict(view.quality.facts),
            "notes": list(view.quality.notes),
        },
    }
    return (
        json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    )


def _finding(finding: FindingView) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "title": finding.title,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "gpus": list(finding.gpus),
        "node": finding.node or None,
        "summary": finding.summary,
        "cost": _finite(finding.cost),
        "bound": _finite(finding.bound),
        "episodes": [[_finite(start), _finite(end)] for start, end in finding.episodes],
        "evidence": list(finding.evidence),
        "causes": [
            {
                "name": cause.name,
                "title": cause.title,
                "verdict": cause.verdict,
                "evidence": cause.evidence,
                "missing": list(cause.missing),
                "remedies": [_remedy(remedy) for remedy in (*cause.remedies, *cause.others)],
            }
            for cause in finding.causes
        ],
        "confirm": finding.confirm,
    }


def _remedy(remedy: RemedyView) -> dict[str, str]:
    return {"framework": remedy.framework, "text": remedy.text, "code": remedy.code}


def _check(check: CheckView) -> dict[str, Any]:
    return {
        "code": check.code,
        "title": check.title,
        "text": check.text,
        "missing": list(check.missing),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
