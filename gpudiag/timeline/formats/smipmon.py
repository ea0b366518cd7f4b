"""② Read logs of `nvidia-smi pmon`: one row a process, put together to one reading a GPU.

A process's `sm` is the share of time in which its kernels ran. Two processes take turns, or run
at once under MPS, so their shares cannot be added: a GPU gets a utilisation only where at most one
of its processes worked. Memory is that of all processes together, which is less than the GPU
holds: the driver's own part is not in it.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from gpudiag.errors import UnreadableError
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.cells import figure
from gpudiag.timeline.formats.columns_of_smi import Columns, DayClock, head, units, words
from gpudiag.timeline.formats.gather import Gather
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "nvidia-smi pmon"
_HEAD = re.compile(r"^#\s*(?:(?:Date|Time)[\s,]+){0,2}gpu[\s,]+pid\b", re.MULTILINE)
_ROLES = {"sm": "util_pct", "mem": "mem_util_pct", "fb": "mem_used_mib"}
_SEVERAL = "[several processes worked, and their shares cannot be added]"


def recognise(head: str) -> float:
    """By its header line, which nothing else writes."""
    return 0.95 if _HEAD.search(head) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    found = _Reader(log)
    gathered = found.run()
    if not len(gathered):
        raise UnreadableError(
            f"{log.path}: an nvidia-smi pmon log without a row",
            "was it stopped before its first sample, or its output buffered?",
        )
    readings = gathered.readings(found.rows)
    return timeline(readings, log.path, NAME, gathered, interval_s)


class _Reader:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._found = Gather(log.notes)
        self._clock = DayClock()
        self._columns: Columns | None = None
        self._processes: Counter[str] = Counter()
        self._open: dict[str, list[dict[str, str]]] = {}
        self._open_time = math.nan
        self._open_line = 0
        self._seen: set[tuple[str, str]] = set()
        self.rows = 0

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
        self._close()
        if self._processes:
            named = ", ".join(name for name, _ in self._processes.most_common(8))
            more = len(self._processes) - 8
            found.note(f"Processes seen: {named}" + (f" and {more} more." if more > 0 else "."))
        return found

    def _head(self, number: int, text: str) -> None:
        if columns := head(text, ("gpu", "pid")):
            self._found.header_rows += 1
            self._columns = columns
        elif self._columns and (columns := units(text, self._columns)):
            self._found.other_lines += 1
            self._columns = columns
        else:
            self._found.other(number, text)

    def _row(self, number: int, text: str) -> None:
        columns = self._columns
        assert columns is not None
        cells = words(text)
        count = len(columns.names)
        # The last column is the command, which may hold blanks ("NVIDIA Overlay.exe").
        if len(cells) < count:
            self._found.drop(number, f"{len(cells)} cells where the header has {count}", text)
            return
        row = dict(zip(columns.names, [*cells[: count - 1], " ".join(cells[count - 1 :])],
                       strict=True))  # fmt: skip
        if not (row["gpu"].isascii() and row["gpu"].isdigit() and int(row["gpu"]) < 256):
            self._found.drop(number, "no GPU index where the header has one", text)
            return
        time = math.nan
        if "time" in row:
            time = self._clock.seconds(row.get("date", ""), row["time"])
            if time != time:
                self._found.drop(number, "its time cannot be read", text)
                return
        self._place(number, row, time)

    def _place(self, number: int, row: dict[str, str], time: float) -> None:
        """Put a row into the moment it belongs to: a process or an earlier GPU begins the next."""
        key = (row["gpu"], row["pid"])
        last = next(reversed(self._open), "") if self._open else ""
        if (
            key in self._seen
            or (last and int(row["gpu"]) < int(last))
            or (self._open and time == time and time != self._open_time)
        ):
            self._close()
        if not self._open:
            self._open_line, self._open_time = number, time
        self._seen.add(key)
        self._open.setdefault(row["gpu"], []).append(row)
        self.rows += 1
        name = row.get("command", "-")
        if row["pid"] != "-" and (name in self._processes or len(self._processes) < 1000):
            self._processes[name] += 1

    def _close(self) -> None:
        assert self._columns is not None or not self._open
        for gpu, rows in self._open.items():
            cells = {"index": gpu}
            for name, role in _ROLES.items():
                if self._columns and name in self._columns.names:
                    cells[role] = _together(rows, name, role)
            self._found.add(self._open_line, cells, self._open_time)
        if any("fb" in row for rows in self._open.values() for row in rows):
            self._found.note(
                "Memory is that of the listed processes together, not all that the GPU holds."
            )
        self._open, self._seen = {}, set()


def _together(rows: list[dict[str, str]], name: str, role: str) -> str:
    """What the processes of a GPU come to, as the text of a cell."""
    values = [figure(row.get(name, "-"), role)[0] for row in rows]
    known = [value for value in values if value == value]
    if not known:
        return "-"
    if role == "mem_used_mib":
        return (
            f"{sum(known):g}"
            if len(known) == len(values)
            else "[the memory of a process is not told]"
        )
    working = [value for value in known if value > 0]
    return repr(max(known)) if len(working) <= 1 else _SEVERAL
