"""② What was read of a log, in lines of text: format, GPUs, time, columns, gaps, dropped lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from gpudiag.language import retold, tr
from gpudiag.timeline.columns import parse_name
from gpudiag.timeline.host.merge import said
from gpudiag.timeline.host.model import HostLog
from gpudiag.timeline.model import Dropped, Timeline
from gpudiag.units import format_duration

# A step this many times the usual one is a gap: nothing is known of it.
_GAP = 3.0
_CLOCKS = {
    "utc": "in UTC",
    "wall": "those of a clock whose time zone is not told",
    "relative": "counted from the start of the logger",
}


def gaps(timeline: Timeline) -> list[tuple[float, float]]:
    """(start, length) in seconds of the gaps: steps of more than three times the usual one."""
    index = timeline.frame.index.to_numpy(dtype="float64")
    steps = np.diff(index)
    if not timeline.source.time_known or len(steps) < 3:
        return []
    wide = np.flatnonzero(steps > _GAP * float(np.median(steps)))
    return [(float(index[at]), float(steps[at])) for at in wide]


def told(timeline: Timeline, most: int | None) -> list[str]:
    """Lines for a person; lists are cut after `most`."""
    source = timeline.source
    lines = [f"{source.path}: {retold(source.format)}", ""]
    lines += _gpus(timeline)
    lines.append(_fact(tr("time"), _time(timeline)))
    counts = {"moments": f"{len(timeline.frame):,}", "rows": f"{source.rows:,}"}
    lines.append(_fact(tr("samples"), tr("{moments} moments, {rows} readings", **counts)))
    lines += _gap_lines(timeline, most)
    lines += ["", f"  {tr('columns')}", *_columns(timeline)]
    taken = source.rows if source.lines_taken is None else source.lines_taken
    sum_of_lines = tr(
        "{lines} = {read} read + {headers} headers + {others} without readings + {dropped} dropped",
        lines=f"{source.lines:,}",
        read=f"{taken:,}",
        headers=f"{source.header_rows:,}",
        others=f"{source.other_lines:,}",
        dropped=f"{len(source.dropped):,}",
    )
    lines += ["", _fact(tr("lines"), sum_of_lines)]
    lines += _dropped(source.dropped, most)
    if timeline.events:
        lines += ["", f"  {tr('events')}"]
        lines += [
            "    "
            + tr(
                "at {time}  {kind}: {text}",
                time=format_duration(event.t_s),
                kind=event.kind,
                text=retold(event.text[:200]),
            )
            for event in timeline.events[:most]
        ]
        lines += _more(len(timeline.events), most)
    if source.notes:
        lines += ["", f"  {tr('to know')}"] + [f"    {retold(note)}" for note in source.notes]
    return lines


def told_host(host: HostLog, most: int | None) -> list[str]:
    """The same for a log of the CPU side."""
    taken = host.lines - host.other_lines - len(host.dropped)
    sum_of_lines = tr(
        "{lines} = {read} read + {others} without samples + {dropped} dropped",
        lines=f"{host.lines:,}",
        read=f"{taken:,}",
        others=f"{host.other_lines:,}",
        dropped=f"{len(host.dropped):,}",
    )
    lines = [
        f"{host.path}: {said(host)}",
        "",
        f"  {tr('It holds no GPU readings: give it beside a GPU log with --host.')}",
        f"  {tr('times are {clock}', clock=tr(_CLOCKS[host.clock]))}",
        _fact(tr("lines"), sum_of_lines),
    ]
    lines += _dropped(host.dropped, most)
    return lines + [f"    {retold(note)}" for note in host.notes]


def _fact(name: str, text: str) -> str:
    return f"  {name:<9} {text}"


def _gpus(timeline: Timeline) -> list[str]:
    lines = []
    for gpu in timeline.gpus:
        facts = timeline.gpu_facts(gpu)
        total = facts.get("mem_total_mib")
        parts = [str(facts.get("name") or tr("name not told"))]
        parts += [f"{total:,.0f} MiB"] if isinstance(total, int | float) else []
        parts += [str(facts[key]) for key in ("bus_id", "uuid") if facts.get(key)]
        lines.append(f"  GPU {gpu:<5} {tr(', ').join(parts)}")
    return lines or [_fact("GPU", tr("none"))]


def _time(timeline: Timeline) -> str:
    source = timeline.source
    if not source.time_known:
        return tr("not told: the log has no times (--interval gives the time between samples)")
    span = format_duration(source.span_s or 0.0)
    start = timeline.start.get("time")
    began = tr("from {start}, ", start=start) if start else ""
    every = source.interval_s
    return f"{began}{span}" + (
        tr(", a sample every {interval} s", interval=f"{every:g}") if every else ""
    )


def _gap_lines(timeline: Timeline, most: int | None) -> list[str]:
    found = gaps(timeline)
    if not found:
        return []
    total = format_duration(sum(length for _, length in found))
    text = "{count}, together {total}: nothing is known of them"
    lines = [_fact(tr("gaps"), tr(text, count=f"{len(found):,}", total=total))]
    lines += [
        "    "
        + tr("at {start}, for {length}", start=format_duration(at), length=format_duration(length))
        for at, length in found[:most]
    ]
    return lines + _more(len(found), most)


def _columns(timeline: Timeline) -> list[str]:
    frame, missing = timeline.frame, timeline.source.missing
    lines = []
    for name in frame.columns:
        parsed = parse_name(name)
        unit = f" {parsed[0].unit}" if parsed and parsed[0].unit else ""
        cells = frame[name].dropna()
        if cells.empty:
            figures = tr("no reading")
        else:
            figures = tr(
                "{cells} of {moments} moments, {low} to {high}, mean {mean}",
                cells=f"{len(cells):,}",
                moments=f"{len(frame):,}",
                low=f"{cells.min():,.6g}",
                high=f"{cells.max():,.6g}{unit}",
                mean=f"{cells.mean():,.1f}",
            )
        if name in missing:
            why = tr("; ").join(map(retold, missing[name].split("; ")))
            figures = tr("{figures}; empty cells: {why}", figures=figures, why=why)
        lines.append(f"    {name:<22} {figures}")
    return lines


def _dropped(dropped: Sequence[Dropped], most: int | None) -> list[str]:
    if not dropped:
        return []
    counts = Counter(drop.reason for drop in dropped).most_common(most)
    lines = [
        tr("{count} because: {reason}", count=f"{count:,}", reason=retold(reason))
        for reason, count in counts
    ]
    for drop in dropped[:most]:
        facts = {"line": drop.line, "reason": retold(drop.reason)}
        if drop.text:
            lines.append(tr("line {line}: {reason}: {text}", **facts, text=drop.text))
        else:
            lines.append(tr("line {line}: {reason}", **facts))
    return [f"    {line}" for line in lines] + _more(len(dropped), most)


def _more(count: int, most: int | None) -> list[str]:
    if most is None or count <= most:
        return []
    return ["    " + tr("… and {count} more (--all)", count=f"{count - most:,}")]
