"""② Read CSV logs of nvidia-smi --query-gpu in all their forms, and home-made ones like them.

Lines are sorted (smicsv_lines), columns named (fields, or smicsv_guess without a header), cells
turned into figures (cells), and the readings put on one clock (identity, assemble).
"""

from __future__ import annotations

from gpudiag.errors import UnreadableError
from gpudiag.timeline import clock, trouble
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.cells import split
from gpudiag.timeline.fields import header
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.smicsv_collect import Collector
from gpudiag.timeline.smicsv_lines import rows
from gpudiag.timeline.smicsv_rows import Sorted
from gpudiag.timeline.smicsv_sorter import row_like

NAME = "nvidia-smi --query-gpu CSV"
_ENOUGH = 400


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
    return timeline(readings, log.path, NAME, found, interval_s)


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
