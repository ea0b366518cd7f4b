"""③ Does the GPU wait for input? What the training process and its workers do while the GPU idles.

The one figure that separates "the training process waits for data" from "it is itself the limit" is
X, its CPU use beyond the time in which the GPU was busy. It rests on CUDA's default of spinning:
a process that waits for the GPU burns CPU, one that waits for its loader sleeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import GROSS_S, GROSS_SAMPLES, common_stall, need_length
from gpudiag.signals.base import Missing, signal

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

MIN_STALL = 0.10  # MLPerf Storage accepts 90 % accelerator use; TraceML warns from 10 %
BUSY_RATIO = 0.6  # X/S at or above: the training process is busy while the GPU idles …
ASLEEP_RATIO = 0.3  # … at or below: it sleeps. Set with nine measured runs in view.
LOADING_MIB_S = 2.0  # loading in the main process read 17 MiB/s, launching without loading 1.3
FULL_CPU = 85.0  # a process at one full core; 99 was measured
EACH_FULL_CPU = 80.0
CLEAR_STALL = 0.20
RANK_CPU = 130.0  # a rank spins on one core, and its helper threads take some of another
OTHERS_CPU = 50.0  # half a core in processes that are neither training nor workers
POOL_CPU = 200.0  # two cores in one process: it loads, or computes, in threads
THROTTLED = 0.25  # CPUThrottlingHigh of kubernetes-mixin
STOPPED_CORES = 0.1
CORES_FULL = 0.85
WANTS_CPU = 0.5
WAITING_CPU = 30.0  # 6 was measured in workers that wait for small files
SWITCHES = 30.0  # 108 a worker in those, 3 to 12 in others
BLOCKED = 0.2
SUSTAINED_MIB_S = 20.0  # the low end of a hard disk
IDLE_WORKER_CPU = 50.0  # 1.7 in Paddle #33275; at half a core a worker is not the limit


@signal(
    "main_cpu", "figure", "%", "run",
    "CPU of the training process, all threads, 100 = one core; mean of the active time without "
    "pauses. 100 proves nothing alone: CUDA spins while it waits for the GPU.",
)  # fmt: skip
def main_cpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    return signals.steady_mean("main_cpu_pct")


@signal(
    "main_read_mib_s_mean", "figure", "MiB/s", "run",
    "Read by the training process itself through system calls, page cache included, what ended "
    "children had read taken off; mean of the active time without pauses.",
)  # fmt: skip
def main_read_mib_s_mean(signals: SignalSet, gpu: int | None) -> float | Missing:
    return signals.steady_mean("main_read_mib_s")


@signal(
    "others_cpu", "figure", "%", "run",
    "CPU of processes of the run that are neither the training process nor loader workers; mean "
    "of the active time without pauses, 100 = one core.",
)  # fmt: skip
def others_cpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    return signals.steady_mean("others_cpu_pct")


@signal(
    "main_busy_while_gpu_idle", "figure", "share", "run",
    "X = mean(min(main_cpu_pct, 100)) / 100 - (1 - stall_share): share of the active time in which "
    "the training process burns CPU while its GPU idles. Near or below 0 it sleeps, i.e. waits.",
)  # fmt: skip
def main_busy_while_gpu_idle(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, GROSS_S, GROSS_SAMPLES)
    capped = np.minimum(signals.array("main_cpu_pct"), 100.0)
    mean = signals.clock.mean(capped, signals.window.steady)
    if mean is None:
        return Missing("main_cpu_pct holds no reading in the time that counts")
    return mean / 100 - (1 - common_stall(signals))


@signal(
    "main_busy_ratio", "figure", "", "run",
    "X / stall_share. At least 0.6: the training process itself is busy while the GPU idles (it "
    "loads data, or launches work too slowly). At most 0.3: it sleeps (it waits for its workers, "
    "for storage, or for another rank). Between: unclear. Not given below a stall of 10 %.",
)  # fmt: skip
def main_busy_ratio(signals: SignalSet, gpu: int | None) -> float | Missing:
    stall = signals.need("stall_share")
    if stall < MIN_STALL:
        return Missing("the GPUs stall for less than 10 % of the time")
    return signals.need("main_busy_while_gpu_idle") / stall


def _at_least(signals: SignalSet, name: str, threshold: float) -> bool:
    """Whether a signal is known and reaches the threshold."""
    value = signals.figure(name)
    return not isinstance(value, Missing) and value >= threshold


def _at_most(signals: SignalSet, name: str, threshold: float) -> bool:
    value = signals.figure(name)
    return not isinstance(value, Missing) and value <= threshold


def _reads(signals: SignalSet) -> bool:
    return _at_least(signals, "main_read_mib_s_mean", LOADING_MIB_S) or _at_least(
        signals, "disk_read_mib_s", LOADING_MIB_S
    )


@signal(
    "input_wait_evidence", "figure", "0 or 1", "run",
    "1 if what was measured shows that the GPUs wait for input: they stall for at least 10 % of "
    "the active time, and either the CPU quota stops the container, or the training process "
    "sleeps while its workers are at their limit or wait for storage, or it has no workers and "
    "reads data itself. 0 if that is ruled out. Missing if it cannot be told.",
)  # fmt: skip
def input_wait_evidence(signals: SignalSet, gpu: int | None) -> float | Missing:
    if signals.need("stall_share") < MIN_STALL:
        return 0.0
    ratio = signals.need("main_busy_ratio")
    count = signals.need("workers_count")
    if _at_least(signals, "throttled_share", THROTTLED) and _at_least(
        signals, "stopped_cores", STOPPED_CORES
    ):
        return 1.0
    if count < 1:
        return _without_workers(signals, ratio)
    if ratio >= BUSY_RATIO:
        return 0.0
    workers_full = _at_least(signals, "worker_cpu", FULL_CPU) and _at_least(
        signals, "worker_cpu_least", EACH_FULL_CPU
    )
    if workers_full or (ratio <= ASLEEP_RATIO and (_starved_of_cpu(signals) or _waiting(signals))):
        return 1.0
    if ratio <= ASLEEP_RATIO:
        return Missing(
            "the training process sleeps while the GPU idles, and nothing shows that its workers "
            "are at a limit: it may wait for them, for another rank, or for something else"
        )
    return Missing("the training process is neither clearly busy nor clearly asleep")


def _without_workers(signals: SignalSet, ratio: float) -> float | Missing:
    if _at_least(signals, "others_cpu", OTHERS_CPU + _other_ranks_cpu(signals)):
        return Missing(
            "there are no loader workers, and other processes of the run work: what passes between "
            "them and the training process cannot be seen"
        )
    busy = ratio >= BUSY_RATIO and _at_least(signals, "main_cpu", FULL_CPU)
    threads = _at_least(signals, "main_cpu", POOL_CPU) and (
        _at_least(signals, "has_tensorflow", 1) or _at_least(signals, "has_jax", 1)
    )
    # Between busy and asleep it waits for the CPU or storage in turn: that needs a clear stall.
    clear = busy or ratio <= ASLEEP_RATIO or signals.need("stall_share") >= CLEAR_STALL
    if (clear and _reads(signals)) or (busy and threads):
        return 1.0
    if busy:
        return Missing(
            "the training process is busy while the GPU idles and reads nothing that can be seen: "
            "it may prepare data from memory, or launch work too slowly"
        )
    return Missing("there are no loader workers, and the training process is not clearly busy")


def _other_ranks_cpu(signals: SignalSet) -> float:
    """The CPU that other ranks spend spinning on their GPUs, where a launcher started them."""
    single = signals.figure("single_process")
    if isinstance(single, Missing) or single >= 1:
        return 0.0
    return RANK_CPU * (len(signals.used.working) - 1)


@signal(
    "main_bound_evidence", "figure", "0 or 1", "run",
    "1 if the GPUs stall for at least 10 % of the active time while the training process burns a "
    "core (main_busy_ratio at least 0.6, main_cpu at least 85 %), its workers, if there are any, "
    "are at half a core or less, and input_wait_evidence is not 1.",
)  # fmt: skip
def main_bound_evidence(signals: SignalSet, gpu: int | None) -> float | Missing:
    if signals.need("stall_share") < MIN_STALL:
        return 0.0
    if _at_least(signals, "input_wait_evidence", 1):
        return 0.0
    busy = signals.need("main_busy_ratio") >= BUSY_RATIO and signals.need("main_cpu") >= FULL_CPU
    if not busy:
        return 0.0
    if signals.need("workers_count") < 1:
        return 1.0
    return float(signals.need("worker_cpu") <= IDLE_WORKER_CPU)


def _starved_of_cpu(signals: SignalSet) -> bool:
    """No core is left and the workers want one; or all workers share one core."""
    if not _at_least(signals, "workers_running_share", WANTS_CPU):
        return False
    return _at_least(signals, "cores_busy_share", CORES_FULL) or _on_one_core(signals)


def _on_one_core(signals: SignalSet) -> bool:
    cores = signals.figure("workers_cores")
    return (
        _at_least(signals, "workers_count", 2)
        and not isinstance(cores, Missing)
        and 0.9 <= cores <= 1.1
    )


def _waiting(signals: SignalSet) -> bool:
    """The workers wait for something outside: often, blocked, or on steady storage."""
    return _at_most(signals, "worker_cpu", WAITING_CPU) and (
        _at_least(signals, "workers_blocked_share", BLOCKED)
        or _at_least(signals, "worker_switches", SWITCHES)
        or _at_least(signals, "disk_read_mib_s", SUSTAINED_MIB_S)
        or _at_least(signals, "net_rx_mib_s", SUSTAINED_MIB_S)
    )


@signal(
    "loads_from_memory", "figure", "0 or 1", "run",
    "Whether the training process prepares data that it holds in memory. Always missing: it cannot "
    "be told from outside, so that a cause which depends on it can be neither held nor ruled out.",
)  # fmt: skip
def loads_from_memory(signals: SignalSet, gpu: int | None) -> float | Missing:
    return Missing(
        "whether the training process prepares data from memory or launches work cannot be seen "
        "from outside; py-spy top --pid <pid> shows it"
    )
