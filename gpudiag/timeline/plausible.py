"""② What a cell of run.csv can hold at all. A figure beyond that is damage, and no reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from gpudiag.timeline.columns import Column, parse_name

LONGEST_S = 1e9  # 31 years
# The least and the most by unit: wide enough for any machine, narrow enough for arithmetic.
_BY_UNIT: dict[str, tuple[float, float]] = {
    "%": (0, 1e6), "MiB": (0, 1e9), "MiB/s": (0, 1e8), "W": (0, 1e5), "MHz": (0, 1e5),
    "°C": (-100, 300), "cores": (0, 1e5), "s": (0, LONGEST_S), "1/s": (0, 1e9),
}  # fmt: skip
_OTHERS = (0.0, 1e9)
_SHARES = ("util_pct", "mem_util_pct", "host_cpu_pct", "host_core_max_pct", "host_iowait_pct")
_SHARE = (0.0, 101.0)  # some samplers round up
_MORE_THAN_ALL = 1.05  # of the card's memory


def clear(frame: pd.DataFrame, gpus: object) -> tuple[pd.DataFrame, list[str]]:
    """The frame with impossible cells empty, and a sentence for each column that had some.

    `gpus` are the GPUs' facts, for the memory that a card has.
    """
    capacity = _capacities(gpus)
    notes = []
    for name in frame.columns:
        parsed = parse_name(name)
        if parsed is None:
            continue
        least, most = _limits(parsed[0])
        if parsed[0].name == "mem_used_mib":
            most = min(most, capacity.get(parsed[1], most) * _MORE_THAN_ALL)
        values = frame[name].to_numpy()
        if not (np.nanmin(values, initial=least) < least or np.nanmax(values, initial=most) > most):
            continue
        with np.errstate(invalid="ignore"):
            wrong = (values < least) | (values > most)
        notes.append(
            f"{int(wrong.sum())} cells of {name} were left out: {values[wrong][0]:g} "
            f"is not possible there."
        )
        frame = frame.assign(**{name: np.where(wrong, np.nan, values)})
    return frame, notes


def _limits(column: Column) -> tuple[float, float]:
    if column.name in _SHARES or column.name.endswith("pressure_pct"):
        return _SHARE
    return _BY_UNIT.get(column.unit, _OTHERS)


def _capacities(gpus: object) -> Mapping[int | None, float]:
    found: dict[int | None, float] = {}
    facts: Any
    for facts in gpus if isinstance(gpus, (list, tuple)) else ():
        total = facts.get("mem_total_mib") if isinstance(facts, Mapping) else None
        if isinstance(total, (int, float)) and 0 < total < 1e9:
            found[facts.get("index")] = float(total)
    return found
