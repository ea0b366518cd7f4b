"""② What was measured: the Timeline, which every reader makes and every signal takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from gpudiag.timeline.columns import parse_name


@dataclass(frozen=True)
class Event:
    """Something that happened at `t_s` (seconds since the start): a lost GPU, a gap, a mark."""

    t_s: float
    kind: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Dropped:
    """A line of the file that gave no reading, and why. `line` counts from 1."""

    line: int
    reason: str
    text: str = ""


@dataclass(frozen=True)
class Source:
    """Where a timeline came from, and how much of the file is in it.

    `rows` readings were taken (one a GPU and moment in a foreign log, one a tick in run.csv);
    `dropped` lists what was not. Every one of its `lines` is a reading, a header, in `dropped`, or
    one of the `other_lines` (blank, comment, date line, separator, table, console text). `notes`
    are the sentences a reader of the report must know (assumptions and limits of the log).
    `lines_taken` is how many lines gave the readings, where a line may hold several or a reading
    take several lines (None: one each). `missing` says for a column why its cells are empty.
    """

    path: str
    format: str
    time_known: bool = True
    rows: int = 0
    header_rows: int = 0
    lines: int = 0
    other_lines: int = 0
    span_s: float | None = None
    interval_s: float | None = None
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    lines_taken: int | None = None

    @property
    def unaccounted(self) -> int:
        """How many lines are neither read, counted nor dropped: 0, or the reader is at fault."""
        taken = self.rows if self.lines_taken is None else self.lines_taken
        return self.lines - taken - self.header_rows - self.other_lines - len(self.dropped)


@dataclass(frozen=True)
class Timeline:
    """A run on one clock.

    `frame` has one row a tick. Its index `t_s` is ascending seconds since the start (float64; the
    sample number times `interval_s`, or 1, where `source.time_known` is false). Its columns are
    those of `timeline/columns.py`, float64, NaN where nothing was measured.
    `start` holds the facts of `# start` (see docs/format.md), with "gpus" a list of one mapping a
    GPU; a foreign log fills what it knows. `end` is None when the recording was cut short or the
    log does not say how it ended.
    """

    frame: pd.DataFrame
    start: Mapping[str, Any]
    source: Source
    events: tuple[Event, ...] = ()
    end: Mapping[str, Any] | None = None

    @property
    def gpus(self) -> tuple[int, ...]:
        """The numbers of the GPUs that have columns or stand in the start facts, ascending."""
        found = {
            parsed[1]
            for parsed in map(parse_name, self.frame.columns)
            if parsed and parsed[0].scope == "gpu" and parsed[1] is not None
        }
        found |= {int(gpu["index"]) for gpu in self.start.get("gpus", ()) if "index" in gpu}
        return tuple(sorted(found))

    def gpu_facts(self, gpu: int) -> Mapping[str, Any]:
        """The static facts of GPU `gpu`, empty if none are known."""
        for facts in self.start.get("gpus", ()):
            if facts.get("index") == gpu:
                return dict(facts)
        return {}

    def column(self, name: str) -> pd.Series | None:
        """The column `name`, or None if it is absent or holds no reading at all."""
        if name not in self.frame.columns:
            return None
        series = self.frame[name]
        return series if series.notna().any() else None
