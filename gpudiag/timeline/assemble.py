"""② From readings to a Timeline: one clock, one row a tick, and what the log cannot say."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pandas as pd

from gpudiag.errors import UnreadableError
from gpudiag.timeline import clock, identity
from gpudiag.timeline.cells import LOST
from gpudiag.timeline.fields import FIGURES
from gpudiag.timeline.model import Event, Source, Timeline
from gpudiag.timeline.readings import Readings
from gpudiag.timeline.ticks import Ticks

_MOST_EVENTS = 200


class Counts(Protocol):
    """The lines of a file that were no readings."""

    header_rows: int
    lines: int
    other_lines: int


def timeline(
    readings: Readings, path: str, name: str, counts: Counts, interval_s: float | None = None
) -> Timeline:
    """The Timeline of `readings`. Raises UnreadableError if none is left.

    `interval_s`: seconds between samples, used if the log has no times.
    """
    first_stamp = _clock_of(readings)
    gpu, block = identity.numbers(readings)
    if not len(readings):
        reason = readings.dropped[0].reason if readings.dropped else "empty"
        raise UnreadableError(f"{path}: no row of it can be used: {reason}", "log the GPU index")
    if readings.time is None:
        _times_of_stamps(readings, gpu)
    ticks = Ticks(readings, gpu, block, interval_s)
    frame, missing = _frame(readings, gpu, ticks)
    numbers = np.unique(gpu)
    start: dict[str, Any] = {
        "gpus": [identity.facts(readings, gpu, int(number)) for number in numbers]
    }
    began = readings.time[0] if readings.time is not None else first_stamp
    if began is not None and (text := clock.iso(float(began))):
        start["time"] = text + "+00:00" * readings.absolute
    if ticks.interval_s:
        start["interval_s"] = round(ticks.interval_s, 3)
    source = Source(
        path=path,
        format=name,
        time_known=ticks.known,
        rows=len(readings),
        header_rows=counts.header_rows,
        lines=counts.lines,
        other_lines=counts.other_lines,
        span_s=ticks.span_s,
        interval_s=ticks.interval_s,
        dropped=tuple(sorted(readings.dropped, key=lambda d: d.line)),
        notes=tuple(dict.fromkeys(readings.notes)),
        missing=missing,
        lines_taken=readings.lines_taken,
    )
    return Timeline(frame, start, source, tuple(_events(readings, gpu, ticks)))


def _clock_of(readings: Readings) -> float | None:
    """Settle whether rows have times of their own; the time of the first date line, if any."""
    if readings.time is not None:
        if np.isnan(readings.time).all():
            readings.time = None
        else:
            readings.drop(np.isnan(readings.time), "its time cannot be read")
    known = readings.stamp_times[~np.isnan(readings.stamp_times)]
    return float(known[0]) if len(known) else None


def _times_of_stamps(readings: Readings, gpu: np.ndarray) -> None:
    """Give rows the time of the date line before them, if there is one for every moment."""
    if readings.stamp.max(initial=-1) < 0:
        return
    pairs = readings.stamp.astype(np.int64) * (identity.MOST_GPUS * 4) + gpu
    if len(np.unique(pairs)) < 0.95 * len(pairs):
        readings.notes.append("Its date lines stand before many rows each: they date no sample.")
        return
    times = np.append(readings.stamp_times, np.nan)[readings.stamp]
    if np.isnan(times).all():
        return
    readings.time = times


def _frame(
    readings: Readings, gpu: np.ndarray, ticks: Ticks
) -> tuple[pd.DataFrame, dict[str, str]]:
    columns: dict[str, np.ndarray] = {}
    missing: dict[str, str] = {}
    for number in np.unique(gpu):
        where = np.flatnonzero(gpu == number)
        for role in FIGURES:
            if role not in readings.figures:
                continue
            cells = np.full(len(ticks.at), np.nan)
            values = readings.figures[role][where]
            cells[ticks.number[where]] = values
            columns[f"gpu{number}_{role}"] = cells
            gone = np.isnan(values)
            if gone.any():
                reasons = readings.reasons[role][where][gone]
                lines = readings.line[where][gone]
                missing[f"gpu{number}_{role}"] = _why(readings, reasons, lines, len(where))
    index = pd.Index(ticks.at, name="t_s", dtype="float64")
    return pd.DataFrame(columns, index=index), missing


def _why(readings: Readings, reasons: np.ndarray, lines: np.ndarray, total: int) -> str:
    found, first, counts = np.unique(reasons, return_index=True, return_counts=True)
    parts = []
    for at in np.argsort(-counts, kind="stable")[:3]:
        text = readings.reason_texts[found[at]]
        parts.append(
            f"{text} in {counts[at]:,} of {total:,} rows, first in line {lines[first[at]]}"
        )
    more = f"; and {len(found) - 3} other reasons" if len(found) > 3 else ""
    return "; ".join(parts) + more


def _events(readings: Readings, gpu: np.ndarray, ticks: Ticks) -> list[Event]:
    events = _losses(readings, gpu, ticks) + [
        Event(
            float(ticks.at[tick]),
            "clock-step",
            f"the clock of the log moved by {step:+.1f} s",
            {"seconds": step},
        )
        for tick, step in ticks.steps
    ]
    last: Event | None = None
    for line, text, told in readings.troubles:
        at = max(int(np.searchsorted(readings.line, line, "right")) - 1, 0)
        t_s = float(ticks.at[ticks.number[at]])
        if last and last.text == text:
            continue
        last = Event(t_s, told.kind, text[:300], {"line": line, "meaning": told.meaning})
        events.append(last)
    if len(events) > _MOST_EVENTS:
        readings.notes.append(f"Only the first {_MOST_EVENTS} of {len(events):,} events are kept.")
    return sorted(events, key=lambda event: event.t_s)[:_MOST_EVENTS]


def _losses(readings: Readings, gpu: np.ndarray, ticks: Ticks) -> list[Event]:
    """An event where a GPU stops answering, by the words that nvidia-smi puts into its cells."""
    texts = [text.lower() for text in readings.reason_texts]
    sure = np.array([any(word in text for word in LOST) for text in texts])
    likely = sure | np.array(["unknown error" in text for text in texts])
    if not likely.any() or not readings.reasons:
        return []
    table = np.array([readings.reasons[role] for role in readings.reasons])
    hit = likely[table]
    # An unknown error in one cell is that of a sensor; in all cells it is that of the GPU.
    dumb = np.all([np.isnan(readings.figures[r]) for r in FIGURES if r in readings.figures], axis=0)
    lost = sure[table].any(axis=0) | (hit.any(axis=0) & dumb)
    events = []
    for number in np.unique(gpu[lost]):
        where = np.flatnonzero(gpu == number)
        for at in where[np.flatnonzero(np.diff(lost[where].astype(int), prepend=0) == 1)]:
            code = table[hit[:, at].argmax(), at]
            events.append(
                Event(
                    float(ticks.at[ticks.number[at]]),
                    "gpu-lost",
                    f"GPU {number}: {readings.reason_texts[code]}",
                    {"gpu": int(number), "line": int(readings.line[at])},
                )
            )
    return events
