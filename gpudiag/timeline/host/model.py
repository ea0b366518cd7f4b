"""② The CPU side of a run from a log of its own: what its readers make, and `merge` takes."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gpudiag.timeline.columns import BY_NAME
from gpudiag.timeline.model import Dropped

# Of which clock the times are: seconds since 1970 in UTC, those of a clock on a wall whose zone is
# unknown, or seconds since the logger began.
Clock = Literal["utc", "wall", "relative"]


@dataclass(frozen=True)
class HostLog:
    """Samples of the CPU side. `columns` are those of columns.py, as long as `time`, NaN for none.

    Every one of its `lines` is a sample's, in `dropped`, or one of the `other_lines`.
    """

    path: str
    format: str
    clock: Clock
    time: np.ndarray
    columns: Mapping[str, np.ndarray]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    lines: int = 0
    other_lines: int = 0
    dropped: tuple[Dropped, ...] = ()


class HostGather:
    """Samples as a reader finds them; cells of one moment may come one after another."""

    def __init__(self, notes: tuple[str, ...] = ()) -> None:
        self.notes = list(notes)
        self.facts: dict[str, Any] = {}
        self.lines = 0
        self.taken: set[int] = set()
        self.dropped: list[Dropped] = []
        self._time = array("d")
        self._places: dict[float, int] = {}
        self._columns: dict[str, array[float]] = {}

    def __len__(self) -> int:
        return len(self._time)

    def add(self, line: int, time: float, cells: Mapping[str, float]) -> None:
        """Add `cells` (by column) at `time`; a moment that is there already is filled up."""
        known = {c: v for c, v in cells.items() if c in BY_NAME and math.isfinite(v)}
        if not known or not math.isfinite(time):
            return
        self.taken.add(line)
        place = self._places.setdefault(time, len(self._time))
        if place == len(self._time):
            self._time.append(time)
        for column, value in known.items():
            values = self._columns.setdefault(column, array("d"))
            values.extend([math.nan] * (len(self._time) - len(values)))
            values[place] = value

    def drop(self, line: int, reason: str, text: str = "") -> None:
        """Count a line that should have been a sample and is none."""
        self.dropped.append(Dropped(line, reason, text[:80]))

    def log(self, path: str, name: str, clock: Clock) -> HostLog:
        """All samples, in the order of their times."""
        count = len(self._time)
        for values in self._columns.values():
            values.extend([math.nan] * (count - len(values)))
        time = np.array(self._time)
        order = np.argsort(time, kind="stable")
        dropped = [d for d in self.dropped if d.line not in self.taken]
        return HostLog(
            path=path,
            format=name,
            clock=clock,
            time=time[order],
            columns={name: np.array(values)[order] for name, values in self._columns.items()},
            facts=self.facts,
            notes=tuple(dict.fromkeys(self.notes)),
            lines=self.lines,
            other_lines=self.lines - len(self.taken) - len(dropped),
            dropped=tuple(dropped),
        )
