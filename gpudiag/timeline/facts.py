"""② What was read of a log, in lines of text: format, GPUs, time, columns, gaps, dropped lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from gpudiag.timeline.columns import parse_name
from gpudiag.timeline.host.merge import said
from gpudiag.timeline.host.model import HostLog
from gpudiag.timeline.model import Dropped, Timeline
from gpudiag.units import format_duration

# A step this many times the usual one is a gap: nothing is known of it.
_GAP = 3.0


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
    lines = [f"{source.path}: {source.format}", ""]
    lines += _gpus(timeline)
    lines += [f"  time      {_time(timeline)}"]
    lines += [f"  samples   {len(timeline.frame):,} moments, {source.rows:,} readings"]
    lines += _gap_lines(timeline, most)
    lines += ["", "  columns", *_columns(timeline)]
    taken = source.rows if source.lines_taken is None else source.lines_taken
    lines += [
        "",
        f"  lines     {source.lines:,} = {taken:,} read + {source.header_rows:,} headers + "
        f"{source.other_lines:,} without readings + {len(source.dropped):,} dropped",
    ]
    lines += _dropped(source.dropped, most)
    if timeline.events:
        lines += ["", "  events"]
        shown = timeline.events[:most]
        lines += [f"    at {format_duration(e.t_s)}  {e.kind}: {e.text[:200]}" for e in shown]
        lines += _more(len(timeline.events), most)
    if source.notes:
        lines += ["", "  to know"] + [f"    {note}" for note in source.notes]
    return lines


def told_host(host: HostLog, most: int | None) -> list[str]:
    """The same for a log of the CPU side."""
    taken = host.lines - host.other_lines - len(host.dropped)
    lines = [
        f"{host.path}: {said(host)}",
        "",
        "  It holds no GPU readings: give it beside a GPU log with --host.",
        f"  times are {_CLOCKS[host.clock]}",
        f"  lines     {host.lines:,} = {taken:,} read + {host.other_lines:,} without samples + "
        f"{len(host.dropped):,} dropped",
    ]
    lines += _dropped(host.dropped, most)
    return lines + [f"    {note}" for note in host.notes]


_CLOCKS = {
    "utc": "in UTC",
    "wall": "those of a clock whose time zone is not told",
    "relative": "counted from the start of the logger",
}


def _gpus(timeline: Timeline) -> list[str]:
    lines = []
    for gpu in timeline.gpus:
        facts = timeline.gpu_facts(gpu)
        total = facts.get("mem_total_mib")
        parts = [str(facts.get("name") or "name not told")]
        parts += [f"{total:,.0f} MiB"] if isinstance(total, int | float) else []
        parts += [str(facts[key]) for key in ("bus_id", "uuid") if facts.get(key)]
        lines.append(f"  GPU {gpu:<5} {', '.join(parts)}")
    return lines or ["  GPU       none"]


def _time(timeline: Timeline) -> str:
    source = timeline.source
    if not source.time_known:
        return "not told: the log has no times (--interval gives the time between samples)"
    span = format_duration(source.span_s or 0.0)
    start = timeline.start.get("time")
    every = f", a sample every {source.interval_s:g} s" if source.interval_s else ""
    return f"{f'from {start}, ' if start else ''}{span}{every}"


def _gap_lines(timeline: Timeline, most: int | None) -> list[str]:
    found = gaps(timeline)
    if not found:
        return []
    total = format_duration(sum(length for _, length in found))
    lines = [f"  gaps      {len(found):,}, together {total}: nothing is known of them"]
    lines += [
        f"    at {format_duration(at)}, for {format_duration(length)}"
        for at, length in found[:most]
    ]
    return lines + _more(len(found), most)


def _columns(timeline: Timeline) -> list[str]:
    frame, missing = timeline.frame, timeline.source.missing
    lines = []
    for name in frame.columns:
        parsed = parse_name(name)
        unit = parsed[0].unit if parsed else ""
        cells = frame[name].dropna()
        if cells.empty:
            figures = "no reading"
        else:
            figures = (
                f"{len(cells):,} of {len(frame):,} moments, "
                f"{cells.min():,.6g} to {cells.max():,.6g}"
                f"{f' {unit}' if unit else ''}, mean {cells.mean():,.1f}"
            )
        why = f"; empty cells: {missing[name]}" if name in missing else ""
        lines.append(f"    {name:<22} {figures}{why}")
    return lines


def _dropped(dropped: Sequence[Dropped], most: int | None) -> list[str]:
    if not dropped:
        return []
    lines = [
        f"    {count:,} because: {reason}"
        for reason, count in Counter(drop.reason for drop in dropped).most_common(most)
    ]
    lines += [
        f"    line {drop.line}: {drop.reason}{f': {drop.text}' if drop.text else ''}"
        for drop in dropped[:most]
    ]
    return lines + _more(len(dropped), most)


def _more(count: int, most: int | None) -> list[str]:
    return [f"    … and {count - most:,} more (--all)"] if most is not None and count > most else []
