"""⑤ The utilisation of many GPUs at a glance: one row a GPU, time from left to right.

Six levels of one hue that grow darker (brighter on a dark page): they stay in order without colour
vision and in a grey print. What was not measured stays blank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpudiag.gpu_names import gpu_name
from gpudiag.language import tr
from gpudiag.report.labels import number
from gpudiag.report.plots.axis import count_ticks, time_ticks
from gpudiag.report.plots.envelope import Array
from gpudiag.report.plots.sheet import Sheet
from gpudiag.timeline.model import Timeline

CELLS = 194  # four pixels each
ROW, GAP, TOP, BOTTOM = 18, 3, 26, 30
LEVELS = (
    ("a", 5.0, "below 5 %"),
    ("b", 25.0, "5 to 25"),
    ("c", 50.0, "25 to 50"),
    ("d", 75.0, "50 to 75"),
    ("e", 95.0, "75 to 95"),
    ("f", float("inf"), "95 to 100 %"),
)
_WIDEST = 8  # characters beside a row
_KEY = 84  # pixels for a level in the key


class Row(NamedTuple):
    """A GPU and its mean utilisation in each cell of time, NaN where there is none."""

    gpu: int
    cells: Array


def rows(timeline: Timeline) -> list[Row]:
    """The GPUs whose utilisation was recorded; no more cells than half their samples."""
    times = timeline.frame.index.to_numpy(dtype=np.float64)
    start, end = min(0.0, float(times[0])), float(times[-1])
    count = max(1, min(CELLS, len(times) // 2))
    cell = np.clip(((times - start) / max(end - start, 1e-9) * count).astype(int), 0, count - 1)
    found = []
    for gpu in timeline.gpus:
        column = timeline.column(f"gpu{gpu}_util_pct")
        if column is None:
            continue
        values = column.to_numpy(dtype=np.float64)
        known = np.isfinite(values)
        readings = np.bincount(cell[known], minlength=count)
        total = np.bincount(cell[known], weights=values[known], minlength=count)
        mean = np.where(readings > 0, total / np.maximum(readings, 1), np.nan)
        found.append(Row(gpu, mean))
    return found


def draw(ident: str, title: str, drawn: Sequence[Row], timeline: Timeline) -> str:
    """The heat map as an `<svg>` element: the same bytes for the same input."""
    times = timeline.frame.index
    start, end = min(0.0, float(times[0])), float(times[-1])
    known = timeline.source.time_known
    height = TOP + len(drawn) * (ROW + GAP) + BOTTOM
    sheet = Sheet(height, start, max(end, start + 1e-9))
    _key(sheet)
    for place, row in enumerate(drawn):
        base = TOP + (place + 1) * (ROW + GAP)
        sheet.place(base, ROW, 0.0, 1.0)
        edges = np.linspace(sheet.start, sheet.end, len(row.cells) + 1)
        for letter, boxes in _boxes(row.cells, edges).items():
            sheet.areas(f"t-heat h-{letter}", boxes)
        sheet.text("t-tick", sheet.left - 7, base - 4, _short(row.gpu), "right")
    for tick, (x, text) in enumerate((time_ticks if known else count_ticks)(start, end)):
        css = "t-tick" if tick % 2 == 0 else "t-tick t-odd"
        sheet.text(css, sheet.x(x), height - BOTTOM + 20, text, "center")
    facts = {
        "known": known,
        "heat": [[TOP + GAP, ROW + GAP], [gpu_name(row.gpu) for row in drawn]],
        "levels": {letter: tr(text).removesuffix(" %") for letter, _, text in LEVELS},
    }
    return sheet.svg(ident, title, _in_words(drawn), facts)


def _short(gpu: int) -> str:
    """What fits beside a row: `GPU 3`, `node5:3`, the end of a longer name."""
    name = gpu_name(gpu)
    if ":" not in name:
        return f"GPU {name}"
    return name if len(name) <= _WIDEST else f"…{name[-_WIDEST + 1 :]}"


def _boxes(cells: Array, edges: Array) -> dict[str, list[Array]]:
    """Stretches of cells of one level, as boxes, by the letter of the level."""
    level = np.searchsorted([top for _, top, _ in LEVELS], cells, side="right")
    level[~np.isfinite(cells)] = -1
    first = np.flatnonzero(np.diff(level, prepend=-2))
    boxes: dict[str, list[Array]] = {}
    for begin, stop in zip(first, [*first[1:], len(cells)], strict=True):
        if level[begin] >= 0:
            a, b = edges[begin], edges[stop]
            box = np.array([(a, 0.0), (a, 1.0), (b, 1.0), (b, 0.0)])
            boxes.setdefault(LEVELS[min(level[begin], len(LEVELS) - 1)][0], []).append(box)
    return dict(sorted(boxes.items()))


def _key(sheet: Sheet) -> None:
    """The levels and what they mean, above the rows."""
    sheet.place(18, 12, 0.0, 1.0)
    for place, (letter, _, text) in enumerate(LEVELS):
        left = sheet.left + place * _KEY
        a, b = (sheet.start + (x - sheet.left) * _second(sheet) for x in (left, left + 16))
        sheet.areas(f"t-heat h-{letter}", [np.array([(a, 0.0), (a, 1.0), (b, 1.0), (b, 0.0)])])
        sheet.text("t-tick t-key", left + 21, 17, tr(text), "left")
    sheet.text("t-note", sheet.right, 17, tr("utilisation"), "right")


def _second(sheet: Sheet) -> float:
    """Seconds of a pixel."""
    return (sheet.end - sheet.start) / (sheet.right - sheet.left)


def _in_words(drawn: Sequence[Row]) -> str:
    means = []
    for row in drawn:
        known = row.cells[np.isfinite(row.cells)]
        mean = number(float(known.mean())) if len(known) else tr("no")
        means.append(tr("GPU {gpu}: {mean} %", gpu=gpu_name(row.gpu), mean=mean))
    return tr("Mean utilisation. {means}.", means=tr(", ").join(means))
