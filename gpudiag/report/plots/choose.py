"""⑤ Which series a figure shows: those of a finding, the whole run, memory, each GPU's state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpudiag.diagnose.model import Episode, Finding
from gpudiag.report.labels import label
from gpudiag.report.plots.panels import Drawing, Guide, Panel, draw
from gpudiag.report.view import Figure
from gpudiag.report.words import where
from gpudiag.timeline.columns import parse_name
from gpudiag.timeline.model import Timeline
from gpudiag.units import format_duration

_GIB_FROM = 4096.0
_MOST_PANELS = 24
_OVERVIEW = (
    "main_cpu_pct", "workers_cpu_pct", "others_cpu_pct", "host_cpu_pct", "cgroup_throttled_pct",
    "tree_disk_read_mib_s", "tree_disk_write_mib_s", "host_net_rx_mib_s",
)  # fmt: skip
_MEMORY = ("cgroup_mem_used_mib", "host_mem_used_mib", "host_shm_used_mib", "host_swap_used_mib")
_DEVICE = ("power_w", "sm_clock_mhz", "temp_c")
_QUIET = {"others_cpu_pct": 5.0}  # an overview panel that never rises above this says nothing


def finding_figure(timeline: Timeline, finding: Finding, ident: str) -> Figure | None:
    """The series that the finding's rule names, its episodes shaded; None if none was recorded."""
    gpus = finding.gpus or timeline.gpus
    names = _expand(finding.rule.plot, gpus)
    panels = [panel for name in names for panel in _panel(timeline, name, _height(len(names)))]
    drawing = _drawing(timeline, ident, f"{finding.rule.title}: {where(finding.gpus)}", panels)
    if drawing is None:
        return None
    absent = [name for name in names if timeline.column(name) is None]
    caption = _episodes_in_words(finding.episodes, timeline.source.time_known)
    if absent:
        caption += " Not recorded: " + ", ".join(_title(name) for name in absent[:6]) + "."
    if len(panels) > _MOST_PANELS:
        caption += f" The first {_MOST_PANELS} of {len(panels)} series are drawn."
    return _figure(drawing, finding.episodes, caption.strip())


def overview_figure(timeline: Timeline) -> Figure | None:
    """The utilisation of every GPU and what the host did, on one time axis."""
    gpus = [f"gpu{gpu}_util_pct" for gpu in timeline.gpus]
    height = _height(len(gpus) + 2)
    panels = [panel for name in gpus for panel in _panel(timeline, name, height)]
    for name in _OVERVIEW:
        column = timeline.column(name)
        if column is not None and float(column.max()) > _QUIET.get(name, 0.0):
            panels += _panel(timeline, name, 44)
    drawing = _drawing(timeline, "overview", "All GPUs and the host over the run", panels)
    return None if drawing is None else _figure(drawing, (), "")


def memory_figure(timeline: Timeline) -> Figure | None:
    """The memory of every GPU under its capacity, and the host's under its limits."""
    names = [f"gpu{gpu}_mem_used_mib" for gpu in timeline.gpus]
    panels = [panel for name in names for panel in _panel(timeline, name, _height(len(names) + 1))]
    for name in _MEMORY:
        column = timeline.column(name)
        if column is not None and float(column.max()) > 0:
            panels += _panel(timeline, name, 44)
    drawing = _drawing(timeline, "memory", "Memory of the GPUs and the host", panels)
    return None if drawing is None else _figure(drawing, (), "")


def device_figure(timeline: Timeline) -> Figure | None:
    """Power, clock and temperature of every GPU."""
    names = [f"gpu{gpu}_{name}" for gpu in timeline.gpus for name in _DEVICE]
    panels = [panel for name in names for panel in _panel(timeline, name, 36)]
    drawing = _drawing(timeline, "devices", "Power, clock and temperature of every GPU", panels)
    return None if drawing is None else _figure(drawing, (), "")


def _expand(columns: Sequence[str], gpus: Iterable[int]) -> list[str]:
    """`gpu_util_pct` for each of `gpus`; other names as they stand; unknown names left out."""
    names: list[str] = []
    for column in columns:
        if column.startswith("gpu_") and parse_name(column) is None:
            names += [f"gpu{gpu}_{column[4:]}" for gpu in gpus]
        else:
            names.append(column)
    return [name for name in dict.fromkeys(names) if parse_name(name) is not None]


def _title(name: str) -> str:
    found = label(name)
    return found.title if found else name


def _panel(timeline: Timeline, name: str, height: int) -> list[Panel]:
    """The panel of one column, in its unit; none if it was not recorded."""
    series, text = timeline.column(name), label(name)
    if series is None or text is None:
        return []
    guides = _guides(timeline, name)
    unit = text.unit
    highest = max([float(series.max()), *(guide.value for guide in guides)])
    if unit == "MiB" and highest >= _GIB_FROM:
        unit, series = "GiB", series / 1024
        guides = [Guide(guide.value / 1024, guide.text) for guide in guides]
    title = f"{text.title}, {unit}" if unit else text.title
    return [Panel(title, unit, text.family, series, text.top, height, tuple(guides))]


def _guides(timeline: Timeline, name: str) -> list[Guide]:
    parsed = parse_name(name)
    if parsed is None:
        return []
    column, device = parsed
    host = timeline.start.get("host")
    host = host if isinstance(host, dict) else {}
    cgroup = host.get("cgroup")
    cgroup = cgroup if isinstance(cgroup, dict) else {}
    facts = timeline.gpu_facts(device) if device is not None and column.scope == "gpu" else {}
    value, text = {
        "mem_used_mib": (facts.get("mem_total_mib"), "capacity of the GPU"),
        "power_w": (facts.get("power_limit_w"), "power limit"),
        "host_mem_used_mib": (host.get("mem_total_mib"), "memory of the host"),
        "host_shm_used_mib": (host.get("shm_total_mib"), "size of /dev/shm"),
        "cgroup_mem_used_mib": (cgroup.get("mem_limit_mib"), "limit of the control group"),
    }.get(column.name, (None, ""))
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    return [Guide(float(value), text)] if known and value is not None else []


def _drawing(timeline: Timeline, ident: str, title: str, panels: Sequence[Panel]) -> Drawing | None:
    times = timeline.frame.index
    if not panels or not len(times):
        return None
    start, end = min(0.0, float(times[0])), float(times[-1])
    return Drawing(
        ident, title, tuple(panels[:_MOST_PANELS]), start, end, timeline.source.time_known
    )


def _figure(drawing: Drawing, episodes: Sequence[Episode], caption: str) -> Figure:
    shaded = Drawing(**{**drawing.__dict__, "episodes": tuple(episodes)})
    return Figure(draw(shaded), caption)


def _episodes_in_words(episodes: Sequence[Episode], time_known: bool) -> str:
    if not episodes:
        return ""
    count = "One episode is" if len(episodes) == 1 else f"{len(episodes):,} episodes are"
    if not time_known:
        return f"{count} shaded."
    total = sum(episode.end_s - episode.start_s for episode in episodes)
    return f"{count} shaded, {format_duration(total)} in total."


def _height(panels: int) -> int:
    """The height of a panel when there are that many: few are drawn large."""
    return next(
        (height for most, height in ((1, 110), (2, 84), (4, 60), (8, 44)) if panels <= most), 34
    )
