"""③ The data-loader workers: how many, how busy, in which state, and whether they are replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet


def _steady_median(signals: SignalSet, name: str) -> float:
    values = signals.array(name)[signals.window.steady]
    values = values[np.isfinite(values)]
    if not len(values):
        raise Absent(Missing(f"{name} holds no reading in the time that counts"))
    return float(np.median(values))


@signal(
    "workers_count", "figure", "", "run",
    "Median number of data-loader worker processes in the active time without pauses, over all "
    "ranks. tf.data, grain and DALI load in threads and show none.",
)  # fmt: skip
def workers_count(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _steady_median(signals, "workers")


def need_workers(signals: SignalSet) -> float:
    """The number of workers; raises Absent if there are none."""
    count = signals.need("workers_count")
    if count < 1:
        raise Absent(Missing("there are no data-loader workers"))
    return count


@signal(
    "workers_cores", "figure", "cores", "run",
    "CPU of all workers together, in cores; mean of the active time without pauses.",
)  # fmt: skip
def workers_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_workers(signals)
    return signals.steady_mean("workers_cpu_pct") / 100


@signal(
    "worker_cpu", "figure", "%", "run",
    "CPU of the median worker, 100 = one core; median over the active time without pauses.",
)  # fmt: skip
def worker_cpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_workers(signals)
    return _steady_median(signals, "workers_cpu_median_pct")


@signal(
    "worker_cpu_least", "figure", "%", "run",
    "CPU of the least busy worker, likewise: where it is near 100, every worker fills a core.",
)  # fmt: skip
def worker_cpu_least(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_workers(signals)
    return _steady_median(signals, "workers_cpu_min_pct")


@signal(
    "worker_cpu_most", "figure", "%", "run",
    "CPU of the busiest worker, likewise; above 100 it runs several threads.",
)  # fmt: skip
def worker_cpu_most(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_workers(signals)
    return _steady_median(signals, "workers_cpu_max_pct")


def _state_share(signals: SignalSet, name: str) -> float:
    need_workers(signals)
    steady = signals.window.steady
    states = {
        column: np.nan_to_num(signals.array(column)[steady])
        for column in ("workers_running", "workers_sleeping", "workers_blocked")
        if signals.timeline.column(column) is not None
    }
    if name not in states:
        raise Absent(Missing(f"{name} was not measured"))
    total = float(sum(values.sum() for values in states.values()))
    if total <= 0:
        raise Absent(Missing("the states of the workers were not measured"))
    return float(states[name].sum()) / total


@signal(
    "workers_running_share", "figure", "share", "run",
    "Share of the looks at a worker in which it ran or was ready to run, i.e. wanted a core.",
)  # fmt: skip
def workers_running_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _state_share(signals, "workers_running")


@signal(
    "workers_blocked_share", "figure", "share", "run",
    "Share of the looks at a worker in which it was in uninterruptible sleep, mostly for a disk or "
    "network storage.",
)  # fmt: skip
def workers_blocked_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _state_share(signals, "workers_blocked")


@signal(
    "worker_switches", "figure", "1/s", "run",
    "Voluntary context switches of one worker per second: how often it had to wait for something. "
    "108 were measured in workers that read small files, 3 to 12 in workers that computed or were "
    "ahead of the GPU.",
)  # fmt: skip
def worker_switches(signals: SignalSet, gpu: int | None) -> float | Missing:
    return signals.steady_mean("workers_switches_per_s") / need_workers(signals)


@signal(
    "worker_read_mib_s", "figure", "MiB/s", "run",
    "Read by all workers through system calls, page cache included; mean of the active time "
    "without pauses. Memory-mapped files are not in it.",
)  # fmt: skip
def worker_read_mib_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_workers(signals)
    return signals.steady_mean("workers_read_mib_s")


@signal(
    "disk_read_mib_s", "figure", "MiB/s", "run",
    "Read from storage by the whole run, page cache not included; median of the active time "
    "without pauses, so that a burst does not count as sustained. NFS, FUSE and RDMA may escape "
    "it.",
)  # fmt: skip
def disk_read_mib_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _steady_median(signals, "tree_disk_read_mib_s")


@signal(
    "net_rx_mib_s", "figure", "MiB/s", "run",
    "Received on all network interfaces but loopback, by the whole machine; median of the active "
    "time without pauses. RDMA is not in it.",
)  # fmt: skip
def net_rx_mib_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _steady_median(signals, "host_net_rx_mib_s")
