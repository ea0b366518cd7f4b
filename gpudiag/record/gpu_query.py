"""① What nvidia-smi is asked on every tick, and what its lines mean.

Columns are told by their position: the header that nvidia-smi prints may name a field otherwise
than it was asked for. All fields are known to every driver since 465.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

INDEX, STAMP = "index", "timestamp"
COLUMN_OF = {
    "utilization.gpu": "util_pct",
    "utilization.memory": "mem_util_pct",
    "memory.used": "mem_used_mib",
    "power.draw": "power_w",
    "temperature.gpu": "temp_c",
    "clocks.current.sm": "sm_clock_mhz",
    "clocks.current.memory": "mem_clock_mhz",
    "pstate": "pstate",
    "clocks_throttle_reasons.active": "throttle_bits",
    "clocks_event_reasons.active": "throttle_bits",
    "pcie.link.gen.current": "pcie_gen",
    "pcie.link.width.current": "pcie_lanes",
}
# a field that a driver may refuse, and its later name
LATER_NAME = {"clocks_throttle_reasons.active": "clocks_event_reasons.active"}
FIELDS = (INDEX, *(name for name in COLUMN_OF if name not in LATER_NAME.values()))
COLUMNS = tuple(COLUMN_OF[name] for name in FIELDS if name != INDEX)

_UNKNOWN_FIELD = re.compile(r'Field "([\w.]+)" is not a valid field to query', re.ASCII)
_FIGURE = re.compile(r"(-?\d+(?:\.\d+)?)(?: ?(?:%|[A-Za-z]{1,4}))?", re.ASCII)
_LOST = re.compile(r"GPU is lost|GPU requires reset", re.IGNORECASE)
_HIGHEST_INDEX = 9999
_LONGEST_WHOLE = 300  # more digits are no finite figure


class GpuRow(NamedTuple):
    """One line of nvidia-smi. `missing` gives for a column without a figure the text it had."""

    gpu: int
    arrived: float
    figures: dict[str, float]
    missing: dict[str, str]
    lost: str


def arguments(
    tool: Sequence[str], fields: Sequence[str], loop_s: float | None, only: Sequence[str] = ()
) -> list[str]:
    """The command line of a query, of the GPUs `only` if given; one pass if `loop_s` is None."""
    query = [*tool, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    if only:
        query += ["-i", ",".join(only)]
    return query if loop_s is None else [*query, "-lms", str(round(loop_s * 1000))]


def unknown_field(line: str) -> str | None:
    """The field that this driver does not know, if the line says so."""
    match = _UNKNOWN_FIELD.search(line)
    return match[1] if match else None


def without(fields: Sequence[str], refused: str) -> tuple[str, ...]:
    """The fields to ask next: the refused one under its later name, or not at all."""
    later = LATER_NAME.get(refused)
    replaced = (later if name == refused else name for name in fields)
    return tuple(name for name in replaced if name is not None)


def parse_row(line: str, fields: Sequence[str], arrived: float) -> GpuRow | None:
    """The readings in a line, or None if it is no row of this query (an Xid message, a banner)."""
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(fields):
        return None
    figures: dict[str, float] = {}
    missing: dict[str, str] = {}
    index, lost = -1, ""
    for name, text in zip(fields, cells, strict=True):
        if name == INDEX:
            if not (text.isascii() and text.isdigit() and int(text) <= _HIGHEST_INDEX):
                return None
            index = int(text)
            continue
        column = COLUMN_OF[name]
        figure = _figure(column, text)
        if figure is None:
            missing[column] = text or "(empty)"
            if _LOST.search(text):
                lost = text.strip("[]")
        else:
            figures[column] = figure
    return GpuRow(index, arrived, figures, missing, lost)


def _figure(column: str, text: str) -> float | None:
    if column == "throttle_bits":
        try:
            return float(int(text, 16)) if text.startswith("0x") else None
        except ValueError:
            return None
    if column == "pstate":
        text = text.removeprefix("P")
    if text.isascii() and text.isdigit() and len(text) < _LONGEST_WHOLE:  # most of them
        return float(text)
    match = _FIGURE.fullmatch(text)
    if match is None:
        return None
    value = float(match[1])
    return value if math.isfinite(value) else None
