"""② The rows of run.csv: a whole table by pandas, a damaged one line by line."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd

from gpudiag.errors import UnreadableError
from gpudiag.timeline.model import Dropped
from gpudiag.timeline.plausible import LONGEST_S

_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_SHORT = 80


def fast(rows: bytes, names: list[str]) -> pd.DataFrame | None:
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
    sound = bool((np.abs(times) <= LONGEST_S).all()) and bool(np.all(np.diff(times) > 0))
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


def sifted(
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
            dropped.append(Dropped(number, reason, shown(line)))
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


def shown(text: bytes) -> str:
    return text[:_SHORT].decode("utf-8", "replace")
