"""② Rows of an nvidia-smi CSV log as text, and what all its other lines came to."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from gpudiag.timeline import trouble
from gpudiag.timeline.fields import Field
from gpudiag.timeline.model import Dropped

CHUNK = 100_000
OPTIONS: dict[str, Any] = {
    "header": None,
    "dtype": object,
    "na_filter": False,
    "skipinitialspace": True,
    "skip_blank_lines": False,
    "index_col": False,
    "quoting": csv.QUOTE_NONE,
}


@dataclass
class Rows:
    """Rows under one header (or none), as text: `table` has one column a cell.

    For each row: `line`; `stamp`, the number of the last date before it (-1: none); `rule` and
    `head`, how many separators and headers stand before it. Where these change, a new moment may
    begin. Columns in `units` hold figures already, in that unit (empty: none was written).
    """

    fields: tuple[Field, ...] | None
    table: pd.DataFrame
    line: np.ndarray
    stamp: np.ndarray
    rule: np.ndarray
    head: np.ndarray
    quoted: bool = False
    units: dict[int, str] = field(default_factory=dict)


@dataclass
class Sorted:
    """What all lines other than rows came to. Filled while `rows` runs."""

    stamps: list[str] = field(default_factory=list)
    header_rows: int = 0
    lines: int = 0
    other_lines: int = 0
    dropped: list[Dropped] = field(default_factory=list)
    troubles: list[tuple[int, str, trouble.Trouble]] = field(default_factory=list)
    text_lines: int = 0
    first_text: tuple[int, str] = (0, "")
