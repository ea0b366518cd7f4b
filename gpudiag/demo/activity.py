"""① What the emulated GPUs did in a window of time, as a driver would account for it.

The simulated nvidia-smi reads the context files that `device` describes. As with a real driver,
`utilization.gpu` is the share of the last *completed* sample period in which at least one kernel
ran, so that a reader faster than the period sees a reading more than once.
"""

from __future__ import annotations

import mmap
import time
from pathlib import Path
from typing import NamedTuple

from gpudiag.demo.device import (
    ENTRY_WORDS,
    FILE_BYTES,
    HEAD_WORDS,
    MAGIC,
    RING,
    W_CLOSED,
    W_HEAT_NS,
    W_HEAT_PPM,
    W_LAUNCHED,
    W_MAGIC,
    W_MEMORY_MIB,
    W_OPEN_LOAD,
    W_OPEN_NS,
    W_PID,
    W_PROCESS_START,
    cooled,
    process_start,
)


class Process(NamedTuple):
    """A living process with a context on the GPU."""

    pid: int
    memory_mib: int


class Activity(NamedTuple):
    """One GPU at one moment; shares and loads are 0..1.

    `busy` is the share of the last completed sample period with a kernel running, `traffic` that
    share weighted by the kernels' load, `load` the mean load over the last second (what power
    follows), `heat` the load as the board's temperature has followed it.
    """

    busy: float
    traffic: float
    load: float
    heat: float
    processes: tuple[Process, ...]


class DeviceReader:
    """Reads the contexts on every emulated GPU of a folder."""

    def __init__(self, folder: Path, sample_period_s: float = 1.0) -> None:
        self._folder = folder
        self._period = max(1, round(sample_period_s * 1e9))
        self._open: dict[str, memoryview] = {}

    def read(self, index: int, now_ns: int | None = None) -> Activity:
        """The activity of GPU `index` at `now_ns` of the monotonic clock (default: now)."""
        now = time.monotonic_ns() if now_ns is None else now_ns
        end = now // self._period * self._period
        sampled: list[tuple[int, int, int]] = []
        recent: list[tuple[int, int, int]] = []
        processes, heat = [], 0.0
        for words in self._contexts(index):
            pid = words[W_PID]
            closed = bool(words[W_CLOSED])
            alive = not closed and process_start(pid) == words[W_PROCESS_START]
            if alive:
                processes.append(Process(pid, words[W_MEMORY_MIB]))
            sampled += _kernels(words, end - self._period, end, alive)
            recent += _kernels(words, now - 1_000_000_000, now, alive)
            heat += cooled(words[W_HEAT_PPM] / 1e6, now - words[W_HEAT_NS])
        busy, traffic = _union(sampled, self._period)
        return Activity(
            busy, traffic, _union(recent, 1_000_000_000)[1], min(heat, 1.0), tuple(processes)
        )

    def _contexts(self, index: int) -> list[memoryview]:
        found = []
        prefix = f"gpu{index}."
        for path in sorted(self._folder.glob(prefix + "*")):
            words = self._open.get(path.name) or self._map(path)
            if words is not None and words[W_MAGIC] == MAGIC:
                self._open[path.name] = words
                found.append(words)
        return found

    def _map(self, path: Path) -> memoryview | None:
        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # gone again, or not yet of its full size
            return None
        return memoryview(mapped).cast("q") if len(mapped) == FILE_BYTES else None


def _kernels(words: memoryview, start: int, end: int, alive: bool) -> list[tuple[int, int, int]]:
    """The context's kernels within [start, end), cut to it: (start, end, load per mille)."""
    found = []
    launched = words[W_LAUNCHED]
    for number in range(launched - 1, max(launched - RING, 0) - 1, -1):
        at = HEAD_WORDS + ENTRY_WORDS * (number % RING)
        began, ended, load = words[at], words[at + 1], words[at + 2]
        if ended <= start:
            break
        if began < end:
            found.append((max(began, start), min(ended, end), load))
    opened = words[W_OPEN_NS]
    if alive and 0 < opened < end:
        found.append((max(opened, start), end, words[W_OPEN_LOAD]))
    return found


def _union(kernels: list[tuple[int, int, int]], length: int) -> tuple[float, float]:
    """Share of `length` covered by at least one kernel, and covered weighted by load (0..1)."""
    covered, weighted, reached = 0, 0.0, 0
    for began, ended, load in sorted(kernels):
        fresh = ended - max(began, reached)
        if fresh > 0:
            covered += fresh
            weighted += fresh * load / 1000
            reached = ended
    return min(covered / length, 1.0), min(weighted / length, 1.0)
