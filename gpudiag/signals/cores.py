"""③ Whether the run gets the cores that it wants, and who has them if not.

A process that is ready to run and has no core looks asleep to a counter of CPU time. The kernel
counts that waiting (`main_cpu_wait_pct`, `workers_cpu_wait_pct`); recordings without these columns
fall back on what the workers were seen doing, and say less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.signals.workers import need_workers

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

FEWEST_FOREIGN_CORES = 0.5


def has_waits(signals: SignalSet) -> bool:
    """Whether the time without a core was recorded for the training process."""
    return signals.timeline.column("main_cpu_wait_pct") is not None


@signal(
    "main_cpu_wait", "figure", "%", "run",
    "Time the threads of the training process were ready to run and had no core, 100 = one thread "
    "all the time; mean of the active time without pauses.",
)  # fmt: skip
def main_cpu_wait(signals: SignalSet, gpu: int | None) -> float | Missing:
    return signals.steady_mean("main_cpu_wait_pct")


@signal(
    "main_wants_cpu", "figure", "%", "run",
    "mean(min(main_cpu_pct + main_cpu_wait_pct, 100)) of the active time without pauses: how long "
    "the training process ran or was ready to run. Where the waiting was not recorded, its CPU "
    "alone, which is too low on a machine whose cores are full.",
)  # fmt: skip
def main_wants_cpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    used = signals.array("main_cpu_pct")
    if has_waits(signals):
        used = used + np.nan_to_num(signals.array("main_cpu_wait_pct"))
    mean = signals.clock.mean(np.minimum(used, 100.0), signals.window.steady)
    if mean is None:
        return Missing("main_cpu_pct holds no reading in the time that counts")
    return mean


@signal(
    "workers_wanting_share", "figure", "share", "run",
    "Share of its time in which a worker ran or was ready to run: (workers_cpu_pct + "
    "workers_cpu_wait_pct) / 100 / workers, at most 1; where the waiting was not recorded, "
    "workers_running_share.",
)  # fmt: skip
def workers_wanting_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    count = need_workers(signals)
    if signals.timeline.column("workers_cpu_wait_pct") is None:
        return signals.need("workers_running_share")
    wait = signals.steady_mean("workers_cpu_wait_pct")
    return min((signals.steady_mean("workers_cpu_pct") + wait) / 100 / count, 1.0)


@signal(
    "workers_core_wait_share", "figure", "share", "run",
    "Share of its time in which a worker was ready to run and had no core: workers_cpu_wait_pct / "
    "100 / workers, at most 1; where that was not recorded, workers_running_share less the CPU of "
    "a worker, in cores.",
)  # fmt: skip
def workers_core_wait_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    count = need_workers(signals)
    if signals.timeline.column("workers_cpu_wait_pct") is not None:
        return min(signals.steady_mean("workers_cpu_wait_pct") / 100 / count, 1.0)
    return max(signals.need("workers_running_share") - signals.need("workers_cores") / count, 0.0)


@signal(
    "core_wait_share", "figure", "share", "run",
    "Of the time in which the training process and its workers ran or were ready to run, the share "
    "without a core: waiting / (waiting + CPU); mean of the active time without pauses.",
)  # fmt: skip
def core_wait_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    waited, used = signals.need("main_cpu_wait"), signals.steady_mean("main_cpu_pct")
    if signals.timeline.column("workers_cpu_wait_pct") is not None:
        waited += signals.steady_mean("workers_cpu_wait_pct")
        used += signals.steady_mean("workers_cpu_pct")
    if waited + used <= 0:
        return Missing("the run used no CPU")
    return waited / (waited + used)


def _pressure(signals: SignalSet, name: str) -> float:
    return signals.steady_mean(name) / 100


@signal(
    "cpu_pressure", "figure", "share", "run",
    "Share of the time in which some program of the machine waited for a core (the kernel's "
    "pressure figures); mean of the active time without pauses.",
)  # fmt: skip
def cpu_pressure(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _pressure(signals, "host_cpu_pressure_pct")


@signal(
    "io_pressure", "figure", "share", "run",
    "Likewise, waited for a disk or a network file system. Other programs' waiting is in it.",
)  # fmt: skip
def io_pressure(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _pressure(signals, "host_io_pressure_pct")


@signal(
    "mem_pressure", "figure", "share", "run",
    "Likewise, waited for memory to be freed, i.e. for swapping or reclaim.",
)  # fmt: skip
def mem_pressure(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _pressure(signals, "host_mem_pressure_pct")


@signal(
    "foreign_load_evidence", "figure", "0 or 1", "run",
    "1 if programs outside the run take cores that it wants: the cores are full, others use at "
    "least half a core and a fifth of the cores, and the run is without a core for a fifth of the "
    "time in which it wants one, while the kernel reports CPU pressure. Where the waiting was not "
    "recorded: the run uses less than 60 % of the cores, and its workers are seen ready to run in "
    "half of the looks (without workers: 95 % of the cores are busy, others use one and the "
    "training process gets less than 85 %).",
)  # fmt: skip
def foreign_load_evidence(signals: SignalSet, gpu: int | None) -> float | Missing:
    foreign = signals.need("foreign_cores")
    if foreign < FEWEST_FOREIGN_CORES:
        return 0.0
    if not has_waits(signals):
        return _seen_without_waits(signals, foreign)
    # A quota makes threads wait, too: there the cores of the machine are not full.
    idle = signals.steady_mean("host_idle_cores") / signals.need("affinity_cores")
    pressure = signals.figure("cpu_pressure")
    limits = signals.limits
    return float(
        1 - idle >= limits["cores_full"]
        and foreign >= limits["foreign_share"] * signals.need("affinity_cores")
        and signals.need("core_wait_share") >= limits["lacks_core"]
        and (isinstance(pressure, Missing) or pressure >= limits["lacks_core"])
    )


def _seen_without_waits(signals: SignalSet, foreign: float) -> float:
    if signals.need("tree_core_share") >= signals.limits["own_share"]:
        return 0.0
    busy = signals.need("cores_busy_share")
    if signals.need("workers_count") >= 1:
        return float(
            busy >= signals.limits["cores_full"]
            and signals.need("workers_running_share") >= signals.limits["wants_cpu"]
        )
    return float(
        busy >= signals.limits["no_core_left"]
        and foreign >= 1
        and signals.need("main_cpu") < signals.limits["full_cpu"]
    )


@signal(
    "main_sleeps", "figure", "0 or 1", "run",
    "1 if the training process sleeps while the GPU idles (main_busy_ratio at most 0.3) and not "
    "for want of a core. Missing where the cores are full and its waiting for one was not "
    "recorded, since then both look the same.",
)  # fmt: skip
def main_sleeps(signals: SignalSet, gpu: int | None) -> float | Missing:
    if signals.need("main_busy_ratio") > signals.limits["asleep_ratio"]:
        return 0.0
    if not has_waits(signals):
        busy = signals.figure("cores_busy_share")
        if isinstance(busy, Missing) or busy >= signals.limits["cores_full"]:
            raise Absent(
                Missing(
                    "the cores were full or not measured, and whether the training process waited "
                    "for one was not recorded"
                )
            )
    return 1.0


@signal(
    "storage_wait_evidence", "figure", "0 or 1", "run",
    "1 if the run waits for storage: its workers are in uninterruptible sleep in a fifth of the "
    "looks; or the kernel reports I/O pressure of 10 % or more while the run reads 2 MiB/s from "
    "disks; or, where pressure was not recorded, it reads 20 MiB/s from disks all the time. I/O "
    "wait of the processor is not used.",
)  # fmt: skip
def storage_wait_evidence(signals: SignalSet, gpu: int | None) -> float | Missing:
    if signals.reaches("workers_blocked_share", "blocked"):
        return 1.0
    pressure = signals.figure("io_pressure")
    if isinstance(pressure, Missing):
        return float(signals.need("disk_read_mib_s") >= signals.limits["sustained_mib_s"])
    if pressure < signals.limits["io_pressure_high"]:
        return 0.0
    return float(signals.need("disk_read_mib_s") >= signals.limits["loading_mib_s"])
