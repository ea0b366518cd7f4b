"""② Sort the lines of an nvidia-smi CSV log: rows by the header they stand under, and the rest.

Rows leave here as text, in tables of equal width; what their cells mean is found out later. A log
whose lines all have the same number of cells goes to pandas whole.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from gpudiag.timeline import clock, progress
from gpudiag.timeline.cells import split
from gpudiag.timeline.fields import FACT_FIGURES, FIGURES, Field, field, header
from gpudiag.timeline.load import Log
from gpudiag.timeline.smicsv_alike import alike
from gpudiag.timeline.smicsv_guess import guess
from gpudiag.timeline.smicsv_rows import OPTIONS, Rows, Sorted
from gpudiag.timeline.smicsv_sorter import Sorter, row_like

NUMERIC = {*FIGURES, *FACT_FIGURES, "index"}
_PIECE = 8 << 20  # above the longest line that is let in
_NAME = re.compile(rb"\n *([A-Za-z][^,\n]*)")


def rows(log: Log, found: Sorted) -> Iterator[Rows]:
    """The rows of `log` in pieces of at most 100,000; all other lines go to `found`."""
    data = log.data
    first, _, rest = data.partition(b"\n")
    text = first.decode("utf-8", "replace").strip()
    cells = split(text)
    fields = header(cells)
    bare = fields is None and text[:1].isdigit() and row_like(cells)
    even = (fields or bare) and data.endswith(b"\n") and _even(data, len(cells))
    clear = even and not _prefixed(data)
    if clear and not (_words_first(rest) and _more_headers(data, first if fields else None)):
        yield from _whole(data if bare else rest, first, fields, found)
    else:
        yield from Sorter(log, found).run()


def _prefixed(data: bytes) -> bool:
    """Whether dates may stand before rows (`2026-02-03 08:00:00: 55, 1234`)."""
    sample = data[:16384].decode("utf-8", "replace").split("\n")[:100]
    return b": " in data or any(clock.stamp(line.strip()) for line in sample)


def _words_first(rest: bytes) -> bool:
    """Whether any line begins with anything but a digit: a header, or what needs a closer look."""
    for start, piece in _pieces(rest):
        begins = np.concatenate(([start], np.flatnonzero(piece == 10)[:-1] + start + 1))
        first = np.frombuffer(rest, dtype=np.uint8)[begins]
        if ((first < 48) | (first > 57)).any():
            return True
    return False


def _pieces(rest: bytes) -> Iterator[tuple[int, np.ndarray]]:
    """Where each piece of whole lines begins, and its bytes."""
    start = 0
    while start < len(rest):
        stop = rest.rfind(b"\n", start, start + _PIECE) + 1
        yield start, np.frombuffer(rest, dtype=np.uint8, count=stop - start, offset=start)
        start = stop


def _more_headers(data: bytes, first: bytes | None) -> bool:
    """Whether another header than `first` comes later: columns may then change their order."""
    names = set(_NAME.findall(data))
    if first is not None:
        start = first.split(b",")[0].strip()
        names.discard(start)
        if set(re.findall(rb"\n *(" + re.escape(start) + rb" *,[^\n]*)", data)) - {first}:
            return True
    return any(field(name.decode("utf-8", "replace")).known for name in names)


def _even(rest: bytes, width: int) -> bool:
    """Whether every line has `width` cells and nothing else needs a closer look."""
    if width < 2 or b'"' in rest or b"\r" in rest:
        return False
    for _, piece in _pieces(rest):
        ends, commas = np.flatnonzero(piece == 10), np.flatnonzero(piece == 44)
        if (np.diff(np.searchsorted(commas, ends), prepend=0) != width - 1).any():
            return False
    return True


def _whole(
    rest: bytes, first: bytes, fields: tuple[Field, ...] | None, found: Sorted
) -> Iterator[Rows]:
    start = first.decode("utf-8", "replace").split(",")[0].lstrip(" ") if fields else None
    width = first.count(b",") + 1
    heads = found.header_rows = found.lines = int(fields is not None)
    known = fields
    for at, piece in _pieces(rest):
        data = piece.tobytes()
        table, units = _table(data, width, known)
        line = np.arange(found.lines + 1, found.lines + 1 + len(table))
        found.lines += len(table)
        progress.tell(at + len(data), len(rest))
        again = (table[0] == start).to_numpy()
        head = heads + np.cumsum(again)
        heads += int(again.sum())
        found.header_rows += int(again.sum())
        keep = ~again
        none = np.full(int(keep.sum()), -1)
        if again.any():
            table = table[keep]
        yield Rows(fields, table, line[keep], none, none + 1, head[keep], units=units)
        known = known or guess(table)[0]  # what the first rows show holds for the others


def _table(
    data: bytes, width: int, fields: tuple[Field, ...] | None
) -> tuple[pd.DataFrame, dict[int, str]]:
    """The rows of whole lines, and the units of those columns that are figures already."""
    numeric = [at for at, column in enumerate(fields or ()) if column.role in NUMERIC]
    found = alike(data, width, numeric) if numeric else None
    if found is not None:
        return found
    return pd.read_csv(io.BytesIO(data), **OPTIONS, names=range(width)), {}
