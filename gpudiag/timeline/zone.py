"""② Give the times of a log their time zone: `--timezone`."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from gpudiag.errors import UsageError
from gpudiag.timeline.host.model import HostLog
from gpudiag.timeline.model import Timeline

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)


def parse_zone(text: str) -> tzinfo:
    """The zone named `Europe/Berlin`, `UTC` or `+02:00`. Raises UsageError."""
    match = _OFFSET.fullmatch(text.strip())
    if match and int(match[2]) < 15 and int(match[3] or 0) < 60:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(text.strip())
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError
        raise UsageError(
            f"no time zone is called {text[:60]!r}", "such as Europe/Berlin, UTC or +02:00"
        ) from None


def zoned(timeline: Timeline, zone: tzinfo) -> Timeline:
    """`timeline` with its start in `zone`; times that have a zone already stay as they are.

    Where the log jumps over the beginning of summer time, the hour that never was is taken out.
    Where the clock went back, the reader has taken time to run on, and nothing is left to do.
    """
    text = timeline.start.get("time")
    if not isinstance(text, str):
        return timeline
    began = datetime.fromisoformat(text)
    if began.tzinfo is not None:
        return timeline
    index = timeline.frame.index.to_numpy(dtype="float64")
    start = {
        **timeline.start,
        "time": began.replace(tzinfo=zone).isoformat(timespec="milliseconds"),
    }
    ran_on = any("clock goes back" in note for note in timeline.source.notes)
    wall = pd.Timestamp(began) + pd.to_timedelta(index, unit="s")
    at = index if ran_on else _utc(wall, zone)
    at = np.round(at - at[0], 6)
    if ran_on or np.allclose(at, index) or (np.diff(at) <= 0).any():
        return replace(timeline, start=start)
    frame = timeline.frame.set_axis(pd.Index(at, name="t_s"))
    moved = [replace(e, t_s=float(np.interp(e.t_s, index, at))) for e in timeline.events]
    note = "A change to or from summer time lies within the log; its hour was taken out."
    source = replace(
        timeline.source, notes=(*timeline.source.notes, note), span_s=float(at[-1] - at[0])
    )
    return replace(timeline, frame=frame, start=start, source=source, events=tuple(moved))


def zoned_host(host: HostLog, zone: tzinfo) -> HostLog:
    """`host` with times in UTC, if they were those of a clock on a wall."""
    if host.clock != "wall":
        return host
    return replace(host, clock="utc", time=_utc(pd.to_datetime(host.time, unit="s"), zone))


def _utc(wall: pd.DatetimeIndex, zone: tzinfo) -> np.ndarray:
    """Seconds since 1970 in UTC of times of the clock on the wall."""
    known = wall.tz_localize(
        zone, ambiguous=np.ones(len(wall), dtype=bool), nonexistent="shift_forward"
    )
    naive = known.tz_convert("UTC").tz_localize(None)
    return np.asarray(naive.to_numpy(dtype="datetime64[us]").astype("int64") / 1e6)
