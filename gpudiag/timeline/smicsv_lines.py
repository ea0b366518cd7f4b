"""② Sort the lines of an nvidia-smi CSV log: rows by the header they stand under, and the rest.

Rows leave here as text, in tables of equal width; what their cells mean is found out later. A log
whose lines all have the same number of cells goes to pandas whole.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pandas as pd

from gpudiag.timeline.cells import split
from gpudiag.timeline.fields import Field, header
from gpudiag.timeline.load import Log
from gpudiag.timeline.smicsv_rows import CHUNK, OPTIONS, Rows, Sorted
from gpudiag.timeline.smicsv_sorter import Sorter

_PIECE = 8 << 20  # above the longest line that is let in


def rows(log: Log, found: Sorted) -> Iterator[Rows]:
    """The rows of `log` in pieces of at most 100,000; all other lines go to `found`."""
    data = log.data
    first, _, rest = data.partition(b"\n")
    fields = header(split(first.decode("utf-8", "replace")))
    if fields and data.endswith(b"\n") and _even(rest, len(fields)):
        yield from _whole(rest, first.decode("utf-8", "replace"), fields, found)
    else:
        yield from Sorter(log, found).run()


def _even(rest: bytes, width: int) -> bool:
    """Whether every line has `width` cells and nothing else needs a closer look."""
    if width < 2 or b'"' in rest or b"\r" in rest:
        return False
    if rest.count(b",") != rest.count(b"\n") * (width - 1):
        return False
    start = 0
    while start < len(rest):
        stop = rest.rfind(b"\n", start, start + _PIECE) + 1
        piece = np.frombuffer(rest, dtype=np.uint8, count=stop - start, offset=start)
        ends, commas = np.flatnonzero(piece == 10), np.flatnonzero(piece == 44)
        if (np.diff(np.searchsorted(commas, ends), prepend=0) != width - 1).any():
            return False
        start = stop
    return True


def _whole(rest: bytes, first: str, fields: tuple[Field, ...], found: Sorted) -> Iterator[Rows]:
    start = first.split(",")[0].lstrip(" ")
    found.header_rows, found.lines = 1, 1
    if not rest:
        return
    pieces = pd.read_csv(io.BytesIO(rest), chunksize=CHUNK, **OPTIONS, names=range(len(fields)))
    heads = 1
    for table in pieces:
        line = np.arange(found.lines + 1, found.lines + 1 + len(table))
        found.lines += len(table)
        again = (table[0] == start).to_numpy()
        head = heads + np.cumsum(again)
        heads += int(again.sum())
        found.header_rows += int(again.sum())
        keep = ~again
        none = np.full(int(keep.sum()), -1)
        yield Rows(fields, table[keep], line[keep], none, none + 1, head[keep])
