"""⑤ What a figure is drawn on: matplotlib's figure with the panels' own scales, no axes objects.

An `Axes` with its ticks costs 30 ms, and a page for eight GPUs has sixty panels; paths and texts
placed on the figure itself cost a tenth of that. Every artist's id is its class (see `svg`).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, IdentityTransform

from gpudiag.report.plots.envelope import Array
from gpudiag.report.plots.svg import clean_svg

_RC: Any = {"svg.fonttype": "none", "svg.hashsalt": "gpudiag", "path.simplify": False}


class Sheet:
    """A figure of one width. `x` and `y` give pixels from the left and from the top."""

    width, left, right = 840, 52, 828  # user units: a CSS pixel each on a wide screen

    def __init__(self, height: int, start: float, end: float) -> None:
        """A figure of `height` pixels over the time from `start` to `end`."""
        self.height, self.start, self.end = height, start, end
        self._figure = Figure(figsize=(self.width / 72, height / 72), dpi=72)
        self._figure.patch.set_visible(False)
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
            self._figure.add_artist(
                Text(
                    x, self.height - y, text, gid=css, ha=align, va="baseline",
                    transform=IdentityTransform(), parse_math=False,
                )
            )  # fmt: skip

    def svg(self, ident: str, title: str, description: str) -> str:
        """What was drawn, as an `<svg>` element."""
        raw = io.StringIO()
        with mpl.rc_context(_RC):
            canvas: Any = FigureCanvasSVG(self._figure)  # its methods carry no types
            canvas.print_svg(raw, metadata={"Date": None, "Creator": None})
        return clean_svg(raw.getvalue(), ident, title, description)

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
        self._figure.add_artist(PathPatch(path, gid=css, fill=closed, transform=self._scale))
