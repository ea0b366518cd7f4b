"""① The emulated GPU: what a training-shaped program drives and the simulated nvidia-smi reads.

Nothing here is a made-up figure: a program launches kernels of a known length, and the utilisation
follows from when they ran. Each context (one process on one GPU) has one file in a folder named by
`GPUDIAG_SIM_DIR`, mapped into memory, of 64-bit words: a head, then a ring of the last kernels as
(start ns, end ns, load per mille) on the monotonic clock, which all processes of a machine share.
Any process may be killed at any time: a reader takes a dead process for a context that is gone.
"""

from __future__ import annotations

import math
import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

SIM_DIR = "GPUDIAG_SIM_DIR"

MAGIC = 0x6770_7564_6961_6731
(
    W_MAGIC,
    W_PID,
    W_PROCESS_START,  # clock ticks since boot: tells a process from a later one of the same number
    W_MEMORY_MIB,
    W_OPEN_NS,  # start of a busy interval whose end is not known yet, 0 if there is none
    W_OPEN_LOAD,
    W_LAUNCHED,  # kernels launched so far; written after the ring entry that it counts
    W_HEAT_PPM,
    W_HEAT_NS,
    W_CLOSED,
    W_BUSY_NS,
) = range(11)
HEAD_WORDS = 16
RING = 4096  # enough for a sample period of one second if kernels last 0.25 ms or longer
ENTRY_WORDS = 3
FILE_BYTES = 8 * (HEAD_WORDS + RING * ENTRY_WORDS)
HEAT_S = 25.0  # time constant of the temperature of a cooled board, order of magnitude
CONTEXT_MIB = 420  # what an empty CUDA context holds on a current data-centre card


class EmulatedOutOfMemoryError(RuntimeError):
    """The emulated GPU has no room for the allocation."""


def process_start(pid: int) -> int:
    """When process `pid` started, in clock ticks since boot; 0 if it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    fields = stat[stat.rfind(b")") + 2 :].split()
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])


class EmulatedGPU:
    """One context of this process on emulated GPU `index`.

    `memory_mib` is the size of the card. A context must not be used after a fork, as with CUDA.
    """

    def __init__(
        self, index: int = 0, folder: str | Path | None = None, *, memory_mib: int = 16384
    ) -> None:
        where = Path(folder if folder is not None else os.environ[SIM_DIR])
        self.index = index
        self.memory_mib = memory_mib
        self._pid = os.getpid()
        self._free_at = 0
        path = _free_name(where, index, self._pid)
        with path.open("w+b") as file:
            file.truncate(FILE_BYTES)
            self._map = mmap.mmap(file.fileno(), FILE_BYTES)
        self._words = memoryview(self._map).cast("q")
        self._words[W_PID] = self._pid
        self._words[W_PROCESS_START] = process_start(self._pid)
        self._words[W_MEMORY_MIB] = CONTEXT_MIB
        self._words[W_HEAT_NS] = time.monotonic_ns()
        self._words[W_MAGIC] = MAGIC

    def launch(self, seconds: float, load: float = 0.8) -> None:
        """Queue a kernel of `seconds` behind those already queued and return at once.

        `load` in 0..1 is how hard it works the chip; power and memory traffic follow it.
        """
        self._own()
        start = max(time.monotonic_ns(), self._free_at)
        self._free_at = start + round(seconds * 1e9)
        self._enter(start, self._free_at, round(load * 1000))

    def synchronize(self, wait: Literal["sleep", "spin"] = "spin") -> None:
        """Wait until the queue is empty; `spin` burns a core meanwhile, as CUDA does by default."""
        while (left := self._free_at - time.monotonic_ns()) > 0:
            if wait == "sleep":
                time.sleep(left / 1e9)

    def kernel(
        self, seconds: float, load: float = 0.8, wait: Literal["sleep", "spin"] = "spin"
    ) -> None:
        """Launch one kernel and wait for it."""
        self.launch(seconds, load)
        self.synchronize(wait)

    @contextmanager
    def busy(self, load: float = 0.8) -> Iterator[None]:
        """Occupy the GPU as long as the block runs."""
        self._own()
        start = time.monotonic_ns()
        self._words[W_OPEN_LOAD] = round(load * 1000)
        self._words[W_OPEN_NS] = start
        try:
            yield
        finally:
            self._enter(start, time.monotonic_ns(), round(load * 1000))
            self._words[W_OPEN_NS] = 0

    def allocate(self, mib: int) -> None:
        """Take device memory. Raises EmulatedOutOfMemoryError where it does not fit the card."""
        self._own()
        used = self._words[W_MEMORY_MIB]
        if used + mib > self.memory_mib:
            raise EmulatedOutOfMemoryError(
                f"emulated GPU {self.index}: {mib} MiB asked for, "
                f"{self.memory_mib - used} of {self.memory_mib} MiB free"
            )
        self._words[W_MEMORY_MIB] = used + mib

    def free(self, mib: int) -> None:
        """Give device memory back."""
        self._own()
        self._words[W_MEMORY_MIB] = max(CONTEXT_MIB, self._words[W_MEMORY_MIB] - mib)

    @property
    def busy_s(self) -> float:
        """The truth to compare a recording with: seconds of kernels launched so far."""
        return int(self._words[W_BUSY_NS]) / 1e9

    def close(self) -> None:
        """Destroy the context; the file stays, since the board stays warm."""
        if not self._words[W_CLOSED]:
            self._own()
            self._words[W_MEMORY_MIB] = 0
            self._words[W_CLOSED] = 1

    def _enter(self, start: int, end: int, load: int) -> None:
        words = self._words
        at = HEAD_WORDS + ENTRY_WORDS * (words[W_LAUNCHED] % RING)
        words[at], words[at + 1], words[at + 2] = start, end, load
        words[W_LAUNCHED] += 1
        words[W_BUSY_NS] += end - start
        heat = cooled(words[W_HEAT_PPM] / 1e6, start - words[W_HEAT_NS])
        left = math.exp(-(end - start) / 1e9 / HEAT_S)
        words[W_HEAT_PPM] = round(1e6 * (heat * left + load / 1000 * (1 - left)))
        words[W_HEAT_NS] = end

    def _own(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError("an emulated GPU context cannot be used in a forked process")


def cooled(heat: float, ns: int) -> float:
    """What is left of `heat` after `ns` without work."""
    return heat * math.exp(-max(ns, 0) / 1e9 / HEAT_S)


def _free_name(folder: Path, index: int, pid: int) -> Path:
    number = 0
    while (path := folder / f"gpu{index}.{pid}.{number}").exists():
        number += 1
    return path
