"""⑤ How good the recording is: what a reader must know before trusting a figure on the page."""

from __future__ import annotations

import numpy as np

from gpudiag.report.clean import clean
from gpudiag.report.environment import figure, mapping
from gpudiag.report.labels import number, percent
from gpudiag.report.view import Quality
from gpudiag.report.words import at
from gpudiag.timeline.model import Timeline
from gpudiag.units import format_duration

_GAP_INTERVALS = 3.5
_MOST_EVENTS, _MOST_REASONS, _MOST_LINES = 60, 30, 8


def quality(timeline: Timeline) -> Quality:
    """Facts, notes, events and dropped lines of a recording or log."""
    return Quality(
        facts=tuple((name, value) for name, value in _facts(timeline) if value),
        notes=tuple(clean(note) for note in timeline.source.notes),
        events=_events(timeline),
        dropped=_dropped(timeline),
    )


def span_s(timeline: Timeline) -> float | None:
    """Seconds from start to end of the recording; None where the log does not tell the time."""
    if not timeline.source.time_known:
        return None
    end = figure(mapping(timeline.end).get("t_s")) if timeline.end is not None else None
    if end is not None:
        return end
    if timeline.source.span_s is not None:
        return timeline.source.span_s
    times = timeline.frame.index
    return float(times[-1] - times[0]) if len(times) else None


def _facts(timeline: Timeline) -> list[tuple[str, str]]:
    source, end = timeline.source, mapping(timeline.end)
    span = span_s(timeline)
    return [
        ("Format", clean(source.format, 200)),
        ("Readings", _readings(timeline)),
        ("Time covered", format_duration(span) if span is not None else "not known"),
        ("Interval, median", _interval(timeline)),
        ("Gaps", _gaps(timeline)),
        ("Lines dropped", f"{len(source.dropped):,}" if source.dropped else "none"),
        ("GPU rows lost", _number(end.get("gpu_rows_lost"))),
        ("From GPU to host sample", _skew(timeline)),
        ("CPU the recorder used", _recorder_cpu(timeline)),
        ("Memory the recorder used", _number(end.get("recorder_max_rss_mib"), " MiB at most")),
        ("End", _end(timeline)),
    ]


def _readings(timeline: Timeline) -> str:
    samples = len(timeline.frame)
    return f"{timeline.source.rows:,} in {'one sample' if samples == 1 else f'{samples:,} samples'}"


def _interval(timeline: Timeline) -> str:
    if not timeline.source.time_known:
        return "not known: the log has no times"
    steps = np.diff(timeline.frame.index.to_numpy(dtype=float))
    if not len(steps):
        return ""
    words = f"{number(float(np.median(steps)))} s"
    asked = figure(timeline.start.get("interval_s"))
    return f"{words} ({number(asked)} s asked for)" if asked is not None else words


def _gaps(timeline: Timeline) -> str:
    if not timeline.source.time_known:
        return "cannot be seen without times"
    steps = np.diff(timeline.frame.index.to_numpy(dtype=float))
    if not len(steps):
        return ""
    gaps = steps[steps > _GAP_INTERVALS * np.median(steps)]
    if not len(gaps):
        return "none"
    total, longest = format_duration(float(gaps.sum())), format_duration(float(gaps.max()))
    return f"{len(gaps)}, {total} in total, {longest} the longest"


def _skew(timeline: Timeline) -> str:
    skew = timeline.column("skew_s")
    if skew is None:
        return ""
    known = skew.dropna()
    return (
        f"{number(float(known.median()) * 1000)} ms in the median, "
        f"{number(float(known.quantile(0.99)) * 1000)} ms at the 99th percentile"
    )


def _recorder_cpu(timeline: Timeline) -> str:
    used, span = figure(mapping(timeline.end).get("recorder_cpu_s")), span_s(timeline)
    if used is None:
        return ""
    share = f" ({percent(used / span)} of one core)" if span else ""
    return f"{number(used)} s{share}"


def _end(timeline: Timeline) -> str:
    if timeline.end is None:
        own = "run.csv" in timeline.source.format
        return "the recording was cut short: its end is missing" if own else ""
    if timeline.end.get("signal") is not None:
        return f"the program was ended by signal {clean(timeline.end['signal'], 40)}"
    if timeline.end.get("exit_code") is not None:
        return f"the program ended with exit code {clean(timeline.end['exit_code'], 40)}"
    return "whole"


def _number(value: object, unit: str = "") -> str:
    known = figure(value)
    return "" if known is None else f"{number(known)}{unit}"


def _events(timeline: Timeline) -> tuple[tuple[str, str, str], ...]:
    known = timeline.source.time_known
    rows = [
        (at(event.t_s, time_known=known), clean(event.kind, 60), clean(event.text, 500))
        for event in timeline.events[:_MOST_EVENTS]
    ]
    more = len(timeline.events) - _MOST_EVENTS
    return (*rows, ("", "", f"and {more:,} more")) if more > 0 else tuple(rows)


def _dropped(timeline: Timeline) -> tuple[tuple[str, str, str], ...]:
    """Reason, the lines, and the text of the first one; the commonest reason first."""
    groups: dict[str, list[int]] = {}
    first: dict[str, str] = {}
    for drop in timeline.source.dropped:
        groups.setdefault(drop.reason, []).append(drop.line)
        first.setdefault(drop.reason, drop.text)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    rows = []
    for reason, lines in ordered[:_MOST_REASONS]:
        shown = ", ".join(str(line) for line in lines[:_MOST_LINES])
        more = len(lines) - _MOST_LINES
        rest = f" and {more:,} more" if more > 0 else ""
        rows.append(
            (
                clean(reason, 300),
                f"{'lines' if len(lines) > 1 else 'line'} {shown}{rest}",
                clean(first[reason], 200),
            )
        )
    return tuple(rows)
