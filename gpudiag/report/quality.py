"""⑤ How good the recording is: what a reader must know before trusting a figure on the page."""

from __future__ import annotations

import numpy as np

from gpudiag.language import retold, tr
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
        notes=tuple(clean(retold(note)) for note in timeline.source.notes),
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
        (tr("Format"), clean(retold(source.format), 200)),
        (tr("Readings"), _readings(timeline)),
        (tr("Time covered"), format_duration(span) if span is not None else tr("not known")),
        (tr("Interval, median"), _interval(timeline)),
        (tr("Gaps"), _gaps(timeline)),
        (tr("Lines dropped"), f"{len(source.dropped):,}" if source.dropped else tr("none")),
        (tr("GPU rows lost"), _number(end.get("gpu_rows_lost"))),
        (tr("From GPU to host sample"), _skew(timeline)),
        (tr("CPU the recorder used"), _recorder_cpu(timeline)),
        (
            tr("Memory the recorder used"),
            _number(end.get("recorder_max_rss_mib"), tr(" MiB at most")),
        ),
        (tr("End"), _end(timeline)),
    ]


def _readings(timeline: Timeline) -> str:
    samples = len(timeline.frame)
    rows = f"{timeline.source.rows:,}"
    if samples == 1:
        return tr("{rows} in one sample", rows=rows)
    return tr("{rows} in {samples} samples", rows=rows, samples=f"{samples:,}")


def _interval(timeline: Timeline) -> str:
    if not timeline.source.time_known:
        return tr("not known: the log has no times")
    steps = np.diff(timeline.frame.index.to_numpy(dtype=float))
    if not len(steps):
        return ""
    words = f"{number(float(np.median(steps)))} s"
    asked = figure(timeline.start.get("interval_s"))
    if asked is None:
        return words
    return tr("{interval} ({asked} s asked for)", interval=words, asked=number(asked))


def _gaps(timeline: Timeline) -> str:
    if not timeline.source.time_known:
        return tr("cannot be seen without times")
    steps = np.diff(timeline.frame.index.to_numpy(dtype=float))
    if not len(steps):
        return ""
    gaps = steps[steps > _GAP_INTERVALS * np.median(steps)]
    if not len(gaps):
        return tr("none")
    total, longest = format_duration(float(gaps.sum())), format_duration(float(gaps.max()))
    return tr(
        "{count}, {total} in total, {longest} the longest",
        count=len(gaps),
        total=total,
        longest=longest,
    )


def _skew(timeline: Timeline) -> str:
    skew = timeline.column("skew_s")
    if skew is None:
        return ""
    known = skew.dropna()
    return tr(
        "{median} ms in the median, {high} ms at the 99th percentile",
        median=number(float(known.median()) * 1000),
        high=number(float(known.quantile(0.99)) * 1000),
    )


def _recorder_cpu(timeline: Timeline) -> str:
    used, span = figure(mapping(timeline.end).get("recorder_cpu_s")), span_s(timeline)
    if used is None:
        return ""
    if not span:
        return f"{number(used)} s"
    return tr("{time} s ({share} of one core)", time=number(used), share=percent(used / span))


def _end(timeline: Timeline) -> str:
    if timeline.end is None:
        own = "run.csv" in timeline.source.format
        return tr("the recording was cut short: its end is missing") if own else ""
    if timeline.end.get("signal") is not None:
        return tr(
            "the program was ended by signal {signal}", signal=clean(timeline.end["signal"], 40)
        )
    if timeline.end.get("exit_code") is not None:
        return tr(
            "the program ended with exit code {code}", code=clean(timeline.end["exit_code"], 40)
        )
    return tr("whole")


def _number(value: object, unit: str = "") -> str:
    known = figure(value)
    return "" if known is None else f"{number(known)}{unit}"


def _events(timeline: Timeline) -> tuple[tuple[str, str, str], ...]:
    known = timeline.source.time_known
    rows = [
        (at(event.t_s, time_known=known), clean(event.kind, 60), clean(retold(event.text), 500))
        for event in timeline.events[:_MOST_EVENTS]
    ]
    more = len(timeline.events) - _MOST_EVENTS
    return (*rows, ("", "", tr("and {count} more", count=f"{more:,}"))) if more > 0 else tuple(rows)


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
        if more > 0:
            shown = tr("{lines} and {count} more", lines=shown, count=f"{more:,}")
        rows.append(
            (
                clean(retold(reason), 300),
                tr("lines {lines}", lines=shown)
                if len(lines) > 1
                else tr("line {lines}", lines=shown),
                clean(first[reason], 200),
            )
        )
    return tuple(rows)
