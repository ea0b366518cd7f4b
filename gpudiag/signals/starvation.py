"""③ Does the GPU wait for input? What the training process and its workers do while the GPU idles.

The one figure that separates "the training process waits for data" from "it is itself the limit" is
X, the time in which it wants a core beyond the time in which the GPU was busy. It rests on CUDA's
default of spinning: a process that waits for the GPU burns CPU, one that waits for its loader
sleeps. A process that is ready to run and has no core wants one, too: it is not asleep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import GROSS_S, GROSS_SAMPLES, common_stall, need_length
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.ranks import known_ranks, ranks_cpu, stalled_ratios

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

RANK_CPU = 130.0  # a rank spins on one core, and its helper threads take some of another
OTHERS_CPU = 50.0  # half a core in processes that are neither training nor workers


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
    "X = main_wants_cpu / 100 - (1 - stall_share): share of the active time in which the training "
    "process runs, or is ready to run, while its GPU idles. Near or below 0 it sleeps, i.e. waits. "
    "Of several training processes whose GPUs are known it is the median (see ranks_judged).",
)  # fmt: skip
def main_busy_while_gpu_idle(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, GROSS_S, GROSS_SAMPLES)
    ranks = known_ranks(signals)
    if ranks:
        return float(np.median([rank.busy_while_idle for rank in ranks]))
    return signals.need("main_wants_cpu") / 100 - (1 - common_stall(signals))


@signal(
    "least_busy_while_idle", "figure", "share", "run",
    "X, but not below 0: the training process ran, or was ready to run, while its GPU idled, for "
    "at least this share of the active time.",
)  # fmt: skip
def least_busy_while_idle(signals: SignalSet, gpu: int | None) -> float | Missing:
    return max(signals.need("main_busy_while_gpu_idle"), 0.0)


@signal(
    "main_busy_ratio", "figure", "", "run",
    "X / stall_share. At least 0.6: the training process itself is busy while the GPU idles (it "
    "loads data, launches work too slowly, or does not get the core it wants). At most 0.3: it "
    "sleeps (it waits for its workers, for storage, or for another rank). Between: unclear. Not "
    "given below a stall of 10 %. Of several training processes whose GPUs are known it is the "
    "median of those whose own GPU stalls.",
)  # fmt: skip
def main_busy_ratio(signals: SignalSet, gpu: int | None) -> float | Missing:
    stall = signals.need("stall_share")
    if stall < signals.limits["min_stall"]:
        return Missing("the GPUs stall for less than 10 % of the time")
    ratios = stalled_ratios(signals)
    if ratios:
        return float(np.median(ratios))
    return signals.need("main_busy_while_gpu_idle") / stall


def _reads(signals: SignalSet) -> bool:
    return signals.reaches("main_read_mib_s_mean", "loading_mib_s") or signals.reaches(
        "disk_read_mib_s", "loading_mib_s"
    )


@signal(
    "input_wait_evidence", "figure", "0 or 1", "run",
    "1 if what was measured shows that the GPUs wait for input: they stall for at least 10 % of "
    "the active time, and either the CPU quota stops the container, or the training process "
    "sleeps while its workers are at their limit or wait for storage, or it has no workers and "
    "reads data itself. 0 if that is ruled out. Missing if it cannot be told.",
)  # fmt: skip
def input_wait_evidence(signals: SignalSet, gpu: int | None) -> float | Missing:
    limits = signals.limits
    if signals.need("stall_share") < limits["min_stall"]:
        return 0.0
    ratio = signals.need("main_busy_ratio")
    count = signals.need("workers_count")
    if signals.reaches("throttled_share", "throttled") and signals.reaches(
        "stopped_cores", "stopped"
    ):
        return 1.0
    if count < 1:
        return _without_workers(signals, ratio)
    if ratio >= limits["busy_ratio"]:
        return 0.0
    if signals.reaches("worker_cpu", "full_cpu") and signals.reaches(
        "worker_cpu_least", "each_full_cpu"
    ):
        return 1.0
    if ratio > limits["asleep_ratio"]:
        return Missing("the training process is neither clearly busy nor clearly asleep")
    if _starved_of_cpu(signals):
        return 1.0
    sleeps = signals.figure("main_sleeps")
    if isinstance(sleeps, Missing):
        return sleeps
    if _waiting(signals):
        return 1.0
    return Missing(
        "the training process sleeps while the GPU idles, and nothing shows that its workers are "
        "at a limit: it may wait for them, for another rank, or for something else"
    )


def _without_workers(signals: SignalSet, ratio: float) -> float | Missing:
    others = signals.figure("others_cpu")
    if not isinstance(others, Missing) and others >= OTHERS_CPU + _other_ranks_cpu(signals):
        return Missing(
            "there are no loader workers, and other processes of the run work: what passes between "
            "them and the training process cannot be seen"
        )
    limits = signals.limits
    busy = ratio >= limits["busy_ratio"] and signals.reaches("main_wants_cpu", "full_cpu")
    threads = signals.reaches("main_cpu", "pool_cpu") and (
        signals.figure("has_tensorflow") == 1 or signals.figure("has_jax") == 1
    )
    # Between busy and asleep it waits for the CPU or storage in turn: that needs a clear stall.
    clear = busy or ratio <= limits["asleep_ratio"] or signals.reaches("stall_share", "clear_stall")
    if (clear and _reads(signals)) or (busy and threads):
        return 1.0
    if busy:
        return Missing(
            "the training process is busy while the GPU idles and reads nothing that can be seen: "
            "it may prepare data from memory, or launch work too slowly"
        )
    return Missing("there are no loader workers, and the training process is not clearly busy")


def _other_ranks_cpu(signals: SignalSet) -> float:
    """The CPU of other ranks: measured, or what they spend spinning where a launcher is seen."""
    measured = ranks_cpu(signals)
    if measured is not None:
        return max(measured - signals.need("main_cpu"), 0.0)
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
    limits = signals.limits
    if signals.need("stall_share") < limits["min_stall"]:
        return 0.0
    if signals.figure("input_wait_evidence") == 1:
        return 0.0
    if signals.need("main_busy_ratio") < limits["busy_ratio"]:
        return 0.0
    if signals.need("main_cpu") < limits["full_cpu"]:
        return 0.0
    if signals.need("workers_count") < 1:
        return 1.0
    return float(signals.need("worker_cpu") <= limits["idle_worker_cpu"])


@signal(
    "contention_evidence", "figure", "0 or 1", "run",
    "1 if the GPUs stall for at least 10 % of the active time while the training process is ready "
    "to run and has no core for a fifth of the time, because programs outside the run take it "
    "(foreign_load_evidence), and neither input_wait_evidence nor main_bound_evidence is 1. "
    "Missing where waiting for a core was not recorded.",
)  # fmt: skip
def contention_evidence(signals: SignalSet, gpu: int | None) -> float | Missing:
    limits = signals.limits
    if signals.need("stall_share") < limits["min_stall"]:
        return 0.0
    if signals.figure("input_wait_evidence") == 1 or signals.figure("main_bound_evidence") == 1:
        return 0.0
    if signals.need("main_cpu_wait") < 100 * limits["lacks_core"]:
        return 0.0
    return signals.need("foreign_load_evidence")


def _starved_of_cpu(signals: SignalSet) -> bool:
    """No core is left and the workers want one; or all workers share one core."""
    if not signals.reaches("workers_wanting_share", "wants_cpu"):
        return False
    return signals.reaches("cores_busy_share", "cores_full") or _on_one_core(signals)


def _on_one_core(signals: SignalSet) -> bool:
    cores, count = signals.figure("workers_cores"), signals.figure("workers_count")
    return (
        not isinstance(cores, Missing)
        and not isinstance(count, Missing)
        and count >= 2
        and 0.9 <= cores <= 1.1
        and signals.reaches("workers_core_wait_share", "lacks_core")
    )


def _waiting(signals: SignalSet) -> bool:
    """The workers wait for something outside: often, blocked, or on steady storage."""
    return signals.stays_within("worker_cpu", "waiting_cpu") and (
        signals.figure("storage_wait_evidence") == 1
        or signals.reaches("worker_switches", "switches")
        or signals.reaches("net_rx_mib_s", "sustained_mib_s")
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
