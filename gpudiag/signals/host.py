"""③ The machine around the run: cores it may use, cores left idle, foreign load, quota, shm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.base import Missing, signal

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet


def _host(signals: SignalSet, *names: str) -> float | Missing:
    """The first of these facts of the host that is known."""
    host = signals.timeline.start.get("host")
    facts = host if isinstance(host, Mapping) else {}
    for name in names:
        value = facts.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value)
    return Missing("the cores of the machine were not recorded")


@signal(
    "effective_cores", "figure", "cores", "run",
    "Cores that the run may use: the smaller of its CPU affinity and the CPU quota of its "
    "container.",
)  # fmt: skip
def effective_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _host(signals, "effective_cores", "affinity_cpus", "cpus")


@signal(
    "affinity_cores", "figure", "cores", "run",
    "Logical cores that the run may be scheduled on (sched_getaffinity), whatever its quota.",
)  # fmt: skip
def affinity_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _host(signals, "affinity_cpus", "cpus")


@signal("machine_cores", "figure", "cores", "run", "Logical cores of the machine.")
def machine_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _host(signals, "cpus")


@signal(
    "cpu_quota_cores", "figure", "cores", "run",
    "CPU quota of the container (cgroup cpu.max or cfs_quota), in cores.",
)  # fmt: skip
def cpu_quota_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    host = signals.timeline.start.get("host")
    cgroup = host.get("cgroup") if isinstance(host, Mapping) else None
    quota = cgroup.get("cpu_quota_cores") if isinstance(cgroup, Mapping) else None
    if isinstance(quota, int | float) and not isinstance(quota, bool) and quota > 0:
        return float(quota)
    return Missing("no CPU quota is set")


@signal(
    "idle_cores", "figure", "cores", "run",
    "Mean number of idle cores among those the run may use, in the active time without pauses; no "
    "more than what its CPU quota leaves.",
)  # fmt: skip
def idle_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    idle = signals.steady_mean("host_idle_cores")
    quota = signals.figure("cpu_quota_cores")
    if isinstance(quota, Missing) or signals.timeline.column("cgroup_cpu_cores") is None:
        return idle
    return min(idle, max(quota - signals.steady_mean("cgroup_cpu_cores"), 0.0))


@signal(
    "cores_busy_share", "figure", "share", "run",
    "1 - idle_cores / effective_cores: how full the cores are that the run may use, whoever "
    "fills them.",
)  # fmt: skip
def cores_busy_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return min(max(1 - signals.need("idle_cores") / signals.need("effective_cores"), 0.0), 1.0)


@signal(
    "tree_cores", "figure", "cores", "run",
    "CPU used by the whole run: training process, loader workers and everything else it started, "
    "in cores; mean of the active time without pauses.",
)  # fmt: skip
def tree_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    total = signals.steady_mean("main_cpu_pct")
    for name in ("workers_cpu_pct", "others_cpu_pct"):
        if signals.timeline.column(name) is not None:  # no such processes: nothing to add
            total += signals.steady_mean(name)
    return total / 100


@signal(
    "tree_core_share", "figure", "share", "run",
    "tree_cores / effective_cores: how much of the cores it may use the run itself fills.",
)  # fmt: skip
def tree_core_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return signals.need("tree_cores") / signals.need("effective_cores")


@signal(
    "foreign_cores", "figure", "cores", "run",
    "CPU that processes outside the run use on the cores that it may use: affinity_cores - idle "
    "cores - tree_cores, at least 0.",
)  # fmt: skip
def foreign_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    idle = signals.steady_mean("host_idle_cores")
    return max(signals.need("affinity_cores") - idle - signals.need("tree_cores"), 0.0)


def _without_quota(signals: SignalSet) -> bool:
    """Whether the control group was looked at and has no CPU quota, so that nothing can stop it."""
    if signals.timeline.column("cgroup_throttled_pct") is not None:
        return False
    host = signals.timeline.start.get("host")
    cgroup = host.get("cgroup") if isinstance(host, Mapping) else None
    return isinstance(cgroup, Mapping) and cgroup.get("cpu_quota_cores", 0) is None


@signal(
    "throttled_share", "figure", "share", "run",
    "Share of scheduler periods in which the CPU quota stopped the container (nr_throttled / "
    "nr_periods); mean of the active time without pauses. 0 where no quota is set.",
)  # fmt: skip
def throttled_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    if _without_quota(signals):
        return 0.0
    return signals.steady_mean("cgroup_throttled_pct") / 100


@signal(
    "stopped_cores", "figure", "cores", "run",
    "CPU time per second that threads of the container stood still because its quota was used up; "
    "mean of the active time without pauses.",
)  # fmt: skip
def stopped_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    if _without_quota(signals):
        return 0.0
    return signals.steady_mean("cgroup_stopped_cores")


@signal(
    "shm_used_share", "figure", "share", "run",
    "Highest use of /dev/shm in the recording, as a share of its size.",
)  # fmt: skip
def shm_used_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(np.nanmax(signals.array("host_shm_used_mib"))) / signals.need("shm_total_mib")


@signal("shm_total_mib", "figure", "MiB", "run", "Size of /dev/shm.")
def shm_total_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    size = _host(signals, "shm_total_mib")
    if isinstance(size, Missing):
        return Missing("the size of /dev/shm was not recorded")
    return size
