"""What reports said when they were last looked at: of recordings their decisions, not their prose.

`python tests/report/report_golden.py` writes tests/fixtures/golden/ anew. Look at the difference
before it is committed: every line of it is a run that gpudiag now judges otherwise.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import report_fixtures

import gpudiag
from gpudiag.report import Format, render_text

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
GOLDEN = FIXTURES / "golden"
RECORDED = (
    "runs/demo-starvation.csv", "runs/demo-gpu-never-used.csv", "runs/demo-imbalance.csv",
    "tutorial/gpu_log_4gpu.csv", "logs/tables-two-gpus.log", "logs/gpustat.jsonl",
)  # fmt: skip
WHOLE: dict[str, Format] = {
    "starving.txt": "text", "starving.json": "json", "starving.md": "markdown",
    "foreign_log.txt": "text", "healthy.txt": "text",
}  # fmt: skip


def decisions(name: str) -> str:
    """The JSON report on a recorded fixture, without wording and without what a new rule adds."""
    timeline = gpudiag.read(FIXTURES / name)
    document = json.loads(render_text(gpudiag.diagnose(timeline), timeline, "json"))
    kept = {
        "state": document["state"],
        "framework": document["framework"],
        "ledger": {p["name"]: round(p["share"], 3) for p in document["ledger"]["parts"]},
        "findings": [_finding(finding) for finding in document["findings"]],
        "superseded": sorted(check["code"] for check in document["superseded"]),
        "readings": document["recording"]["facts"]["Readings"],
    }
    return json.dumps(kept, indent=2, sort_keys=True) + "\n"


def _finding(finding: dict[str, Any]) -> dict[str, Any]:
    rounded = {k: None if finding[k] is None else round(finding[k], 3) for k in ("cost", "bound")}
    return {
        **{key: finding[key] for key in ("code", "name", "severity", "confidence", "gpus")},
        **rounded,
        "episodes": len(finding["episodes"]),
        "causes": {cause["name"]: cause["verdict"] for cause in finding["causes"]},
    }


def whole(name: str) -> str:
    """A whole report on a diagnosis made by hand, which no rule can change."""
    return render_text(*report_fixtures.PAGES[name.split(".")[0]](), WHOLE[name])


def golden_file(name: str) -> Path:
    """Where the decisions on a recorded fixture are kept."""
    return GOLDEN / f"{Path(name).name}.json"


if __name__ == "__main__":
    for fixture in RECORDED:
        golden_file(fixture).write_text(decisions(fixture), encoding="utf-8")
    for fixture in WHOLE:
        (GOLDEN / fixture).write_text(whole(fixture), encoding="utf-8")
