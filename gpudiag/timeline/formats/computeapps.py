"""② Read CSV of `nvidia-smi --query-compute-apps`: the memory of each process, added up by GPU.

What comes out is less than the GPU holds: graphics processes and the driver's own part are not
listed. A moment without a process leaves no row at all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from gpudiag.errors import UnreadableError
from gpudiag.timeline import clock
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.cells import figure, is_missing, split
from gpudiag.timeline.formats.gather import Gather
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "nvidia-smi --query-compute-apps CSV"
_ROLES = {
    "timestamp": "time", "gpu_name": "name", "gpu_bus_id": "bus", "gpu_serial": "",
    "gpu_uuid": "uuid", "pid": "pid", "process_name": "process", "name": "process",
    "used_gpu_memory": "memory", "used_memory": "memory",
}  # fmt: skip
_OWN = ("pid", "process_name", "used_gpu_memory")
_UNTOLD = "[the memory of a process is not told]"
_BATCH = 20_000


def _header(line: str) -> tuple[list[str], str] | None:
    """The roles of a header line and the unit of the memory; None if it is none."""
    cells = [cell.lower() for cell in split(line)]
    names = [cell.partition(" ")[0] for cell in cells]
    if len(names) > 10 or not all(name in _ROLES for name in names):
        return None
    roles = [_ROLES[name] for name in names]
    if "memory" not in roles or not set(_OWN) & {*names} or len(set(roles)) < len(roles):
        return None
    return roles, cells[roles.index("memory")].partition("[")[2].rstrip("]")


def recognise(head: str) -> float:
    """By a header all of whose names are those of a process."""
    lines = (line.strip() for line in head.splitlines()[:500])
    return 0.95 if any(_header(line) for line in lines if "memory" in line) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The memory of the processes on each GPU. Raises UnreadableError if none was ever listed."""
    reader = _Reader(log)
    found = reader.run()
    if not reader.rows:
        raise UnreadableError(
            f"{log.path}: an nvidia-smi --query-compute-apps log, and no process was listed",
            "no process used a GPU, or it ran where nvidia-smi cannot see it (a container)",
        )
    return timeline(found.readings(reader.rows), log.path, NAME, found, interval_s)


class _Reader:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._found = Gather(log.notes)
        self._header: list[str] = []
        self._unit = ""
        self._batch: list[tuple[int, dict[str, str]]] = []
        self._processes: Counter[str] = Counter()
        # The moment in the making: its key, and by GPU its first line, cells and memories.
        self._time = math.nan
        self._seen: set[tuple[str, str]] = set()
        self._open: dict[str, tuple[int, dict[str, str], list[float]]] = {}
        self._numbers: dict[str, int] = {}
        self.rows = 0

    def run(self) -> Gather:
        found = self._found
        for number, line in self._log.lines():
            found.lines += 1
            text = line.strip()
            if header := _header(text) if "memory" in text else None:
                self._flush()
                self._header, self._unit = header
                found.header_rows += 1
                found.head += 1
                if not {"time", "pid"} & {*self._header}:
                    found.note(
                        "The log has neither a time nor a pid: each row was taken as a sample of "
                        "one process."
                    )
            elif not text or not self._header or not self._row(number, text):
                found.other(number, text)
            if len(self._batch) >= _BATCH:
                self._flush()
        self._flush()
        self._close()
        found.note(
            "Memory is that of the compute processes together: graphics and the driver's own part "
            "are not in it, and a moment without a process left no row."
        )
        if len(self._numbers) > 1:
            found.note("The log has no GPU index; GPUs are numbered in the order of their rows.")
        elif "" in self._numbers:
            found.note("The log does not say which GPU: it was read as one, but may mix several.")
        if self._processes:
            names = ", ".join(name for name, _ in self._processes.most_common(8))
            found.note(f"Processes seen: {names}.")
        return found

    def _row(self, number: int, text: str) -> bool:
        cells = split(text)
        width = len(self._header)
        if len(cells) > width and "process" in self._header:
            at = self._header.index("process")
            more = len(cells) - width + 1
            cells[at : at + more] = [", ".join(cells[at : at + more])]
        if len(cells) != width:
            if clock.stamp(text) or not any(cell[:1].isdigit() for cell in cells):
                return False
            why = f"{len(cells)} cells where the header has {width}"
            self._found.drop(number, why, text)
            return True
        row = dict(zip(self._header, cells, strict=True))
        memory, reason = figure(row["memory"], "mem_used_mib", self._unit)
        if memory != memory and reason.startswith(("not a figure", "unit ")):
            return False
        if "pid" in row and not row["pid"].isdigit():
            self._found.drop(number, "no pid where the header has one", text)
            return True
        self._batch.append((number, row))
        return True

    def _flush(self) -> None:
        """Place the rows that were put by; their times are read together, which is far faster."""
        batch, self._batch = self._batch, []
        times: Sequence[float] = [math.nan] * len(batch)
        if batch and "time" in self._header:
            times = clock.seconds([row["time"] for _, row in batch]).tolist()
        for (number, row), time in zip(batch, times, strict=True):
            if "time" in row and time != time:
                self._found.drop(number, "its time cannot be read", row["time"])
            else:
                self._place(number, row, time)

    def _place(self, number: int, row: dict[str, str], time: float) -> None:
        gpu = row.get("uuid") or row.get("bus") or ""
        if {"uuid", "bus"} & row.keys() and is_missing(gpu):
            self._found.drop(number, "it does not say which GPU", gpu)
            return
        key = (gpu, row.get("pid", ""))
        again = time == time and time != self._time
        if self._open and (again or (time != time and key in self._seen)):
            self._close()
        self._time = time
        self._seen.add(key)
        memory = figure(row["memory"], "mem_used_mib", self._unit)[0]
        if gpu in self._open:
            self._open[gpu][2].append(memory)
        else:
            facts: dict[str, str] = {r: row[r] for r in ("name", "bus", "uuid") if r in row}
            facts["index"] = str(self._numbers.setdefault(gpu, len(self._numbers)) % 256)
            self._open[gpu] = (number, facts, [memory])
        self.rows += 1
        name = re.split(r"[/\\]", row.get("process", ""))[-1][:40]
        if name and (name in self._processes or len(self._processes) < 1000):
            self._processes[name] += 1

    def _close(self) -> None:
        for number, facts, memories in self._open.values():
            whole = all(memory == memory for memory in memories)
            cells = {**facts, "mem_used_mib": repr(sum(memories)) if whole else _UNTOLD}
            self._found.add(number, cells, self._time)
        self._open, self._seen = {}, set()
