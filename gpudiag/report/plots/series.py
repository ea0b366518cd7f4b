"""⑤ From a column of a recording to a panel: its unit, its guides, and where it is heading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpudiag.language import tr
from gpudiag.report.environment import figure, mapping
from gpudiag.report.labels import label, mebibytes, number
from gpudiag.report.plots.panels import Guide, Panel, Projection
from gpudiag.signals.compute import SignalSet
from gpudiag.timeline.columns import parse_name
from gpudiag.timeline.model import Timeline
from gpudiag.units import format_roughly

_GIB = 1024.0
_GIB_FROM = 4096.0  # MiB: from here on an axis counts in GiB


def expand(columns: Sequence[str], gpus: Iterable[int]) -> list[str]:
    """`gpu_util_pct` for each of `gpus`; other names as they stand; unknown names left out."""
    names: list[str] = []
    devices = list(gpus)
    for column in columns:
        if column.startswith("gpu_") and parse_name(column) is None:
            names += [f"gpu{gpu}_{column[4:]}" for gpu in devices]
        else:
            names.append(column)
    return [name for name in dict.fromkeys(names) if parse_name(name) is not None]


def title(name: str) -> str:
    """What the column is called on the page."""
    found = label(name)
    return found.title if found else name


def panels(
    timeline: Timeline,
    names: Iterable[str],
    height: int,
    projections: dict[str, Projection] | None = None,
) -> list[Panel]:
    """One panel for each column that was recorded. Memory is shown in GiB from 4 GiB on."""
    found = []
    for name in names:
        series, text = timeline.column(name), label(name)
        if series is None or text is None:
            continue
        guides, unit, scale = _guides(timeline, name), text.unit, 1.0
        if unit == "MiB" and max([series.max(), *(guide.value for guide in guides)]) >= _GIB_FROM:
            unit, scale = "GiB", _GIB
        projection = (projections or {}).get(name)
        found.append(
            Panel(
                title=tr("{title}, {unit}", title=text.title, unit=unit)
                if unit and "%" not in text.title
                else text.title,
                unit=unit,
                family=text.family,
                series=series / scale if scale != 1.0 else series,
                top=text.top,
                height=height,
                guides=tuple(Guide(guide.value / scale, guide.text) for guide in guides),
                projection=projection.scaled(1 / scale) if projection else None,
            )
        )
    return found


def creep_projections(timeline: Timeline, gpus: Iterable[int]) -> dict[str, Projection]:
    """Where the memory of `gpus` reaches their capacity at its present rate, by column.

    Only for GPUs of which the signal `oom_in_s` can be given. The line ends at the capacity, or
    one more recording's length ahead if that is sooner.
    """
    signals = SignalSet(timeline)
    found = {}
    for gpu in gpus:
        left, slope, last, total = (
            signals.get(name, gpu)
            for name in ("oom_in_s", "mem_slope_mib_min", "mem_last_mib", "mem_total_mib")
        )
        if not (
            isinstance(left, float)
            and isinstance(slope, float)
            and isinstance(last, float)
            and isinstance(total, float)
            and slope > 0
        ):
            continue
        times = timeline.frame.index
        start = float(times[-1])
        ahead = min((total - last) / slope * 60, max(start - float(times[0]), 1.0))
        found[f"gpu{gpu}_mem_used_mib"] = Projection(
            start, last, start + ahead, last + slope / 60 * ahead,
            tr("at this rate full in {time}", time=format_roughly(left)),
        )  # fmt: skip
    return found


def _guides(timeline: Timeline, name: str) -> list[Guide]:
    """The limits that a column is to be compared with."""
    parsed = parse_name(name)
    if parsed is None:
        return []
    column, device = parsed
    host = mapping(timeline.start.get("host"))
    cgroup = mapping(host.get("cgroup"))
    facts = timeline.gpu_facts(device) if device is not None and column.scope == "gpu" else {}
    found, text = {
        "mem_used_mib": (facts.get("mem_total_mib"), "capacity"),
        "power_w": (facts.get("power_limit_w"), "limit"),
        "host_mem_used_mib": (host.get("mem_total_mib"), "of the host"),
        "host_shm_used_mib": (host.get("shm_total_mib"), "size"),
        "cgroup_mem_used_mib": (cgroup.get("mem_limit_mib"), "limit"),
    }.get(column.name, (None, ""))
    value = figure(found)
    if value is None or not 0 < value < 1e12:
        return []
    shown = mebibytes(value) if column.unit == "MiB" else f"{number(value)} {column.unit}"
    said = (
        tr("{limit} of the host", limit=shown)
        if text == "of the host"
        else tr("{what} {limit}", what=tr(text), limit=shown)
    )
    return [Guide(value, said)]
