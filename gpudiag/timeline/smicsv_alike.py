"""② Rows that are all alike but for their figures, which the CSV parser then reads at full speed.

Without its digits every row of most logs is the same text: `// ::, ,  %,  MiB`. Where that is so,
and exactly so, no cell holds `[N/A]`, another unit or a torn end, the units can be cut off, and
nothing need be looked at cell by cell. Where it is not, the rows are read as text.
"""

from __future__ import annotations

import io
from collections.abc import Collection

import numpy as np
import pandas as pd

from gpudiag.timeline.smicsv_rows import OPTIONS

_DIGITS = b"0123456789.+-"
_UNITS = ("", "%", "MiB", "W", "MHz", "C")


def alike(
    piece: bytes, width: int, numeric: Collection[int]
) -> tuple[pd.DataFrame, dict[int, str]] | None:
    """The rows of `piece` (whole lines of `width` cells), and the unit of each column of figures.

    Of the columns `numeric` those that hold figures alone are float64; all others are text. None
    where the rows are not alike, or hold no such column.
    """
    bare = piece.translate(None, _DIGITS)
    length = bare.find(b"\n") + 1
    row = bare[:length]
    if not length or len(bare) % length or bare != row * (len(bare) // length):
        return None
    units = _units(row, piece[: piece.find(b"\n")], numeric)
    if not units:
        return None
    piece = _without(piece, row, units)
    kinds = {at: np.float64 if at in units else object for at in range(width)}
    try:
        table = pd.read_csv(io.BytesIO(piece), **{**OPTIONS, "dtype": kinds}, names=range(width))
    except ValueError:  # an empty cell, or one with two points
        return None
    return table, units


def _without(piece: bytes, row: bytes, units: dict[int, str]) -> bytes:
    """`piece` without the units. A blank may stay behind a figure: the parser passes over it."""
    letters = b""
    for unit in set(units.values()) - {""}:
        written, count = unit.encode(), sum(other == unit for other in units.values())
        if all(row.count(written[n : n + 1]) == count for n in range(len(written))):
            letters += written  # they stand nowhere else: taking letters out is ten times as fast
            continue
        for end in (b",", b"\n"):
            piece = piece.replace(b" " + written + end, end)
    return piece.translate(None, letters) if letters else piece


def _units(row: bytes, first: bytes, numeric: Collection[int]) -> dict[int, str]:
    """The unit of each column that holds figures; `row` is any row without its digits."""
    cells = [cell.strip() for cell in row.decode("utf-8", "replace").split(",")]
    texts = [cell.strip() for cell in first.decode("utf-8", "replace").split(",")]
    units = {
        at: cells[at]
        for at in numeric
        if cells[at] in _UNITS and _is_figure(texts[at].removesuffix(cells[at]))
    }
    for unit in set(units.values()) - {""}:
        written = f" {unit}".encode()
        found = row.count(written + b",") + row.count(written + b"\n")
        if found != sum(other == unit for other in units.values()):  # a text ends like it
            units = {at: other for at, other in units.items() if other != unit}
    return units


def _is_figure(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
