"""⑤ What a figure is drawn on: matplotlib's SVG renderer with the panels' own scales.

An `Axes` with its ticks costs 30 ms, and a page for eight GPUs has sixty panels; loading figures
and axes alone takes as long as drawing them all. So paths go to the renderer itself, and texts,
which need no layout here, straight into the SVG. The id of every group is its class (see `svg`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from gpudiag.report.plots.envelope import Array
from gpudiag.report.plots.svg import Label, clean_svg


class Sheet:
    """A figure of one width. `x` and `y` give pixels from the left and from the top."""

    width, left, right = 840, 52, 828  # user units: a CSS pixel each on a wide screen

    def __init__(self, height: int, start: float, end: float) -> None:
        """A figure of `height` pixels over the time from `start` to `end`."""
        self.height, self.start, self.end = height, start, end
        self._raw = io.StringIO()
        self._labels: list[Label] = []
        renderer: Any = RendererSVG  # it carries no types
        self._renderer = renderer(self.width, height, self._raw)
        self.place(height, height, 0.0, 1.0)

    def place(self, base: float, height: float, low: float, high: float) -> None:
        """Draw next into a panel that ends `base` pixels below the top, from `low` to `high`."""
        self._base, self._low = base, low
        self._per_second = (self.right - self.left) / (self.end - self.start)
        self._per_unit = height / (high - low)
        self._scale = (
            Affine2D()
            .translate(-self.start, -low)
            .scale(self._per_second, self._per_unit)
            .translate(self.left, self.height - base)
        )

    def x(self, seconds: float) -> float:
        """Pixels from the left."""
        return self.left + (seconds - self.start) * self._per_second

    def y(self, value: float) -> float:
        """Pixels from the top."""
        return self._base - (value - self._low) * self._per_unit

    def lines(self, css: str, curves: Sequence[Array]) -> None:
        """Curves of (seconds, value) points, as one path; a single point becomes a dot."""
        drawn = [np.repeat(curve, 2, axis=0) if len(curve) == 1 else curve for curve in curves]
        self._path(css, drawn, closed=False)

    def areas(self, css: str, outlines: Sequence[Array]) -> None:
        """Closed outlines of (seconds, value) points, as one path."""
        self._path(css, outlines, closed=True)

    def text(
        self, css: str, x: float, y: float, text: str, align: Literal["left", "center", "right"]
    ) -> None:
        """A text whose base line is `y` pixels below the top."""
        if text:
            self._labels.append(Label(css, x, y, text, align))

    def svg(self, ident: str, title: str, description: str, facts: Mapping[str, object]) -> str:
        """What was drawn, as an `<svg>` element; `facts` are for the script that reads values out.

        The ends of the time axis, in pixels and seconds, are added to them.
        """
        ends = [self.left, self.right, round(self.start, 3), round(self.end, 3)]
        data = json.dumps({"x": ends, **facts}, separators=(",", ":"))
        self._renderer.finalize()
        return clean_svg(self._raw.getvalue(), self._labels, ident, title, description, data)

    def _path(self, css: str, curves: Sequence[Array], *, closed: bool) -> None:
        if not curves:
            return
        codes = []
        for points in curves:
            code = np.full(len(points) + closed, Path.LINETO, dtype=np.uint8)
            code[0] = Path.MOVETO
            if closed:
                code[-1] = Path.CLOSEPOLY
            codes.append(code)
        corners = [np.vstack([points, points[:1]]) if closed else points for points in curves]
        path = Path(np.concatenate(corners), np.concatenate(codes))
        path.should_simplify = False
        fill = (0.0, 0.0, 0.0) if closed else None  # the style sheet decides on the colour
        self._renderer.open_group("path", gid=css)
        self._renderer.draw_path(self._renderer.new_gc(), path, self._scale, fill)
        self._renderer.close_group("path")
