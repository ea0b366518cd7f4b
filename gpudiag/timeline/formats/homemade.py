"""② Read tables that people's own scripts write: one row a moment, a column for each GPU's figure.

`time,gpu0_util,gpu1_util,gpu0_mem,…` in any spelling that names a GPU's number and the figure. A
unit that no header names is assumed only where the figures leave no choice, and that is said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gpudiag.errors import UnreadableError
from gpudiag.timeline import cells, clock
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.formats.gather import Cell, Gather
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "table with a column for each GPU"

_WORDS = (
    ("mem_util_pct", r"mem(?:ory)?[ _.]?(?:util(?:i[sz]ation)?|pct|percent)"),
    ("mem_total_mib", r"(?:v?ram|mem(?:ory)?)[ _.]?total"),
    ("mem_used_mib", r"(?:v?ram|mem(?:ory)?)(?:[ _.]?(?:used|usage|alloc(?:ated)?))?"),
    ("util_pct", r"(?:gpu[ _.]?)?(?:util(?:i[sz]ation)?|load|usage)"),
    ("power_w", r"power(?:[ _.]?(?:draw|usage))?"),
    ("temp_c", r"temp(?:erature)?"),
    ("sm_clock_mhz", r"(?:sm|gpu|graphics)?[ _.]?clock(?:[ _.]?sm)?"),
)
_UNITS = r"(?:[ _.]*[\[(]?(%|pct|percent|[mgk]i?b|bytes|w|watts?|°?c|[mg]hz)[\])]?)?"
_GPU = r"(?:gpu|cuda|device|dev)[ _:.#-]?(\d{1,2})"
_TIME = re.compile(r"(?:time(?:stamp)?|date(?:time)?|epoch|unix(?:[ _]time)?|when)", re.IGNORECASE)
_ELAPSED = re.compile(
    r"(?:t|elapsed|seconds?|secs?)(?:[ _]?(?:time|s|sec|seconds))?(?: ?[\[(]s[\])])?", re.IGNORECASE
)
_EPOCH = re.compile(r"1\d{9}(?:\.\d+)?|1\d{12}")
_PATTERNS = tuple(
    (role, re.compile(pattern, re.IGNORECASE))
    for role, word in _WORDS
    for pattern in (
        rf"{_GPU}[ _:./-]*{word}{_UNITS}",  # gpu0_util
        rf"(?:gpu[ _.]?)?{word}[ _:./-]*(?:gpu)?[ _:.#\[(-]?(\d{{1,2}})[\])]?{_UNITS}",  # util_0
    )
)
_SAID = {"pct": "%", "percent": "%", "watt": "w", "watts": "w", "°c": "c"}
_SHARE_AT_MOST = 100.0


@dataclass(frozen=True)
class _Column:
    gpu: str
    role: str
    unit: str


@lru_cache(maxsize=4096)
def _column(name: str) -> _Column | None:
    text = name.strip().strip('"')
    for role, pattern in _PATTERNS:
        if match := pattern.fullmatch(text):
            unit = (match[2] or "").lower()
            unit = _SAID.get(unit, unit)
            if role == "mem_used_mib" and unit == "%":
                role = "mem_util_pct" if "util" in text.lower() else ""
            return _Column(str(int(match[1])), role, unit)
    return None


def _header(line: str) -> list[str] | None:
    """The names of a header that gives some GPU's utilisation or memory."""
    names = [name.strip() for name in line.split(",")]
    if not 2 <= len(names) <= 400 or any(cells.any_figure([name]) for name in names):
        return None
    known = [column for name in names if (column := _column(name)) and column.role]
    main = ("util_pct", "mem_used_mib")
    return names if any(column.role in main for column in known) else None


def recognise(head: str) -> float:
    """By a header that names GPUs by number and their figures."""
    lines = [line for line in head.split("\n")[:50] if line.strip()]
    return 0.92 if any(_header(line) for line in lines) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    found = Gather(log.notes)
    rows: list[tuple[int, list[str]]] = []
    names: list[str] = []
    for number, line in log.lines():
        found.lines += 1
        row = [cell.strip() for cell in line.split(",")]
        if not line.strip():
            found.other_lines += 1
        elif again := _header(line):
            found.header_rows += 1
            if names and again != names:
                raise UnreadableError(
                    f"{log.path}: line {number} is another header than the first",
                    "split the file there",
                )
            names = again
        elif not names:
            found.other(number, line.strip())
        elif len(row) != len(names):
            found.drop(number, f"{len(row)} cells where the header has {len(names)}", line)
        else:
            rows.append((number, row))
    if not rows:
        raise UnreadableError(f"{log.path}: {NAME}, without a row", "did the logger stop at once?")
    taken, absolute = _fill(found, names, rows)
    if not len(found):
        raise UnreadableError(f"{log.path}: {NAME}, without a figure", "log units in the header")
    return timeline(found.readings(taken, absolute=absolute), log.path, NAME, found, interval_s)


def _fill(found: Gather, names: list[str], rows: list[tuple[int, list[str]]]) -> tuple[int, bool]:
    """Add the readings; how many rows gave one, and whether times count from 1970."""
    columns = [(at, column) for at, name in enumerate(names) if (column := _column(name))]
    columns = [
        (at, c) for at, c in columns if c.role and _unit_known(found, names[at], at, c, rows)
    ]
    timed = next((at for at, name in enumerate(names) if _TIME.fullmatch(name)), None)
    elapsed = next((at for at, name in enumerate(names) if _ELAPSED.fullmatch(name)), None)
    at_time = timed if timed is not None else elapsed
    texts = [row[at_time] for _, row in rows] if at_time is not None else []
    times = clock.seconds(texts) if texts else None
    found.notes += clock.day_or_month(texts)
    named = {at for at, _ in columns} | {at_time}
    left = [name for at, name in enumerate(names) if at not in named][:12]
    if left:
        found.note(f"Left aside, for lack of a column that means the same: {', '.join(left)}.")
    taken = 0
    for place, (number, row) in enumerate(rows):
        if times is not None and times[place] != times[place]:
            found.drop(number, "a row without a time that can be read", ",".join(row))
            continue
        gpus: dict[str, dict[str, Cell]] = {}
        for at, column in columns:
            gpus.setdefault(column.gpu, {})[column.role] = (row[at], column.unit)
        for gpu, of_gpu in gpus.items():
            time = float(times[place]) if times is not None else float("nan")
            found.add(number, {**of_gpu, "index": gpu}, time)
        found.rule += 1
        taken += bool(gpus)
    return taken, at_time is not None and bool(_EPOCH.fullmatch(rows[0][1][at_time]))


def _unit_known(
    found: Gather, name: str, at: int, column: _Column, rows: list[tuple[int, list[str]]]
) -> bool:
    """Whether the unit is told, or leaves no choice; says what was assumed or left aside."""
    if column.unit:
        return True
    if column.role in ("mem_used_mib", "mem_total_mib"):
        figures = [value for _, row in rows if (value := _bare(row[at])) == value]
        if not figures:
            return True  # the cells have units of their own
        if max(figures) <= _SHARE_AT_MOST:
            found.note(f"{name} is left aside: without a unit it may be a share or a size.")
            return False
        found.note(f"{name} has no unit; its figures are taken for MiB.")
    if column.role == "util_pct":
        figures = [value for _, row in rows if (value := _bare(row[at])) == value]
        if figures and 0 < max(figures) <= 1:
            found.note(f"{name} is left aside: no figure above 1, so it may be a share of 1.")
            return False
    return True


def _bare(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
