"""⑤ Both runs in one figure, on the time since each began: the second run is dashed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from gpudiag.compare.model import Comparison, Side
from gpudiag.language import tr
from gpudiag.report.clean import clean
from gpudiag.report.labels import label
from gpudiag.report.plots.envelope import Array
from gpudiag.report.plots.panels import Drawing, Panel, draw
from gpudiag.report.view import Figure
from gpudiag.signals.compute import SignalSet

_HEIGHT = 96
_HOST = ("main_cpu_pct", "workers_cpu_pct")


def overlay(one: Comparison, ident: str) -> Figure | None:
    """Utilisation, memory and power of the GPUs, and the CPU; None if nothing can be drawn."""
    if not (one.before.timeline.source.time_known and one.after.timeline.source.time_known):
        return None
    panels = [
        _panel(*_gpus(one, "util_pct", _mean), tr("Mean utilisation of the GPUs, %"), "%", "gpu",
               100.0),
        _panel(*_gpus(one, "mem_used_mib", _most), tr("Memory of the fullest GPU, GiB"), "GiB",
               "memory", None, 1 / 1024),
        _panel(*_gpus(one, "power_w", _sum), tr("Power of the GPUs, W"), "W", "power", None),
        *(_host(one, name) for name in _HOST),
    ]  # fmt: skip
    drawn = [panel for panel in panels if panel is not None]
    times = [side.timeline.frame.index for side in (one.before, one.after)]
    if not drawn or any(len(index) < 2 for index in times):
        return None
    end = max(float(index[-1]) for index in times)
    title = tr("Both runs since they began")
    said = tr(
        "Solid: {before}. Dashed: {after}.",
        before=clean(one.before.name, 120),
        after=clean(one.after.name, 120),
    )
    return Figure(draw(Drawing(ident, title, tuple(drawn), 0.0, end)), said)


def _mean(table: Array) -> Array:
    return np.asarray(table.mean(axis=0))


def _most(table: Array) -> Array:
    return np.asarray(table.max(axis=0))


def _sum(table: Array) -> Array:
    return np.asarray(table.sum(axis=0))


def _gpus(
    one: Comparison, name: str, how: Callable[[Array], Array]
) -> tuple[pd.Series[Any] | None, pd.Series[Any] | None]:
    return _over_gpus(one.before, name, how), _over_gpus(one.after, name, how)


def _over_gpus(side: Side, name: str, how: Callable[[Array], Array]) -> pd.Series[Any] | None:
    columns = [
        column
        for gpu in SignalSet(side.timeline).gpus
        if (column := side.timeline.column(f"gpu{gpu}_{name}")) is not None
    ]
    if not columns:
        return None
    table = np.vstack([column.to_numpy(dtype=np.float64) for column in columns])
    return pd.Series(how(table), index=side.timeline.frame.index)


def _host(one: Comparison, name: str) -> Panel | None:
    found = label(name)
    title = found.title if found else name
    columns = one.before.timeline.column(name), one.after.timeline.column(name)
    return _panel(*columns, title, "%", "process", None)


def _panel(
    before: pd.Series[Any] | None,
    after: pd.Series[Any] | None,
    title: str,
    unit: str,
    family: str,
    top: float | None,
    scale: float = 1.0,
) -> Panel | None:
    """A panel of both; None if only one of them was recorded."""
    if before is None or after is None:
        return None
    first, second = before * scale, after * scale
    return Panel(title, unit, family, first, top, _HEIGHT, other=second)
