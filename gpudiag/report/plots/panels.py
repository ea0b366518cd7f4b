"""⑤ A figure: panels with one series each, one above the other, on one time axis.

One series a panel, named in words above it: nothing depends on telling colours apart, and eight
GPUs are as readable as one. Matplotlib draws it through its object API; `svg` makes it clean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from gpudiag.diagnose.model import Episode
from gpudiag.language import tr
from gpudiag.report.labels import number
from gpudiag.report.plots.axis import count_ticks, nice_top, time_ticks
from gpudiag.report.plots.envelope import BUCKETS, Array, Trace, envelope
from gpudiag.report.plots.sheet import Sheet

TITLE, GAP, BOTTOM = 24, 10, 30  # above a panel, below it, and for the time axis at the end


@dataclass(frozen=True)
class Guide:
    """A level line across a panel, with its name: the memory of the GPU, the power limit."""

    value: float
    text: str


@dataclass(frozen=True)
class Projection:
    """A straight line on from the last readings: from one point to another, with its name."""

    from_t_s: float
    from_value: float
    to_t_s: float
    to_value: float
    text: str

    def scaled(self, factor: float) -> Projection:
        """The same with the values in another unit."""
        return replace(self, from_value=self.from_value * factor, to_value=self.to_value * factor)


@dataclass(frozen=True)
class Panel:
    """One series (already in `unit`), its title, colour family and height, and lines beside it.

    `other` is the same of another run, drawn dashed.
    """

    title: str
    unit: str
    family: str
    series: pd.Series[Any]
    top: float | None = None
    height: int = 64
    guides: tuple[Guide, ...] = ()
    projection: Projection | None = None
    other: pd.Series[Any] | None = None

    @cached_property
    def figures(self) -> tuple[str, str, str] | None:
        """Lowest, median and highest reading as texts; None if there is none."""
        return _figures(self.series)

    def in_words(self) -> str:
        """`GPU 0 utilisation, %: 0 to 100, median 34.`, the text alternative of the curve."""
        if self.figures is None:
            return tr("{title}: no reading.", title=self.title)
        low, middle, high = self.figures
        said = tr(
            "{title}: {low} to {high}, median {median}.",
            title=self.title,
            low=low,
            high=high,
            median=middle,
        )
        other = None if self.other is None else _figures(self.other)
        if other is None:
            return said
        low, middle, high = other
        more = tr("Dashed: {low} to {high}, median {median}.", low=low, high=high, median=middle)
        return tr("{said} {more}", said=said, more=more)

    def note(self) -> str:
        """The words beside the title: the projection if there is one, else two figures."""
        if self.projection:
            return self.projection.text
        if self.figures is None:
            return ""
        _, middle, high = self.figures
        other = None if self.other is None else _figures(self.other)
        if other is not None:
            return tr(
                "median {before}, dashed {after} {unit}",
                before=middle,
                after=other[1],
                unit=self.unit,
            ).strip()
        return tr(
            "median {median}, max {high} {unit}", median=middle, high=high, unit=self.unit
        ).strip()


@dataclass(frozen=True)
class Drawing:
    """A figure to draw. `ident` makes its ids unique on the page; `end_s` may lie past the run.

    A series of more than two readings a bucket is drawn as the envelope of so many `buckets`.
    """

    ident: str
    title: str
    panels: tuple[Panel, ...]
    start_s: float
    end_s: float
    time_known: bool = True
    episodes: tuple[Episode, ...] = ()
    buckets: int = BUCKETS


def draw(drawing: Drawing) -> str:
    """The figure as an `<svg>` element: the same bytes for the same input.

    Raises ValueError if it has no panel.
    """
    if not drawing.panels:
        raise ValueError("a figure needs a panel")
    height = sum(TITLE + panel.height + GAP for panel in drawing.panels) - GAP + BOTTOM
    sheet = Sheet(height, drawing.start_s, max(drawing.end_s, drawing.start_s + 1e-9))
    places = (time_ticks if drawing.time_known else count_ticks)(drawing.start_s, drawing.end_s)
    bands = _joined(drawing.episodes, sheet, drawing.buckets)
    base = 0
    scales = []
    for panel in drawing.panels:
        base += TITLE + panel.height
        low, top = _panel(sheet, panel, base, [x for x, _ in places], bands, drawing.buckets)
        scales.append((base, panel.height, low, top, panel.unit))
        base += GAP
    for number_of_tick, (x, text) in enumerate(places):
        css = "t-tick" if number_of_tick % 2 == 0 else "t-tick t-odd"
        sheet.text(css, sheet.x(x), base - GAP + 17, text, "center")
    words = " ".join(panel.in_words() for panel in drawing.panels)
    facts = {"known": drawing.time_known, "panels": scales}
    return sheet.svg(drawing.ident, drawing.title, words, facts)


def _panel(
    sheet: Sheet,
    panel: Panel,
    base: int,
    ticks: list[float],
    bands: list[tuple[float, float]],
    buckets: int,
) -> tuple[float, float]:
    """One panel whose lower edge lies `base` pixels below the top of the figure.

    Gives the lowest and the highest value of its axis.
    """
    trace = envelope(panel.series, sheet.start, sheet.end, buckets)
    traces = [trace]
    if panel.other is not None:
        traces.append(envelope(panel.other, sheet.start, sheet.end, buckets))
    peak = max(float(one.high.max()) if len(one.high) else 0.0 for one in traces)
    lowest = min(0.0, *(float(one.low.min()) if len(one.low) else 0.0 for one in traces))
    top = _top(panel, peak)
    sheet.place(base, panel.height, lowest, top)
    sheet.areas("t-episode", [_box(a, b, lowest, top) for a, b in bands])
    ends = (sheet.start, sheet.end)
    grid = [np.array([(x, lowest), (x, top)]) for x in ticks]
    grid += [np.array([(x, level) for x in ends]) for level in (top / 2, top)]
    sheet.lines("t-grid", grid)
    sheet.lines("t-base", [np.array([(x, 0.0) for x in ends])])
    for level in (0.0, top):
        sheet.text("t-tick", sheet.left - 7, sheet.y(level) + 4, number(level), "right")
    sheet.text("t-title", sheet.left, base - panel.height - 7, panel.title, "left")
    css = "t-note t-ahead" if panel.projection else "t-note"
    sheet.text(css, sheet.right, base - panel.height - 7, panel.note(), "right")
    if trace.thinned:
        sheet.areas(
            f"t-range f-{panel.family}", [_outline(trace, part) for part in trace.stretches]
        )
    for one, css in zip(traces, ("t-line", "t-other"), strict=False):
        curves = [np.column_stack([one.t_s[part], one.mean[part]]) for part in one.stretches]
        sheet.lines(f"{css} f-{panel.family}", curves)
    for guide in panel.guides:
        sheet.lines("t-guide", [np.array([(x, guide.value) for x in ends])])
        drop = -5 if guide.value < lowest + 0.6 * (top - lowest) else 14
        sheet.text("t-mark", sheet.left + 6, sheet.y(guide.value) + drop, guide.text, "left")
    if panel.projection:
        line = panel.projection
        points = [(line.from_t_s, line.from_value), (line.to_t_s, line.to_value)]
        sheet.lines("t-projection", [np.array(points)])
    return lowest, top


def _figures(series: pd.Series[Any]) -> tuple[str, str, str] | None:
    values = series.to_numpy(dtype=np.float64)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    return number(finite.min()), number(float(np.median(finite))), number(finite.max())


def _top(panel: Panel, peak: float) -> float:
    """The end of the value axis: the panel's own or a limit if it holds the peak, else round."""
    ends = [panel.top] if panel.top is not None else [guide.value for guide in panel.guides]
    return next((end for end in ends if end >= peak and end > 0), nice_top(peak))


def _outline(trace: Trace, part: slice) -> Array:
    """The highest readings forward and the lowest back."""
    there = np.column_stack([trace.t_s[part], trace.high[part]])
    back = np.column_stack([trace.t_s[part], trace.low[part]])
    return np.concatenate([there, back[::-1]])


def _box(start: float, end: float, low: float, high: float) -> Array:
    return np.array([(start, low), (start, high), (end, high), (end, low)])


def _joined(episodes: Sequence[Episode], sheet: Sheet, buckets: int) -> list[tuple[float, float]]:
    """The episodes in the time of the figure, at least a bucket wide; close ones joined."""
    bucket = (sheet.end - sheet.start) / buckets
    bands: list[tuple[float, float]] = []
    for episode in sorted(episodes, key=lambda episode: episode.start_s):
        start = max(episode.start_s, sheet.start)
        end = min(max(episode.end_s, start + bucket), sheet.end)
        if bands and start - bands[-1][1] < bucket:
            bands[-1] = (bands[-1][0], max(bands[-1][1], end))
        elif start < end:
            bands.append((start, end))
    return bands
