"""② Read logs of `nvidia-smi dmon`: any -s letters, -o D, T or DT, old and new column names."""

from __future__ import annotations

import re

from gpudiag.errors import UnreadableError
from gpudiag.timeline import clock
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.formats.columns_of_smi import Columns, DayClock, head, units, words
from gpudiag.timeline.formats.gather import Gather, Plan
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "nvidia-smi dmon"
_HEAD = re.compile(r"^#\s*(?:(?:Date|Time)[\s,]+){0,2}gpu[\s,]+(?!pid)\w+", re.MULTILINE)
_ROLES = {
    "gpu": "index",
    "pwr": "power_w",
    "temp": "temp_c",
    "gtemp": "temp_c",
    "sm": "util_pct",
    "mem": "mem_util_pct",
    "mclk": "mem_clock_mhz",
    "pclk": "sm_clock_mhz",
    "fb": "mem_used_mib",
}


def recognise(head: str) -> float:
    """By its header line, which nothing else writes."""
    return 0.95 if _HEAD.search(head) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    found = _Reader(log).run()
    if not len(found):
        raise UnreadableError(
            f"{log.path}: an nvidia-smi dmon log without a reading",
            "was it stopped before its first sample, or its output buffered?",
        )
    return timeline(found.readings(), log.path, NAME, found, interval_s)


class _Reader:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._found = Gather(log.notes)
        self._clock = DayClock()
        self._columns: Columns | None = None
        self._roles: list[tuple[int, str, str]] = []
        self._plan = Plan(())
        self._date = self._time = -1

    def run(self) -> Gather:
        found = self._found
        for number, line in self._log.lines():
            found.lines += 1
            text = line.strip()
            if text and text[0].isdigit() and self._columns:
                self._row(number, text)
            elif text.startswith("#"):
                self._head(number, text)
            else:
                found.other(number, text)
        if len(found) and not self._log.data.endswith(b"\n"):
            self._torn(found.lines)
        return found

    def _head(self, number: int, text: str) -> None:
        if columns := head(text, ("gpu",)):
            self._found.header_rows += 1
            self._found.head += 1
            self._set(columns)
        elif self._columns and (columns := units(text, self._columns)):
            self._found.other_lines += 1
            self._set(columns)
        else:
            self._found.other(number, text)

    def _set(self, columns: Columns) -> None:
        self._columns = columns
        self._roles = columns.roles(_ROLES)
        self._plan = self._found.plan(self._roles)
        names = columns.names
        self._date = names.index("date") if "date" in names else -1
        self._time = names.index("time") if "time" in names else -1

    def _row(self, number: int, text: str) -> None:
        found, columns = self._found, self._columns
        assert columns is not None
        cells = words(text)
        if len(cells) != len(columns.names):
            if clock.stamp(text):
                found.other(number, text)  # a date line of the shell
                return
            why = f"{len(cells)} cells where the header has {len(columns.names)}"
            found.drop(number, why, text)
            return
        index = cells[columns.names.index("gpu")]
        if not (index.isascii() and index.isdigit() and len(index) < 4 and int(index) < 256):
            found.drop(number, "no GPU index where the header has one", text)
            return
        if self._time >= 0:
            time = self._clock.seconds(
                cells[self._date] if self._date >= 0 else "", cells[self._time]
            )
            if time != time:
                found.drop(number, "its time cannot be read", text)
                return
            found.add_row(number, cells, self._plan, time)
        else:
            found.add_row(number, cells, self._plan)
        if len(self._roles) == 1:
            found.note("The log holds no column that gpudiag can use but the GPU's index.")

    def _torn(self, last_line: int) -> None:
        """The last cell of a file that ends without a line end may be cut short."""
        assert self._columns is not None
        last = len(self._columns.names) - 1
        for at, role, _ in self._roles:
            if at == last and self._found.last_line == last_line:
                self._found.unreadable(role, "the file ends within this cell")
