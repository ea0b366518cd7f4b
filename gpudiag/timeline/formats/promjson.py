"""② Read answers of Prometheus' HTTP interface (`query`, `query_range`) about GPU metrics."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from gpudiag.errors import UnreadableError
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.fields import FIGURES
from gpudiag.timeline.formats.gather import Cell, Gather
from gpudiag.timeline.formats.metrics import ENGINE_ACTIVE, METRICS, Gpus, is_mig, texts
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "Prometheus query answer (JSON)"
_HEAD = re.compile(r"\A\s*\{\s*\"status\"\s*:\s*\"(?:success|error)\"|\"resultType\"\s*:")


def recognise(head: str) -> float:
    """By the frame that Prometheus puts around every answer."""
    return 0.95 if head.lstrip()[:1] == "{" and _HEAD.search(head[:4000]) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    try:
        answer = json.loads(log.data)
        series = answer["data"]["result"]
        if not isinstance(series, list):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableError(
            f"{log.path}: a {NAME} that is damaged or holds no result",
            "save the answer of query_range as it came",
        ) from None
    found = Gather(log.notes)
    found.lines = sum(1 for _ in log.lines())
    _fill(found, series)
    if not len(found):
        raise UnreadableError(
            f"{log.path}: a {NAME} without a metric of a GPU that gpudiag knows",
            "ask for metrics by their own names (not sums or rates of them)",
        )
    readings = found.readings(found.lines, absolute=True)
    return timeline(readings, log.path, NAME, found, interval_s)


def _fill(found: Gather, series: list[Any]) -> None:
    gpus = Gpus()
    cells: dict[tuple[float, int], dict[str, Cell]] = {}
    facts: dict[int, dict[str, str]] = {}
    aside: Counter[str] = Counter()
    bad = 0
    names = {_labels(one).get("__name__") for one in series}
    for one in series:
        labels = _labels(one)
        name = labels.get("__name__", "")
        role, unit = METRICS.get(name, ("", ""))
        if name == ENGINE_ACTIVE and "DCGM_FI_DEV_GPU_UTIL" not in names:
            role, unit = "util_pct", "ratio"
        gpu = gpus.number(labels) if role and not is_mig(labels) else None
        if gpu is None:
            aside[name or "a series without a name"] += 1
            continue
        facts.setdefault(gpu, {}).update(texts(labels))
        for time, value in _values(one):
            if math.isfinite(time) and 0 < time < 1e11:
                cells.setdefault((time, gpu), {}).setdefault(role, (value, unit))
            else:
                bad += 1
    for (time, gpu), row in sorted(cells.items()):
        if row.keys() & {*FIGURES}:
            found.add(1, {**row, **facts[gpu], "index": str(gpu)}, time)
    if aside:
        found.note(f"Left aside: {', '.join(name[:60] for name in list(aside)[:8])}.")
    if bad:
        found.note(f"{bad:,} values without a sound time were left out.")
    if note := gpus.note():
        found.note(note)


def _labels(series: Any) -> dict[str, str]:
    metric = series.get("metric") if isinstance(series, dict) else None
    if not isinstance(metric, dict):
        return {}
    return {key: value[:200] for key, value in metric.items() if isinstance(value, str)}


def _values(series: Any) -> Iterator[tuple[float, str]]:
    """(seconds since 1970, text) of a matrix's or a vector's series."""
    pairs = series.get("values")
    pairs = pairs if isinstance(pairs, list) else [series.get("value")]
    for pair in pairs:
        try:
            time, value = pair
            yield float(time), str(value)[:40]
        except (TypeError, ValueError, OverflowError):
            yield math.nan, ""
