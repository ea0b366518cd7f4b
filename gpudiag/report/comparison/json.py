"""⑤ A comparison as JSON, for programs: schema version 1, described in docs/compare.md.

Within a version keys are only ever added. What is not known is null, never 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from gpudiag.compare.model import Comparison, Estimate
from gpudiag.report.clean import clean
from gpudiag.report.comparison.view import PageView

SCHEMA_VERSION = 1


def render_json(comparisons: Sequence[Comparison], page: PageView) -> str:
    """Indented JSON with sorted keys; the same bytes for the same input."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "made_by": page.made_by,
        "before": page.before,
        "runs": [{"name": name, "state": state, "sentence": s} for name, state, s in page.runs],
        "comparisons": [
            _one(one, view.after, view.sentence, view.notes)
            for one, view in zip(comparisons, page.comparisons, strict=True)
        ],
    }
    return (
        json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    )


def _one(one: Comparison, after: str, sentence: str, notes: Sequence[str]) -> dict[str, Any]:
    return {
        "after": after,
        "outcome": one.outcome,
        "basis": one.basis or None,
        "speed": _estimate(one.speed),
        "sentence": sentence,
        "notes": list(notes),
        "ledger": [
            {
                "name": clean(part.name, 60),
                "before_gpu_s": _finite(part.before_s),
                "after_gpu_s": _finite(part.after_s),
                "before_share": _finite(part.before_share),
                "after_share": _finite(part.after_share),
            }
            for part in one.parts
        ],
        "findings": [
            {
                "code": clean(change.code, 20),
                "name": clean(change.name, 100),
                "change": change.kind,
                "before_cost": _finite(change.before_cost),
                "after_cost": _finite(change.after_cost),
            }
            for change in one.changes
        ],
        "figures": [
            {
                "name": figure.name,
                "unit": figure.unit,
                "before": _finite(figure.before),
                "after": _finite(figure.after),
                "change": _estimate(figure.change),
            }
            for figure in one.quantities
        ],
    }


def _estimate(estimate: Estimate | None) -> dict[str, float | None] | None:
    if estimate is None:
        return None
    return {
        "value": _finite(estimate.value),
        "low": _finite(estimate.low),
        "high": _finite(estimate.high),
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
