"""⑤ The figures of a run on several machines: one panel a machine, the mean of its GPUs.

What a finding says of one machine is shown with that machine's own series, host and loader
included; the heat map, which `choose` draws, has every GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from gpudiag.diagnose.model import Episode, Finding
from gpudiag.gpu_names import named
from gpudiag.language import tr
from gpudiag.report.labels import label
from gpudiag.report.plots import choose
from gpudiag.report.plots.axis import nice_top
from gpudiag.report.plots.envelope import Array
from gpudiag.report.plots.panels import Panel
from gpudiag.report.view import Figure
from gpudiag.timeline.cluster.model import ClusterTimeline, Node

_HEIGHT = 44
_GIB = 1024.0


def finding_figure(timeline: ClusterTimeline, finding: Finding, ident: str) -> Figure | None:
    """The series of the machine that the finding tells of, or each machine's means."""
    node = next((node for node in timeline.nodes if node.name == finding.node), None)
    if node is None:
        names = [name.removeprefix("gpu_") for name in finding.rule.plot]
        drawn = [panel for name in names for panel in _means(timeline, name)]
        return choose.framed(timeline, ident, finding.rule.title, drawn, finding.episodes)
    local = {number: own for own, number in node.numbers.items()}
    own = replace(
        finding,
        gpus=tuple(local[gpu] for gpu in finding.gpus if gpu in local),
        episodes=tuple(
            Episode(one.start_s - node.begin_s, one.end_s - node.begin_s)
            for one in finding.episodes
        ),
    )
    with named(node.names):
        return choose.finding_figure(node.timeline, own, ident)


def overview_figure(timeline: ClusterTimeline) -> Figure | None:
    """The mean utilisation of each machine's GPUs."""
    title = tr("Mean utilisation of the GPUs of each machine")
    return choose.framed(timeline, "overview", title, _means(timeline, "util_pct"))


def memory_figure(timeline: ClusterTimeline, findings: Sequence[Finding]) -> Figure | None:
    """The memory of the fullest GPU of each machine."""
    drawn = _panels(timeline, "mem_used_mib", lambda table: np.nanmax(table, axis=0))
    drawn = [
        replace(one, series=one.series / _GIB, unit="GiB", top=one.top and one.top / _GIB)
        for one in drawn
    ]
    title = tr("Memory of the fullest GPU of each machine, GiB")
    return choose.framed(timeline, "memory", title, drawn)


def device_figure(timeline: ClusterTimeline) -> Figure | None:
    """Power and clock of each machine's GPUs."""
    drawn = [*_means(timeline, "power_w"), *_means(timeline, "sm_clock_mhz")]
    title = tr("Mean power and clock of the GPUs of each machine")
    return choose.framed(timeline, "devices", title, drawn)


def _means(timeline: ClusterTimeline, name: str) -> list[Panel]:
    return _panels(timeline, name, lambda table: np.nanmean(table, axis=0))


def _panels(timeline: ClusterTimeline, name: str, how: Callable[[Array], Array]) -> list[Panel]:
    with named(None):
        found = label(f"gpu0_{name}")
    if found is None:
        return []
    drawn = []
    for node in timeline.nodes:
        table = _table(timeline, node, name)
        if table is None:
            continue
        known = np.isfinite(table).any(axis=0)
        values = np.full(table.shape[1], np.nan)
        values[known] = how(table[:, known])
        title = tr("{node}: {title}", node=node.name, title=found.title.partition(" 0 ")[2])
        unit = "" if "%" in found.title else found.unit
        drawn.append(
            Panel(
                f"{title}, {unit}" if unit and name != "mem_used_mib" else title,
                found.unit,
                found.family,
                pd.Series(values, index=timeline.frame.index),
                found.top,
                _HEIGHT,
            )
        )
    if found.top is None and drawn:  # one scale for all machines
        peaks = [float(np.nanmax(panel.series.to_numpy(dtype=np.float64))) for panel in drawn]
        drawn = [replace(panel, top=nice_top(max(peaks))) for panel in drawn]
    return drawn


def _table(timeline: ClusterTimeline, node: Node, name: str) -> Array | None:
    columns = [timeline.column(f"gpu{gpu}_{name}") for gpu in node.gpus]
    known = [column.to_numpy(dtype=np.float64) for column in columns if column is not None]
    return np.vstack(known) if known else None
