"""② Read logs whose rows hold all GPUs and the host at once: W&B's and nvitop's.

One row (of CSV, or a JSON object a line) gives a reading for each GPU in it. Of the host's
columns only those are taken that mean exactly what run.csv's do: W&B's `cpu` has been the whole
machine's share and one process's, and `memoryAllocated` is a share of a total that is not told.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpudiag.errors import UnreadableError
from gpudiag.timeline import clock
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.cells import is_missing
from gpudiag.timeline.formats.gather import Cell, Gather
from gpudiag.timeline.host.merge import merge
from gpudiag.timeline.host.model import Clock, HostGather, HostLog
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "W&B system metrics or nvitop collector"
_WANDB = re.compile(r"(?:^|.* - )system[./](?:gpu\.(\d{1,3})\.)?([\w.]+)$")
_WANDB_GPU = {
    "gpu": ("util_pct", ""), "memory": ("mem_util_pct", ""), "temp": ("temp_c", ""),
    "powerWatts": ("power_w", ""), "memoryAllocatedBytes": ("mem_used_mib", "b"),
    "smClock": ("sm_clock_mhz", ""), "memoryClock": ("mem_clock_mhz", ""),
    "enforcedPowerLimitWatts": ("power_limit_w", ""),
}  # fmt: skip
_WANDB_HOST = {
    "proc.memory.rssMB": ("main_rss_mib", 1.0),
    "proc.memory.availableMB": ("host_mem_avail_mib", 1.0),
    "proc.cpu.threads": ("main_threads", 1.0),
}
_NVITOP = re.compile(
    r"(?:[^/]+/)*?(?:(?:cuda:\d+ \()?gpu:(\d{1,3})\)?|(host))/([a-z_]+) \(([^)]*)\)/(mean|last)$"
)
_NVITOP_GPU = {
    "gpu_utilization": "util_pct", "memory_utilization": "mem_util_pct",
    "memory_used": "mem_used_mib", "memory_total": "mem_total_mib", "temperature": "temp_c",
    "power_usage": "power_w", "clock_sm": "sm_clock_mhz", "clock_mem": "mem_clock_mhz",
}  # fmt: skip
_NVITOP_HOST = {"cpu_percent": ("host_cpu_pct", 1.0), "memory_used": ("host_mem_used_mib", 1024.0)}
_TIMES = re.compile(r"(?:.*/)?(?:_timestamp|timestamp|epoch)$")
_ELAPSED = re.compile(r"(?:.*/)?(?:_runtime|Relative Time \(Process\)|duration \(s\))$")


@dataclass(frozen=True)
class _Key:
    """What a key of a row is: a figure of a GPU, of the host, or a time; all blank: unknown."""

    gpu: str = ""
    role: str = ""
    unit: str = ""
    host: str = ""
    by: float = 1.0
    time: str = ""


@lru_cache(maxsize=8192)
def _key(text: str) -> _Key:
    if _TIMES.match(text):
        return _Key(time="utc")
    if _ELAPSED.match(text):
        return _Key(time="relative")
    if match := _WANDB.match(text):
        if match[1] is not None:
            role, unit = _WANDB_GPU.get(match[2], ("", ""))
            return _Key(gpu=str(int(match[1])), role=role, unit=unit)
        host, by = _WANDB_HOST.get(match[2], ("", 1.0))
        return _Key(host=host, by=by)
    if (match := _NVITOP.match(text)) and "pid:" not in text:
        if match[2]:
            host, by = _NVITOP_HOST.get(match[3], ("", 1.0))
            return _Key(host=host if by == 1.0 or match[4] == "GiB" else "", by=by)
        role = _NVITOP_GPU.get(match[3], "")
        return _Key(gpu=str(int(match[1])), role=role, unit=match[4].lower())
    return _Key()


def recognise(head: str) -> float:
    """By keys of W&B or nvitop in the first row."""
    return 0.95 if any(_key(k).role and _key(k).gpu for k in _first_keys(head)) else 0.0


def _first_keys(head: str) -> list[str]:
    first = head.lstrip().split("\n", 1)[0][:100_000]
    if first.startswith("{"):
        return re.findall(r'"((?:system[./]|[^"]*gpu:\d)[^"]*)"\s*:', first)
    return _split(first) if "gpu" in first else []


def _split(line: str) -> list[str]:
    try:
        rows = list(csv.reader([line]))
    except csv.Error:
        return []
    return rows[0] if len(rows) == 1 else []


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    reader = _Reader(log)
    reader.run()
    found = reader.found
    if not len(found):
        raise UnreadableError(
            f"{log.path}: {NAME}, without a row that has a time and a reading of a GPU",
            "was the run shorter than W&B's first sample?",
        )
    readings = found.readings(len(reader.taken), absolute=reader.clock == "utc")
    made = timeline(readings, log.path, NAME, found, interval_s)
    if not len(reader.host):
        return made
    beside = merge(made, reader.host.log(log.path, NAME, reader.clock or "relative"))
    return Timeline(beside.frame, beside.start, made.source, made.events)


class _Reader:
    def __init__(self, log: Log) -> None:
        self._log = log
        self.found = Gather(log.notes)
        self.host = HostGather()
        self.taken: set[int] = set()
        self.clock: Clock | None = None

    def run(self) -> None:
        found = self.found
        aside: dict[str, None] = {}
        for number, row in self._rows():
            time = self._time(row)
            if time is None:
                found.drop(number, "a row without a time that can be read")
                continue
            gpus: dict[str, dict[str, Cell]] = {}
            host: dict[str, float] = {}
            for name, value in row.items():
                key = _key(name)
                if key.gpu and key.role:
                    gpus.setdefault(key.gpu, {}).setdefault(key.role, (value, key.unit))
                elif key.host and not is_missing(value):
                    host.setdefault(key.host, _figure(value) * key.by)
                elif not key.time and len(aside) < 200:
                    aside.setdefault(name)
            for gpu, cells in gpus.items():
                found.add(number, {**cells, "index": gpu}, time)
            self.host.add(number, time, host)
            if gpus:
                self.taken.add(number)
            else:
                found.other_lines += 1
        shown = [name for name in aside if _WANDB.match(name) or "/" in name][:12]
        if shown:
            found.note(f"Left aside, for lack of a column that means the same: {', '.join(shown)}.")

    def _rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        found = self.found
        header: list[str] = []
        for number, line in self._log.lines():
            found.lines += 1
            text = line.strip()
            if not text:
                found.other_lines += 1
            elif text[0] == "{":
                row = _object(text)
                if row is None:
                    found.drop(number, "damaged JSON", text)
                else:
                    yield number, row
            else:
                cells = _split(text)
                if any(_key(cell).role for cell in cells):
                    header = cells
                    found.header_rows += 1
                elif header and len(cells) == len(header):
                    yield number, dict(zip(header, cells, strict=True))
                elif header:
                    why = f"{len(cells)} cells where the header has {len(header)}"
                    found.drop(number, why, text)
                else:
                    found.other(number, text)

    def _time(self, row: Mapping[str, str]) -> float | None:
        """The row's time; the kind of clock is that of the first row that has one."""
        kinds: tuple[Clock, ...] = ("utc", "relative")
        for kind in kinds:
            if self.clock in (None, kind):
                for name, value in row.items():
                    if _key(name).time == kind and not is_missing(value):
                        time = _figure(value)
                        if time != time and kind == "utc":
                            time = float(clock.seconds([value[:40]])[0])
                        if time == time and 0 <= time < 1e11:
                            self.clock = kind
                            return time
        return None


def _figure(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _object(text: str) -> dict[str, str] | None:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    return {
        key: "N/A" if value is None else str(value)[:200]
        for key, value in row.items()
        if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))
    }


class _Host:
    """The same logs as a CPU side beside another GPU log."""

    NAME = NAME

    def recognise(self, head: str) -> float:
        """By keys of the host in the first row."""
        return 0.95 if any(_key(key).host for key in _first_keys(head)) else 0.0

    def read(self, log: Log) -> HostLog:
        """The host's samples in `log`. Raises UnreadableError if there is none."""
        reader = _Reader(log)
        reader.run()
        if not len(reader.host):
            raise UnreadableError(f"{log.path}: {NAME}, without a figure of the host", "")
        host = reader.host
        host.lines, host.dropped = reader.found.lines, reader.found.dropped
        return host.log(log.path, NAME, reader.clock or "relative")


HOST = _Host()
