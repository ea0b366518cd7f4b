"""③ Is the run stuck? How long, at the end of the recording, nothing at all changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import need_time
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent

if TYPE_CHECKING:
    from gpudiag.signals.clock import Mask
    from gpudiag.signals.compute import SignalSet

IDLE_PCT, FULL_PCT = 1.0, 99.0  # a stuck GPU stands still, or spins in a collective
STILL_MIB_S = 0.01  # reading and writing of the whole run
STILL_WORKER_PCT = 2.0
STILL_MEMORY_MIB = 2.0
LAST_READINGS = 4  # who ends a stuck run frees its memory just before the recording ends
SPIN_POWER = 0.75  # a GPU that spins in a collective draws far less than when it worked
KNOWN_SHARE = 0.9  # of the readings of a still time; single rows without the GPU occur under load


@signal(
    "frozen_s", "figure", "s", "run",
    "How long, at the end of the recording, nothing changed: every working GPU at or below 1 %, or "
    "at 99 % or more while it draws less than three quarters of its usual power; GPU memory within "
    "2 MiB; the run reads and writes less than 0.01 MiB/s; its workers use less than 2 % of a "
    "core. Up to three readings at the very end may move: who ends a stuck run frees its memory.",
)  # fmt: skip
def frozen_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    first, end = signals.once("still_end", None, lambda: _still_end(signals))
    return float(signals.clock.weight[first:end].sum())


@signal(
    "idle_before_s", "figure", "s", "run",
    "The longest time without GPU work (every working GPU at or below 1 %) between the first work "
    "and the standstill at the end that frozen_s measures; 0 if there was none.",
)  # fmt: skip
def idle_before_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    end = signals.once("still_end", None, lambda: _still_end(signals))[0]
    works = np.zeros(len(signals.clock.t), dtype=bool)
    for number in signals.used.working:
        works |= signals.array("gpu_util_pct", number) > IDLE_PCT
    at = np.flatnonzero(works[:end])
    if len(at) < 2:
        return 0.0
    done = np.concatenate(([0.0], np.cumsum(signals.clock.weight)))
    return float(np.max(done[at[1:]] - done[at[:-1] + 1]))


def _still_end(signals: SignalSet) -> tuple[int, int]:
    """The first reading of the standstill at the end, and the one after its last."""
    still, known = _still_tree(signals)
    for number in signals.used.working:
        still &= _still_gpu(signals, number)
        known &= np.isfinite(signals.array("gpu_util_pct", number))
    still |= ~known
    ends = [max(len(still) - late, 0) for late in range(LAST_READINGS)]
    found = [(_first(signals, still, known, end), end) for end in ends]
    return max(found, key=lambda stretch: signals.clock.weight[slice(*stretch)].sum())


def _first(signals: SignalSet, still: Mask, known: Mask, end: int) -> int:
    """The first of the readings up to `end` (left out) in which nothing changed."""
    moving = np.flatnonzero(~still[:end])
    first = int(moving[-1]) + 1 if len(moving) else 0
    while first < end and not _memory_stands(signals, first, end):
        first += max(1, (end - first) // 20)
    return first if first < end and known[first:end].mean() >= KNOWN_SHARE else end


def _still_tree(signals: SignalSet) -> tuple[Mask, Mask]:
    """Ticks at which the processes of the run do nothing, and those at which that is known.

    Raises Absent without a CPU side.
    """
    still = np.ones(len(signals.timeline.frame), dtype=bool)
    known = still.copy()
    for name in ("main_read_mib_s", "tree_write_mib_s"):
        still &= signals.array(name) <= STILL_MIB_S
        known &= np.isfinite(signals.array(name))
    for name, most in (("workers_read_mib_s", STILL_MIB_S), ("workers_cpu_pct", STILL_WORKER_PCT)):
        if signals.timeline.column(name) is not None:
            still &= np.nan_to_num(signals.array(name)) <= most
    return still, known


def _still_gpu(signals: SignalSet, gpu: int) -> Mask:
    util = signals.array("gpu_util_pct", gpu)
    idle: Mask = util <= IDLE_PCT
    if signals.timeline.column(f"gpu{gpu}_power_w") is None:
        return idle  # without power a stuck collective cannot be told from full work
    power = signals.array("gpu_power_w", gpu)
    usual = signals.clock.mean(power, signals.window.active & (util > 50))
    if usual is None:
        return idle
    spins: Mask = (util >= FULL_PCT) & (power <= SPIN_POWER * usual)
    return idle | spins


def _memory_stands(signals: SignalSet, first: int, end: int) -> bool:
    for gpu in signals.used.working:
        column = signals.timeline.column(f"gpu{gpu}_mem_used_mib")
        if column is None:
            continue
        used = column.to_numpy(dtype=np.float64)[first:end]
        used = used[np.isfinite(used)]
        if len(used) and np.ptp(used) > STILL_MEMORY_MIB:
            return False
    return True


@signal(
    "held_at_end_mib", "figure", "MiB", "run",
    "GPU memory in use in the last four readings, of the working GPU that holds most.",
)  # fmt: skip
def held_at_end_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    last = [
        float(column.dropna().iloc[-LAST_READINGS:].max())
        for number in signals.used.working
        if (column := signals.timeline.column(f"gpu{number}_mem_used_mib")) is not None
    ]
    if not last:
        raise Absent(Missing("the memory of the GPUs was not recorded"))
    return max(last)


@signal(
    "main_cpu_at_end", "figure", "%", "run",
    "CPU of the training process in the last minute, 100 = one core; mean.",
)  # fmt: skip
def main_cpu_at_end(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    signals.array("main_cpu_pct")  # absent from an empty recording
    return signals.mean("main_cpu_pct", signals.clock.t >= signals.clock.t[-1] - 60)
