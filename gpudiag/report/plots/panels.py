"""⑤ A figure: panels with one series each, one above the other, on one time axis.

One series a panel, named in words above it: nothing depends on telling colours apart, and eight
GPUs are as readable as one. Matplotlib draws it through its object API; `svg` makes it clean.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from gpudiag.diagnose.model import Episode
from gpudiag.report.labels import number
from gpudiag.report.plots.axis import count_ticks, nice_top, time_ticks
from gpudiag.report.plots.envelope import BUCKETS, Trace, envelope
from gpudiag.report.plots.svg import clean_svg

WIDTH, LEFT, RIGHT = 840, 52, 12  # user units, one CSS pixel each on a wide screen
TITLE, GAP, BOTTOM = 24, 10, 30
_RC: Any = {"svg.fonttype": "none", "svg.hashsalt": "gpudiag", "path.simplify": False}


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


@dataclass(frozen=True)
class Panel:
    """One series (already in `unit`), its title, colour family and height, and lines beside it."""

    title: str
    unit: str
    family: str
    series: pd.Series[Any]
    top: float | None = None
    height: int = 64
    guides: tuple[Guide, ...] = ()
    projection: Projection | None = None

    def in_words(self) -> str:
        """`GPU 0 utilisation: 0 to 100 %, median 34 %.`, the text alternative of the curve."""
        finite = self.series[np.isfinite(self.series.to_numpy(dtype=float))]
        if finite.empty:
            return f"{self.title}: no reading."
        low, high, middle = finite.min(), finite.max(), finite.median()
        return (
            f"{self.title}: {number(low)} to {number(high)} {self.unit}, "
            f"median {number(middle)} {self.unit}."
        ).replace(" .", ".")

    def note(self) -> str:
        """The figures beside the title."""
        finite = self.series[np.isfinite(self.series.to_numpy(dtype=float))]
        if finite.empty:
            return ""
        return f"median {number(finite.median())}, max {number(finite.max())} {self.unit}".strip()


@dataclass(frozen=True)
class Drawing:
    """A figure to draw. `ident` makes its ids unique on the page; `end_s` may lie past the run."""

    ident: str
    title: str
    panels: tuple[Panel, ...]
    start_s: float
    end_s: float
    time_known: bool = True
    episodes: tuple[Episode, ...] = ()


def draw(drawing: Drawing) -> str:
    """The figure as an `<svg>` element: the same bytes for the same input.

    Raises ValueError if it has no panel.
    """
    if not drawing.panels:
        raise ValueError("a figure needs a panel")
    height = sum(TITLE + panel.height + GAP for panel in drawing.panels) - GAP + BOTTOM
    with mpl.rc_context(_RC):
        figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
        figure.patch.set_visible(False)
        top = 0
        for place, panel in enumerate(drawing.panels):
            top += TITLE
            box = (LEFT / WIDTH, 1 - (top + panel.height) / height)
            size = ((WIDTH - LEFT - RIGHT) / WIDTH, panel.height / height)
            axes = figure.add_axes((*box, *size))
            _panel(axes, panel, drawing, last=place == len(drawing.panels) - 1)
            top += panel.height + GAP
        raw = io.StringIO()
        canvas: Any = FigureCanvasSVG(figure)  # its methods carry no types
        canvas.print_svg(raw, metadata={"Date": None, "Creator": None})
    words = " ".join(panel.in_words() for panel in drawing.panels)
    return clean_svg(raw.getvalue(), drawing.ident, drawing.title, words)


def _panel(axes: Axes, panel: Panel, drawing: Drawing, *, last: bool) -> None:
    span = max(drawing.end_s - drawing.start_s, 1e-9)
    trace = envelope(panel.series, drawing.start_s, drawing.end_s)
    peak = float(trace.high.max()) if len(trace.high) else 0.0
    levels = [peak, *(guide.value for guide in panel.guides)]
    top = panel.top if panel.top is not None and peak <= panel.top else nice_top(max(levels))
    axes.set_xlim(drawing.start_s, drawing.start_s + span)
    axes.set_ylim(min(0.0, float(trace.low.min()) if len(trace.low) else 0.0), top)
    axes.patch.set_visible(False)
    for side in axes.spines.values():
        side.set_visible(False)
    _ticks(axes, drawing, top, panel.unit, last=last)
    _shade(axes, drawing, span)
    for text, gid, x, align in (
        (panel.title, "t-title", 0, "left"),
        (panel.note(), "t-note", 1, "right"),
    ):
        axes.annotate(
            text, (x, 1), (0, 7), xycoords="axes fraction", textcoords="offset points",
            gid=gid, ha=align, parse_math=False,
        )  # fmt: skip
    _curve(axes, panel, trace)


def _ticks(axes: Axes, drawing: Drawing, top: float, unit: str, *, last: bool) -> None:
    axes.set_yticks([0.0, top / 2, top], labels=["0", "", number(top)])
    ticks = (time_ticks if drawing.time_known else count_ticks)(drawing.start_s, drawing.end_s)
    axes.set_xticks([t for t, _ in ticks], labels=[text if last else "" for _, text in ticks])
    axes.tick_params(bottom=False, left=False)
    axes.set_axisbelow(True)
    for tick in axes.yaxis.get_major_ticks():
        tick.gridline.set(visible=True, gid="t-base" if tick.get_loc() == 0 else "t-grid")
        tick.label1.set_gid("t-tick")
    for place, tick in enumerate(axes.xaxis.get_major_ticks()):
        tick.gridline.set(visible=True, gid="t-grid")
        tick.label1.set_gid("t-tick" if place % 2 == 0 else "t-tick t-odd")


def _shade(axes: Axes, drawing: Drawing, span: float) -> None:
    """Shade the episodes, those closer than a bucket joined, in one path."""
    bucket = span / BUCKETS
    spans: list[list[float]] = []
    for episode in sorted(drawing.episodes, key=lambda episode: episode.start_s):
        start = max(episode.start_s, drawing.start_s)
        end = min(max(episode.end_s, start + bucket), drawing.start_s + span)
        if spans and start - spans[-1][1] < bucket:
            spans[-1][1] = max(spans[-1][1], end)
        elif start < end:
            spans.append([start, end])
    if not spans:
        return
    low, high = axes.get_ylim()
    corners = [[(a, low), (a, high), (b, high), (b, low)] for a, b in spans]
    _area(axes, [np.asarray(corner) for corner in corners], "t-episode")


def _curve(axes: Axes, panel: Panel, trace: Trace) -> None:
    low, high = axes.get_ylim()
    if trace.thinned:
        outlines = [
            np.concatenate(
                [
                    np.column_stack([trace.t_s[part], trace.high[part]]),
                    np.column_stack([trace.t_s[part], trace.low[part]])[::-1],
                ]
            )
            for part in trace.stretches
        ]
        _area(axes, outlines, f"t-range f-{panel.family}")
    xs: list[float] = []
    ys: list[float] = []
    for part in trace.stretches:
        x, y = trace.t_s[part].tolist(), trace.mean[part].tolist()
        if len(x) == 1:  # a reading on its own becomes a dot (round line ends)
            x, y = x * 2, y * 2
        xs += [*x, float("nan")]
        ys += [*y, float("nan")]
    axes.plot(xs, ys, gid=f"t-line f-{panel.family}", clip_on=False)
    for guide in panel.guides:
        axes.plot(axes.get_xlim(), [guide.value] * 2, gid="t-guide", clip_on=False)
        above = guide.value < low + 0.7 * (high - low)
        axes.annotate(
            guide.text, (axes.get_xlim()[1], guide.value), (0, 4 if above else -12),
            textcoords="offset points", ha="right", gid="t-mark", parse_math=False,
        )  # fmt: skip
    line = panel.projection
    if line is not None:
        axes.plot(
            [line.from_t_s, line.to_t_s], [line.from_value, line.to_value],
            gid="t-projection", clip_on=False,
        )  # fmt: skip
        axes.annotate(
            line.text, ((line.from_t_s + line.to_t_s) / 2, (line.from_value + line.to_value) / 2),
            (-6, 4), textcoords="offset points", ha="right", gid="t-mark", parse_math=False,
        )  # fmt: skip


def _area(axes: Axes, outlines: list[Any], gid: str) -> None:
    vertices = np.concatenate([np.vstack([points, points[:1]]) for points in outlines])
    codes = np.concatenate(
        [[Path.MOVETO, *[Path.LINETO] * (len(points) - 1), Path.CLOSEPOLY] for points in outlines]
    )
    axes.add_patch(PathPatch(Path(vertices, codes), gid=gid, clip_on=False, linewidth=0))
