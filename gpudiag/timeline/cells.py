"""② From the text of a cell to a figure, or to the reason why it holds none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

_FIGURE = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)\s*([a-z%°µ/]*)", re.IGNORECASE)
_MISSING = re.compile(
    r"\[.*\]|n/?a|nan|null|none|-+|err!|unknown(?: error)?|not supported|gpu is lost|"
    r"requested functionality has been deprecated|insufficient permissions",
    re.IGNORECASE,
)
_SCALE: dict[str, dict[str, float]] = {
    "%": {"%": 1, "ratio": 100},
    "MiB": {
        "mib": 1, "mb": 1, "m": 1, "gib": 1024, "gb": 1024, "g": 1024, "kib": 1 / 1024,
        "kb": 1 / 1024, "b": 2.0**-20, "bytes": 2.0**-20, "tib": 2.0**20,
    },
    "W": {"w": 1, "mw": 1e-3, "kw": 1e3, "watts": 1},
    "°C": {"c": 1, "°c": 1},
    "MHz": {"mhz": 1, "ghz": 1e3, "hz": 1e-6},
    "": {},
}  # fmt: skip
_UNIT_OF = {"pct": "%", "mib": "MiB", "w": "W", "c": "°C", "mhz": "MHz"}
# Beyond these no reading is possible: a driver's error value or a torn cell.
_BOUNDS: dict[str, tuple[float, float]] = {
    "util_pct": (0, 100),
    "mem_util_pct": (0, 100),
    "temp_c": (-40, 150),
    "pstate": (0, 15),
    "index": (0, 255),
    "pcie_gen": (0, 12),
    "pcie_lanes": (0, 64),
    "pcie_gen_max": (0, 12),
    "pcie_lanes_max": (0, 64),
    "throttle_bits": (0, 2.0**52),
}
_BOUNDS_BY_UNIT = {"MiB": (0.0, 2.0**24), "W": (0.0, 10_000.0), "MHz": (0.0, 20_000.0)}

_DIGITS = b"+-.0123456789\n"

# Reasons that mean that a GPU no longer answers, not merely that it lacks the figure.
LOST = ("gpu is lost", "gpu requires reset")


def is_missing(text: str) -> bool:
    """Whether `text` is one of the spellings of "no value here"."""
    return not text or bool(_MISSING.fullmatch(text))


@lru_cache(maxsize=256)
def unit_of(role: str) -> str:
    """The unit of a role, from the last part of its name; empty for a bare figure."""
    return _UNIT_OF.get(role.rpartition("_")[2], "")


def figure(text: str, role: str, said: str = "") -> tuple[float, str]:
    """The figure in `text` in the unit of `role`, or NaN and the reason why there is none.

    `said` is the unit that the header names; a unit in the cell itself overrules it.
    """
    # nvidia-smi answers one line a GPU: a script that expected one puts them all into one cell.
    text = text.strip().split("\n", 1)[0].rstrip()
    if is_missing(text):
        return float("nan"), f"{text or 'empty'}"
    if role.startswith("word:"):
        words = {"active": float(role[5:]), "not active": 0.0}
        return words.get(text.lower(), float("nan")), f"not a figure: {text[:30]!r}"
    if role == "throttle_bits" and text.lower().startswith("0x"):
        try:
            return _within(float(int(text, 16)), role, text)
        except ValueError:
            return float("nan"), f"not a figure: {text[:30]!r}"
    if role == "pstate" and text[:1] in "Pp":
        text = text[1:]
    match = _FIGURE.fullmatch(text)
    if not match:
        return float("nan"), f"not a figure: {text[:30]!r}"
    unit, written = unit_of(role), match[2].lower()
    if not written and said == "?":
        return float("nan"), "without a unit it may be a share or a size"
    scales = _SCALE[unit]
    if written and written not in scales:
        return float("nan"), f"unit {match[2]} where {unit or 'a bare figure'} is expected"
    scale = scales.get(written or said, 1.0)
    return _within(float(match[1]) * scale, role, text)


def _within(value: float, role: str, text: str) -> tuple[float, str]:
    low, high = _bounds(role)
    if low <= value <= high:
        return value, ""
    return float("nan"), f"{text[:30]} is outside {low:g} to {high:g} {unit_of(role)}".rstrip()


def _bounds(role: str) -> tuple[float, float]:
    return _BOUNDS.get(role) or _BOUNDS_BY_UNIT.get(unit_of(role), (-1e15, 1e15))


class Reasons:
    """Texts by number, so that a reason costs two bytes a cell. Number 0 is "there is a figure"."""

    def __init__(self) -> None:
        self.texts = [""]
        self._numbers = {"": 0}

    def number(self, text: str) -> int:
        """The number of `text`; all beyond 1,000 different ones share one."""
        if text not in self._numbers and len(self.texts) > 1000:
            text = "not a figure"
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


def figures(
    column: pd.Series, role: str, said: str, reasons: Reasons
) -> tuple[np.ndarray, np.ndarray]:
    """The figures of a whole column (float64, NaN for none) and the number of each one's reason.

    A log repeats few different texts many times: each is looked at once.
    """
    codes, uniques = pd.factorize(column)
    texts = list(uniques)
    values = _plain(texts, role, said)
    numbers = np.zeros(len(texts), dtype=np.int16)
    for at in np.flatnonzero(np.isnan(values)).tolist():
        value, reason = figure(texts[at], role, said)
        values[at] = value
        if value != value:
            numbers[at] = reasons.number(reason)
    return values[codes], numbers[codes]


def read_figures(
    column: pd.Series, role: str, said: str, written: str, reasons: Reasons
) -> tuple[np.ndarray, np.ndarray]:
    """The same of a column whose figures were read already; `written` is the unit behind each."""
    found = column.to_numpy(dtype=np.float64)
    scales = _SCALE[unit_of(role)]
    scale = scales.get(written.lower() or said, None if written or said == "?" else 1.0)
    low, high = _bounds(role)
    values = found * (1.0 if scale is None else scale)
    numbers = np.zeros(len(values), dtype=np.int16)
    wrong = np.ones(len(values), bool) if scale is None else (values < low) | (values > high)
    if wrong.any():
        each, codes = np.unique(found[wrong], return_inverse=True)
        texts = [f"{value:.12g} {written}".strip() for value in each]
        numbers[wrong] = np.array([reasons.number(figure(t, role, said)[1]) for t in texts])[codes]
        values[wrong] = np.nan
    return values, numbers


def _plain(texts: Sequence[str], role: str, said: str) -> np.ndarray:
    """The figures of those texts that end in one and the same unit, at once; NaN for the rest."""
    values = np.full(len(texts), np.nan)
    scales = _SCALE[unit_of(role)]
    if len(texts) < 200 or said == "?":
        return values
    end = texts[0].lstrip("+-.0123456789")
    scale = scales.get(end.strip().lower() or said, 1.0 if not end.strip() else None)
    if scale is None:
        return values
    figures = _at_once(texts, end)
    if figures is None:
        bare = pd.Series([text.removesuffix(end) for text in texts], dtype=object)
        figures = pd.to_numeric(bare, errors="coerce").to_numpy(dtype="float64")
    figures *= scale
    low, high = _bounds(role)
    sound = (figures >= low) & (figures <= high)
    values[sound] = figures[sound]
    return values


def _at_once(texts: Sequence[str], end: str) -> np.ndarray | None:
    """The figures of texts that all are one with `end` behind it; None if one is not."""
    joined = "\n".join(texts) + "\n"
    bare = joined.replace(f"{end}\n", "\n") if end else joined
    if len(joined) - len(bare) != len(end) * len(texts) or not bare.isascii():
        return None
    if bare.encode().translate(None, _DIGITS):
        return None
    try:
        return np.array(list(map(float, bare.split("\n")[:-1])))
    except ValueError:  # an empty cell, or a sign within one
        return None


def split(line: str) -> list[str]:
    """The cells of a plain line, without the blanks around them."""
    return [cell.strip() for cell in line.split(",")]


def any_figure(cells: Sequence[str]) -> bool:
    """Whether any cell begins like a figure."""
    return any(_FIGURE.fullmatch(cell) for cell in cells)
