"""② Put the samples of a CPU-side log beside the GPU readings of the same moments."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from gpudiag.errors import UsageError
from gpudiag.timeline.host.model import HostLog
from gpudiag.timeline.model import Timeline
from gpudiag.units import format_duration

# A sample belongs to the nearest tick if it is no farther from it than this many intervals.
_NEAR = 0.75


def merge(timeline: Timeline, host: HostLog) -> Timeline:
    """`timeline` with the columns of `host`: each sample at its nearest tick, none carried on.

    Columns that the timeline has already are kept. Raises UsageError if the two logs cannot be
    put on one clock, or have no moment in common.
    """
    offset, note = _offset(timeline, host)
    index = timeline.frame.index.to_numpy(dtype="float64")
    at = host.time + offset
    tick = _nearest(index, at)
    near = np.abs(index[tick] - at) <= _reach(index, at)
    if not near.any():
        raise UsageError(
            f"{host.path}: none of its samples falls on a reading of {timeline.source.path}",
            "are the two of the same run, and their clocks in the same time zone (--timezone)?",
        )
    columns = {
        name: pd.Series(values[near]).groupby(tick[near]).mean()
        for name, values in host.columns.items()
        if timeline.column(name) is None
    }
    frame = timeline.frame.copy()
    for name, means in columns.items():
        cells = np.full(len(index), np.nan)
        cells[means.index.to_numpy()] = means.to_numpy()
        frame[name] = cells
    filled = len(np.unique(tick[near]))
    notes = [
        f"The CPU side is from {host.path} ({host.format}): {int(near.sum()):,} of "
        f"{len(at):,} samples fell on {filled:,} of {len(index):,} moments.",
        note,
        *host.notes,
    ]
    start = dict(timeline.start)
    if host.facts:
        start["host"] = {**host.facts, **start.get("host", {})}
    source = replace(
        timeline.source, notes=(*timeline.source.notes, *(text for text in notes if text))
    )
    return replace(timeline, frame=frame, start=start, source=source)


def _offset(timeline: Timeline, host: HostLog) -> tuple[float, str]:
    """What turns the host's times into `t_s`, and what was assumed."""
    if host.clock == "relative" or "time" not in timeline.start:
        if not timeline.source.time_known:
            raise UsageError(
                f"{timeline.source.path} has no times: {host.path} cannot be put beside it",
                "give --interval",
            )
        return -float(host.time[0]), (
            f"{host.path} and the GPU log share no clock: they were taken to begin together."
        )
    began = datetime.fromisoformat(str(timeline.start["time"]))
    zoned = began.tzinfo is not None
    if zoned != (host.clock == "utc"):
        raise UsageError(
            f"the times of {host.path if zoned else timeline.source.path} have no time zone, "
            "those of the other log have",
            "give the zone of the machine with --timezone, such as Europe/Berlin",
        )
    wall = began if zoned else began.replace(tzinfo=UTC)
    return -wall.timestamp(), ""


def _nearest(index: np.ndarray, at: np.ndarray) -> np.ndarray:
    right = np.searchsorted(index, at).clip(0, len(index) - 1)
    left = (right - 1).clip(0)
    return np.where(np.abs(index[left] - at) <= np.abs(index[right] - at), left, right)


def _reach(index: np.ndarray, at: np.ndarray) -> float:
    steps = [float(np.median(np.diff(a))) for a in (index, np.unique(at)) if len(a) > 1]
    return max(_NEAR * min(steps), 0.5) if steps else 1.0


def said(host: HostLog) -> str:
    """One line on what a CPU-side log holds."""
    span = format_duration(float(host.time[-1] - host.time[0]))
    return f"{host.format}: {len(host.time):,} samples over {span} of {', '.join(host.columns)}"
