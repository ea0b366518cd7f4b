"""② Read CSV logs of nvidia-smi --query-gpu in all their forms, and home-made ones like them.

Lines are sorted (smicsv_lines), columns named (fields, or smicsv_guess without a header), cells
turned into figures (cells), and the readings put on one clock (identity, assemble).
"""

from __future__ import annotations

import re

import numpy as np

from gpudiag.errors import UnreadableError
from gpudiag.timeline import clock, trouble
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.cells import split
from gpudiag.timeline.fields import header
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.readings import Readings
from gpudiag.timeline.smicsv_collect import Collector
from gpudiag.timeline.smicsv_lines import rows
from gpudiag.timeline.smicsv_rows import Sorted
from gpudiag.timeline.smicsv_sorter import row_like

NAME = "nvidia-smi --query-gpu CSV"
_ENOUGH = 400
_FIELD_OF = {
    "util_pct": "utilization.gpu",
    "mem_util_pct": "utilization.memory",
    "temp_c": "temperature.gpu",
}
_IMPOSSIBLE = re.compile(r"[-+.\d]+ is outside ")  # without a unit
_MOST_WRONG = 0.9


def recognise(head: str) -> float:
    """By a header with names of nvidia-smi's fields, or by rows that only nvidia-smi writes."""
    if head.startswith("# gpudiag run"):
        return 0.0
    lines = [line.strip() for line in head.splitlines()[:2000]]
    lines = [line for line in lines if line and line[0] not in "|+"]
    seen = rows_seen = 0
    for line in lines:
        cells = split(line)
        if header(cells):
            return 0.9
        if seen >= _ENOUGH:
            break
        seen += 1
        dated = clock.stamp(line)
        cells = split(dated[1]) if dated else cells
        # A bare figure on a line of its own may be anything.
        rows_seen += row_like(cells) and not (len(cells) == 1 and cells[0].isalnum())
    if rows_seen:
        return 0.1 + 0.5 * rows_seen / seen
    return 0.05 if any(trouble.find(line) for line in lines[:50]) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is not one.

    `interval_s`: seconds between samples, for a log without timestamps.
    """
    found = Sorted()
    collector = Collector(log.notes)
    for piece in rows(log, found):
        collector.add(piece)
    collector.finish_last_line(log)
    if not collector.lines:
        raise _nothing(log, found, collector)
    readings = collector.readings(found)
    _refuse_a_wrong_header(readings, log.path)
    return timeline(readings, log.path, NAME, found, interval_s)


def _refuse_a_wrong_header(readings: Readings, path: str) -> None:
    """Raise UnreadableError where the header says one order and bare figures show another.

    Cells without units tell the difference only by figures that cannot be: then no column can be
    trusted, also those whose figures are possible.
    """
    for role in _FIELD_OF:
        numbers = readings.reasons.get(role)
        if numbers is None or not len(numbers):
            continue
        texts = readings.reason_texts
        wrong = [at for at, text in enumerate(texts) if _IMPOSSIBLE.match(text)]
        outside = np.isin(numbers, wrong)
        if outside.mean() >= _MOST_WRONG:
            name, example = _FIELD_OF[role], texts[int(numbers[outside][0])]
            raise UnreadableError(
                f"{path}: the header does not fit the rows: {name}: {example}",
                "were the fields logged in another order? Correct the header",
            )


def _nothing(log: Log, found: Sorted, collector: Collector) -> UnreadableError:
    if found.troubles:
        _, text, told = found.troubles[0]
        return UnreadableError(
            f"{log.path}: holds no reading, only: {text[:100]} ({told.meaning})", told.hint
        )
    if collector.unnamed:
        count, width = collector.unnamed
        return UnreadableError(
            f"{log.path}: {count} rows without a header, and what their {width} columns are "
            "cannot be told",
            "log with --format=csv (not noheader)",
        )
    why = f" ({found.dropped[0].reason})" if found.dropped else ""
    return UnreadableError(
        f"{log.path}: holds no reading{why}", "was the logger stopped before its first sample?"
    )
