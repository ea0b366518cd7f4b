"""⑤ Which series a figure shows: those of a finding, the whole run, memory, each GPU's state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpudiag.diagnose.model import Episode, Finding
from gpudiag.language import tr
from gpudiag.report.clean import clean
from gpudiag.report.plots import heat
from gpudiag.report.plots.envelope import BUCKETS
from gpudiag.report.plots.panels import Drawing, Panel, Projection, draw
from gpudiag.report.plots.series import creep_projections, expand, panels, title
from gpudiag.report.view import Figure
from gpudiag.report.words import where
from gpudiag.timeline.model import Timeline
from gpudiag.units import format_duration

_MOST_PANELS = 24
_MANY, _MOST_ROWS = 4, 64  # GPUs of a heat map
_OVERVIEW = (
    "main_cpu_pct", "workers_cpu_pct", "others_cpu_pct", "host_cpu_pct", "cgroup_throttled_pct",
    "tree_disk_read_mib_s", "tree_disk_write_mib_s", "host_net_rx_mib_s",
)  # fmt: skip
_MEMORY = ("cgroup_mem_used_mib", "host_mem_used_mib", "host_shm_used_mib", "host_swap_used_mib")
_DEVICE = ("power_w", "sm_clock_mhz", "temp_c")
_QUIET = {  # a panel of the overview that never rises above this says nothing
    "others_cpu_pct": 5.0, "tree_disk_read_mib_s": 1.0, "tree_disk_write_mib_s": 1.0,
    "host_net_rx_mib_s": 1.0,
}  # fmt: skip
_HEIGHTS = ((1, 110), (2, 84), (4, 60), (8, 44))
_LOW = 36


def finding_figure(timeline: Timeline, finding: Finding, ident: str) -> Figure | None:
    """The series that the finding's rule names, its episodes shaded; None if none was recorded."""
    gpus = finding.gpus or timeline.gpus
    names = expand(finding.rule.plot, gpus)
    ahead = memory_ahead(timeline, (finding,))
    drawn = panels(timeline, names, _height(len(names)), ahead)
    heading = clean(tr("{name}: {value}", name=finding.rule.title, value=where(finding.gpus)), 300)
    words = [_episodes_in_words(finding.episodes, timeline.source.time_known)]
    absent = [name for name in names if timeline.column(name) is None]
    if absent:
        titles = tr(", ").join(f"“{title(name)}”" for name in absent[:6])
        words.append(tr("No reading of {columns}.", columns=titles))
    return framed(timeline, ident, heading, drawn, finding.episodes, words)


def overview_figure(timeline: Timeline) -> Figure | None:
    """The utilisation of every GPU and what the host did, on one time axis."""
    gpus = [f"gpu{gpu}_util_pct" for gpu in timeline.gpus]
    drawn = panels(timeline, gpus, _height(len(gpus) + 2))
    drawn += panels(timeline, _risen(timeline, _OVERVIEW), 44)
    return framed(timeline, "overview", tr("All GPUs and the host over the run"), drawn)


def heat_figure(timeline: Timeline) -> Figure | None:
    """The utilisation of every GPU as one row of colour, for runs on so many that they blur."""
    if len(timeline.frame) < 2:
        return None
    rows = heat.rows(timeline)
    if len(rows) < _MANY:
        return None
    title = tr("Utilisation of every GPU over the run")
    return Figure(heat.draw("heat", title, rows[:_MOST_ROWS], timeline), _heat_words(len(rows)))


def _heat_words(count: int) -> str:
    said = tr("One row a GPU: the darker (brighter on a dark page), the busier.")
    if count <= _MOST_ROWS:
        return said
    more = tr("The first {drawn} of {count} GPUs are drawn.", drawn=_MOST_ROWS, count=count)
    return tr("{said} {more}", said=said, more=more)


def memory_figure(timeline: Timeline, findings: Sequence[Finding]) -> Figure | None:
    """The memory of every GPU under its capacity, and the host's under its limits."""
    names = [f"gpu{gpu}_mem_used_mib" for gpu in timeline.gpus]
    drawn = panels(timeline, names, _height(len(names) + 1), memory_ahead(timeline, findings))
    drawn += panels(timeline, _risen(timeline, _MEMORY), 44)
    return framed(timeline, "memory", tr("Memory of the GPUs and the host"), drawn)


def device_figure(timeline: Timeline) -> Figure | None:
    """Power, clock and temperature of every GPU."""
    names = [f"gpu{gpu}_{name}" for gpu in timeline.gpus for name in _DEVICE]
    drawn = panels(timeline, names, _LOW)
    return framed(timeline, "devices", tr("Power, clock and temperature of every GPU"), drawn,
                   buckets=BUCKETS // 2)  # fmt: skip


def memory_ahead(timeline: Timeline, findings: Iterable[Finding]) -> dict[str, Projection]:
    """Projections for the GPUs of which a finding says that their memory grows."""
    gpus = {
        gpu
        for finding in findings
        if finding.rule.family == "memory" and "gpu_mem_used_mib" in finding.rule.plot
        for gpu in finding.gpus
    }
    return creep_projections(timeline, sorted(gpus)) if gpus else {}


def _risen(timeline: Timeline, names: Iterable[str]) -> list[str]:
    """Those of `names` that ever rose above what is worth a panel."""
    return [
        name
        for name in names
        if (column := timeline.column(name)) is not None
        and float(column.max()) > _QUIET.get(name, 0.0)
    ]


def framed(
    timeline: Timeline,
    ident: str,
    heading: str,
    drawn: Sequence[Panel],
    episodes: Sequence[Episode] = (),
    words: Sequence[str] = (),
    buckets: int = BUCKETS,
) -> Figure | None:
    """The panels as a figure on the time axis of the run, `words` below it; None without any."""
    times = timeline.frame.index
    if not drawn or len(times) < 2:  # a single moment makes no plot
        return None
    start, last = min(0.0, float(times[0])), float(times[-1])
    ends = [panel.projection.to_t_s for panel in drawn if panel.projection]
    said = [*words]
    if len(drawn) > _MOST_PANELS:
        said.append(
            tr(
                "The first {drawn} of {count} series are drawn.",
                drawn=_MOST_PANELS,
                count=len(drawn),
            )
        )
    if len(times) > 2 * buckets:
        said.append(_thinned(timeline, (max([last, *ends]) - start) / buckets))
    drawing = Drawing(
        ident, heading, tuple(drawn[:_MOST_PANELS]), start, max([last, *ends]),
        timeline.source.time_known, tuple(episodes), buckets,
    )  # fmt: skip
    return Figure(draw(drawing), tr(" ").join(text for text in said if text))


def _thinned(timeline: Timeline, width: float) -> str:
    every = (
        format_duration(width)
        if timeline.source.time_known
        else tr("{count} samples", count=f"{width:.0f}")
    )
    return tr(
        "Lines: the mean of every {width}; bands: from the lowest to the highest reading.",
        width=every,
    )


def _episodes_in_words(episodes: Sequence[Episode], time_known: bool) -> str:
    if not episodes:
        return ""
    one, count = len(episodes) == 1, f"{len(episodes):,}"
    if not time_known:
        return (
            tr("One episode is shaded.") if one else tr("{count} episodes are shaded.", count=count)
        )
    total = format_duration(sum(episode.end_s - episode.start_s for episode in episodes))
    if one:
        return tr("One episode is shaded, {time} in total.", time=total)
    return tr("{count} episodes are shaded, {time} in total.", count=count, time=total)


def _height(count: int) -> int:
    """The height of a panel when there are that many: few are drawn large."""
    return next((height for most, height in _HEIGHTS if count <= most), _LOW)
