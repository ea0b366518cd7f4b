"""② Read run.csv, gpudiag's own recording (format 1; docs/format.md).

A recording may end anywhere: what follows the last line feed is dropped, and a missing
`# end` means that it was cut short.
"""

from __future__ import annotations

import numpy as np

from gpudiag.errors import UnreadableError
from gpudiag.timeline.columns import FORMAT, parse_name
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Dropped, Source, Timeline
from gpudiag.timeline.plausible import clear
from gpudiag.timeline.runcsv_meta import Meta, check_format
from gpudiag.timeline.runcsv_rows import fast, shown, sifted

NAME = "gpudiag run.csv"


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
        dropped.append(Dropped(lines, "the file ends within this line", shown(data[end:])))
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
    frame, headers = fast(_joined(data, spans), names), 1
    if frame is None:
        frame, headers, blank = sifted(data[:end], comments, names, header, dropped)
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
