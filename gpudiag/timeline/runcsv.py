"""② Read run.csv, gpudiag's own recording (format 1; docs/format.md).

A whole file goes to pandas' C reader as it stands. Only a damaged one is sifted line by line
first. A recording may end anywhere: what follows the last line feed is dropped, and a missing
`# end` means that it was cut short.
"""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd

from gpudiag.errors import UnreadableError
from gpudiag.timeline.columns import FORMAT, parse_name
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Dropped, Source, Timeline
from gpudiag.timeline.plausible import LONGEST_S, clear
from gpudiag.timeline.runcsv_meta import Meta, check_format

NAME = "gpudiag run.csv"
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_SHORT = 80


def recognise(head: str) -> float:
    """Certain, or not at all: the first line names the format."""
    return 1.0 if head.startswith("# gpudiag run") else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The recording in `log`. Raises UnreadableError on a newer format or without a sample.

    `interval_s` is not needed: a recording has its clock.
    """
    check_format(log)
    data = log.data
    end = data.rfind(b"\n") + 1
    dropped: list[Dropped] = []
    notes = list(log.notes)
    lines = data.count(b"\n") + (end < len(data))
    if end < len(data):
        dropped.append(Dropped(lines, "the file ends within this line", _shown(data[end:])))
    spans, comments = _split(data, end)
    header, blank = _header(data, spans)
    if header is None:
        raise UnreadableError(
            f"{log.path}: the recording ends before its first sample",
            "the recorder was stopped at once; record again",
        )
    names, known = _names(header, notes, log.path)
    meta = Meta.of(comments)
    dropped += meta.dropped
    frame, headers = _fast(_joined(data, spans), names), 1
    if frame is None:
        frame, headers, blank = _sifted(data[:end], comments, names, header, dropped)
    frame = frame[[name for name in names if known[name]]].set_index("t_s")
    if frame.empty and dropped:
        raise UnreadableError(
            f"{log.path}: no row of the recording can be used; line {dropped[0].line}: "
            f"{dropped[0].reason}",
            "the file was damaged after it was recorded",
        )
    if frame.empty:
        raise UnreadableError(
            f"{log.path}: the recording holds no sample",
            "the command or the recorder ended before the first one",
        )
    frame, impossible = clear(frame, meta.start.get("gpus"))
    if meta.end is None:
        notes.append("The recording was cut short: it has no end line.")
    times = frame.index.to_numpy()
    source = Source(
        path=log.path,
        format=NAME,
        rows=len(frame),
        header_rows=headers,
        lines=lines,
        other_lines=blank + len(comments) - len(meta.dropped),
        span_s=float(times[-1] - times[0]),
        interval_s=float(np.median(np.diff(times))) if len(times) > 1 else None,
        dropped=tuple(sorted(dropped, key=lambda d: d.line)),
        notes=(*notes, *impossible, *meta.notes),
    )
    return Timeline(frame, meta.start, source, tuple(meta.events), meta.end)


def _split(data: bytes, end: int) -> tuple[list[tuple[int, int]], list[tuple[int, bytes]]]:
    """Where the rows stand in `data` (start, stop), and the `#` lines with their numbers."""
    comments: list[tuple[int, bytes]] = []
    spans: list[tuple[int, int]] = []
    start, number = 0, 1
    while start < end:
        if data[start] == 0x23:
            stop = data.index(b"\n", start)
            comments.append((number, data[start:stop]))
            start, number = stop + 1, number + 1
            continue
        stop = data.find(b"\n#", start, end)
        stop = end if stop < 0 else stop + 1
        spans.append((start, stop))
        number += data.count(b"\n", start, stop)
        start = stop
    return spans, comments


def _header(data: bytes, spans: list[tuple[int, int]]) -> tuple[bytes | None, int]:
    """The first line with text, taken off `spans`, and the number of blank lines before it."""
    blank = 0
    while spans:
        start, stop = spans[0]
        line_end = data.index(b"\n", start) + 1
        spans[0] = (line_end, stop)
        if line_end == stop:
            del spans[0]
        if line := data[start : line_end - 1].strip():
            return line, blank
        blank += 1
    return None, blank


def _joined(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    view = memoryview(data)
    return b"".join(view[start:stop] for start, stop in spans)


def _names(header: bytes, notes: list[str], path: str) -> tuple[list[str], dict[str, bool]]:
    """The column names, made unique, and for each whether it belongs to the format."""
    names: list[str] = []
    known: dict[str, bool] = {}
    aside: list[str] = []
    twice: list[str] = []
    for position, text in enumerate(header.decode("utf-8", "replace").split(",")):
        name = text.strip()
        parsed = parse_name(name)
        ours = parsed is not None and parsed[0].in_file(parsed[1] or 0) == name
        if not ours or name in known:
            (twice if ours else aside).append(name[:40] or f"column {position + 1}")
            ours, name = False, f"?{position}"
        names.append(name)
        known[name] = ours
    if "t_s" not in known:
        raise UnreadableError(
            f"{path}: the header line of the recording is damaged: it has no column t_s",
            "the line after the start line names the columns",
        )
    if twice:
        notes.append(f"Only the first of equal columns was taken: {', '.join(twice[:8])}.")
    if aside:
        more = f" and {len(aside) - 8} more" if len(aside) > 8 else ""
        listed = ", ".join(aside[:8]) + more
        notes.append(f"Columns that format {FORMAT} does not know were left aside: {listed}.")
    return names, known


def _fast(rows: bytes, names: list[str]) -> pd.DataFrame | None:
    """The whole table by pandas, or None if any row of it is damaged."""
    count = rows.count(b"\n")
    # pandas fills a short row with empty cells and says nothing; the commas tell.
    # A row with too many makes it stop, but the first one: that it cuts short.
    first = rows[: rows.find(b"\n")]
    if rows.count(b",") != count * (len(names) - 1) or first.count(b",") != len(names) - 1:
        return None
    frame = _parse(rows, names)
    if frame is None or len(frame) != count:
        return None
    times = frame["t_s"].to_numpy()
    sound = bool(np.all(np.diff(times) > 0)) and bool((np.abs(times) <= LONGEST_S).all())
    return frame if sound and not _infinite(frame) else None


def _parse(rows: bytes, names: list[str]) -> pd.DataFrame | None:
    if not rows:
        return pd.DataFrame({name: pd.Series(dtype="float64") for name in names})
    try:
        return pd.read_csv(
            io.BytesIO(rows),
            header=None,
            names=names,
            index_col=False,
            dtype={name: str if name.startswith("?") else "float64" for name in names},
            keep_default_na=False,
            na_values=[""],
            quoting=3,
            on_bad_lines="error",
            skip_blank_lines=False,
        )
    except (ValueError, OverflowError, pd.errors.ParserError):
        return None


def _infinite(frame: pd.DataFrame) -> bool:
    return any(
        bool(np.isinf(frame[name].to_numpy()).any())
        for name in frame.columns
        if not name.startswith("?")
    )


def _sifted(
    whole: bytes,
    comments: list[tuple[int, bytes]],
    names: list[str],
    header: bytes,
    dropped: list[Dropped],
) -> tuple[pd.DataFrame, int, int]:
    """The sound rows of a damaged file, and how many lines were headers and blank.

    Every other line goes to `dropped` with its reason.
    """
    skip = {number for number, _ in comments}
    plain = [not name.startswith("?") for name in names]
    time_at = names.index("t_s")
    good: list[bytes] = []
    headers, blank, last = 0, 0, -np.inf
    for number, line in enumerate(whole.removesuffix(b"\n").split(b"\n"), 1):
        if number in skip:
            continue
        if not line.strip():
            blank += 1
        elif line.strip() == header:
            headers += 1
        elif reason := _fault(line, plain, time_at, last):
            dropped.append(Dropped(number, reason, _shown(line)))
        else:
            good.append(line)
            last = float(line.split(b",")[time_at])
    frame = _parse(b"".join(line + b"\n" for line in good), names)
    if frame is None or len(frame) != len(good):
        raise UnreadableError("the recording is damaged beyond what can be sifted")
    return frame, headers, blank


def _fault(line: bytes, plain: list[bool], time_at: int, last: float) -> str:
    """Why this row cannot be used; empty if it can."""
    if b"\r" in line:
        return "broken off within the line"
    cells = line.decode("utf-8", "replace").split(",")
    if len(cells) != len(plain):
        return f"{len(cells)} cells where the header has {len(plain)}"
    for cell, figure in zip(cells, plain, strict=True):
        if figure and cell and not (_NUMBER.fullmatch(cell) and np.isfinite(float(cell))):
            return f"a cell that is no figure: {cell[:20]!r}"
    if not cells[time_at]:
        return "no time"
    now = float(cells[time_at])
    if abs(now) > LONGEST_S:
        return f"its time {cells[time_at][:20]} is not possible"
    if not now > last:
        return f"its time {cells[time_at]} does not follow the row before"
    if any(
        figure and cell and not np.isfinite(float(cell))
        for cell, figure in zip(cells, plain, strict=True)
    ):
        return "a cell beyond all bounds"
    return ""


def _shown(text: bytes) -> str:
    return text[:_SHORT].decode("utf-8", "replace")
