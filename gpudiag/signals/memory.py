"""③ The memory of a GPU: how full, since when, whether it creeps, and when it would be full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import need_time
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.signals.used import CONTEXT_MIB

if TYPE_CHECKING:
    from gpudiag.signals.clock import Array
    from gpudiag.signals.compute import SignalSet

SETTLE_S = 30.0  # loading, first optimizer step, autotuning: left out, or a tenth if longer
SETTLE_SHARE = 0.10
POOL_SHARE = 0.70  # JAX takes 75 %, TensorFlow nearly all, Paddle's naive_best_fit 92 % of the free
POOL_S = 60.0
FLAT_MIB = 64.0
END_S, BEFORE_END_S, FEWEST_BEFORE = 60.0, 300.0, 30
BEFORE_S = 2.0  # importing a framework and making a context takes longer


@signal("mem_total_mib", "figure", "MiB", "gpu", "Size of the GPU's memory.")
def mem_total_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    total = signals.timeline.gpu_facts(gpu if gpu is not None else -1).get("mem_total_mib")
    if isinstance(total, int | float) and not isinstance(total, bool) and total > 0:
        return float(total)
    return Missing("the size of the GPU's memory is not known: the log does not hold memory.total")


@signal(
    "mem_peak_mib", "figure", "MiB", "gpu",
    "Highest memory in use on the GPU, by all processes, caches of the frameworks included.",
)  # fmt: skip
def mem_peak_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(np.nanmax(signals.array("gpu_mem_used_mib", gpu)))


@signal("mem_peak_share", "figure", "share", "gpu", "mem_peak_mib / mem_total_mib.")
def mem_peak_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return signals.need("mem_peak_mib", gpu) / signals.need("mem_total_mib", gpu)


@signal(
    "mem_room_mib", "figure", "MiB", "gpu", "mem_total_mib - mem_peak_mib: what was never used."
)
def mem_room_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return max(signals.need("mem_total_mib", gpu) - signals.need("mem_peak_mib", gpu), 0.0)


@signal(
    "mem_before_mib", "figure", "MiB", "gpu",
    "What others hold: the memory of processes outside the run when that was first asked; where "
    "PIDs cannot be told, the memory in use at the first reading of a recorded command, if that "
    "came within 2 s, before a framework can have made a context.",
)  # fmt: skip
def mem_before_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    memory = signals.array("gpu_mem_used_mib", gpu)
    if not signals.timeline.start.get("command"):
        return Missing("the log does not say when the run started")
    foreign = signals.timeline.column(f"gpu{gpu}_foreign_mem_mib")
    if foreign is not None:
        return float(foreign.dropna().iloc[0])
    first = int(np.flatnonzero(np.isfinite(memory))[0])
    if signals.clock.t[first] > BEFORE_S:
        return Missing("the first reading came too late to tell what was in use before the run")
    return float(memory[first])


@signal(
    "mem_last_mib", "figure", "MiB", "gpu",
    "Memory in use when it was last measured while the run was at work.",
)  # fmt: skip
def mem_last_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_at_work(signals, gpu)[1][-1])


def _at_work(signals: SignalSet, gpu: int | None) -> tuple[Array, Array]:
    """Times and memory from the first allocation to the last activity; raises Absent if none."""
    memory = signals.array("gpu_mem_used_mib", gpu)
    known = np.isfinite(memory)
    t, memory = signals.clock.t[known], memory[known]
    first = int(np.argmax(memory >= memory[0] + CONTEXT_MIB))  # 0 if it never rose: already loaded
    last = len(t) - 1
    window = signals.found_window
    if not isinstance(window, Missing):
        begin, end = np.flatnonzero(window.work)[[0, -1]]
        last = max(int(np.searchsorted(t, signals.clock.t[end], side="right")) - 1, first)
        if first == 0 or t[first] > signals.clock.t[end]:
            first = min(int(np.searchsorted(t, signals.clock.t[begin])), last)
    else:
        # Without utilisation the end of the job shows as the memory it gives back.
        held = np.flatnonzero(memory >= min(0.5 * memory.max(), memory.max()))
        last = max(int(held[-1]), first)
    return t[first : last + 1], memory[first : last + 1]


def settled(signals: SignalSet, gpu: int | None) -> tuple[Array, Array]:
    """The same without the first 30 s, or tenth."""
    need_time(signals)
    t, memory = _at_work(signals, gpu)
    later = t >= t[0] + max(SETTLE_S, SETTLE_SHARE * float(t[-1] - t[0]))
    if int(later.sum()) < 2:
        raise Absent(Missing("the memory was seen for too short a time"))
    return t[later], memory[later]


@signal(
    "mem_settled_s", "figure", "s", "gpu",
    "How long the memory was seen after it settled: from the first allocation to the last "
    "activity, less the first 30 s (or tenth, if longer).",
)  # fmt: skip
def mem_settled_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    t, _ = settled(signals, gpu)
    return float(t[-1] - t[0])


@signal(
    "mem_from_start", "figure", "0 or 1", "gpu",
    "1 if the memory reached 70 % of the GPU within a minute of the first allocation and stayed "
    "within 64 MiB: a pool taken in advance (JAX, TensorFlow, Paddle's naive_best_fit), or a "
    "program whose need never changes.",
)  # fmt: skip
def mem_from_start(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    t, memory = _at_work(signals, gpu)
    total = signals.need("mem_total_mib", gpu)
    later = memory[t > t[0] + POOL_S]
    if len(later) < 2:
        return Missing("the memory was seen for less than a minute")
    early = float(memory[t <= t[0] + POOL_S].max())
    flat = float(memory.max()) - early <= FLAT_MIB and float(np.ptp(later)) <= FLAT_MIB
    return float(early >= POOL_SHARE * total and flat)


@signal(
    "mem_end_share", "figure", "share", "gpu",
    "Highest memory in use in the last minute of the recording, as a share of the GPU.",
)  # fmt: skip
def mem_end_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    memory = signals.array("gpu_mem_used_mib", gpu)
    late = memory[signals.clock.t >= signals.clock.t[-1] - END_S]
    if not np.isfinite(late).any():
        return Missing("the memory was not measured in the last minute")
    return float(np.nanmax(late)) / signals.need("mem_total_mib", gpu)


@signal(
    "mem_end_jump_share", "figure", "share", "gpu",
    "How far the highest memory of the last minute of the recording stands above the median of the "
    "five minutes before it, as a share of the GPU.",
)  # fmt: skip
def mem_end_jump_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    memory, t = signals.array("gpu_mem_used_mib", gpu), signals.clock.t
    late = memory[t >= t[-1] - END_S]
    before = memory[(t < t[-1] - END_S) & (t >= t[-1] - END_S - BEFORE_END_S)]
    late, before = (part[np.isfinite(part)] for part in (late, before))
    if not len(late) or len(before) < FEWEST_BEFORE:
        return Missing("the memory was not measured for long enough before the last minute")
    return float(late.max() - np.median(before)) / signals.need("mem_total_mib", gpu)
