"""② What kind of text a column without a header holds: a time, a name, figures with a unit."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gpudiag.timeline import clock
from gpudiag.timeline.cells import is_missing

_LOOKED_AT = 20_000
_FIGURE = re.compile(r"([-+]?\d+(\.\d+)?)\s*(%|MiB|MB|GiB|W|MHz|C)?")
_TEXTS = {
    "uuid": re.compile(r"GPU-[0-9a-f][0-9a-f-]{5,}", re.IGNORECASE),
    "bus": re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d", re.IGNORECASE),
    "pstate": re.compile(r"P(?:\d|1[0-5])"),
    "throttle_bits": re.compile(r"0x[0-9a-f]{16}", re.IGNORECASE),
    "driver": re.compile(r"\d{3}\.\d{2,3}(?:\.\d{2,3})?"),
    "": re.compile(r"Default|Exclusive\w*|Prohibited|Enabled|Disabled|(?:Not )?Active|0x\w+", re.I),
    "name": re.compile(r"(?=.*[A-Za-z]{2}).{4,64}"),
}


@dataclass(eq=False)
class Column:
    """One column: where it stands, what kind of text it holds, and its figures (NaN: missing)."""

    at: int
    kind: str
    unit: str = ""
    values: np.ndarray | None = None
    decimals: bool = False

    @property
    def figures(self) -> np.ndarray:
        """The figures that are there; never empty for a column of kind `figure`."""
        assert self.values is not None
        there: np.ndarray = self.values[~np.isnan(self.values)]
        return there

    @property
    def whole(self) -> bool:
        """Whether every figure is written without decimals."""
        return not self.decimals

    @property
    def constant(self) -> bool:
        """Whether all figures are the same."""
        return bool(np.all(self.figures == self.figures[0]))


def look(at: int, cells: pd.Series) -> Column:
    """The column of number `at`, judged by its first 20,000 cells."""
    cells = cells.iloc[:_LOOKED_AT]
    codes, uniques = pd.factorize(cells.str.strip())
    texts = [text for text in uniques if not is_missing(text)]
    if not texts:
        return Column(at, "missing")
    if all(clock.is_time(text) for text in texts[:200]):
        return Column(at, "time")
    matches = [_FIGURE.fullmatch(text) for text in uniques]
    if sum(match is not None for match in matches) >= 0.95 * len(texts):
        values = np.array([float(m[1]) if m else np.nan for m in matches])[codes]
        units = {m[3] or "" for m in matches if m}
        # One torn cell without its unit must not hide the unit of all others.
        unit = max(units, key=lambda u: sum(m is not None and (m[3] or "") == u for m in matches))
        return Column(at, "figure", unit, values, any(m[2] for m in matches if m))
    for kind, pattern in _TEXTS.items():
        if all(pattern.fullmatch(text) for text in texts):
            return Column(at, kind)
    return Column(at, "other")
