"""③ The main memory of the run: whether it grows, what grows, when it would be full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import need_time
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.signals.creep import Creep, detect
from gpudiag.units import format_duration

if TYPE_CHECKING:
    from gpudiag.signals.clock import Array
    from gpudiag.signals.compute import SignalSet

SHORTEST_S = 600.0  # as for the memory of a GPU
SETTLE_S = 30.0
SETTLE_SHARE = 0.10


def _limit(signals: SignalSet) -> float | None:
    """The memory limit of the control group in MiB, None where there is none."""
    host = signals.timeline.start.get("host")
    cgroup = host.get("cgroup") if isinstance(host, Mapping) else None
    limit = cgroup.get("mem_limit_mib") if isinstance(cgroup, Mapping) else None
    if isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0:
        return float(limit)
    return None


def _charged(signals: SignalSet) -> Array:
    """What counts against the limit of the group: without the file cache, which is given back."""
    return signals.array("cgroup_mem_used_mib") - signals.array("cgroup_mem_cache_mib")


def _held(signals: SignalSet) -> Array:
    """The memory of the run over the ticks, in MiB; raises Absent where it cannot be added up."""
    if _limit(signals) is not None and signals.timeline.column("cgroup_mem_used_mib") is not None:
        return _charged(signals)
    main = signals.array("main_rss_mib")
    if signals.need("workers_count") < 1:
        return main
    if signals.timeline.column("workers_pss_mib") is None:
        raise Absent(
            Missing(
                "the workers' share of the memory was not recorded, and their resident memory "
                "counts shared pages once for each"
            )
        )
    return main + signals.array("workers_pss_mib")


def _settled(signals: SignalSet, values: Array) -> tuple[Array, Array]:
    """Times and values from the first to the last activity of the GPUs, start-up left out."""
    need_time(signals)
    first, last = np.flatnonzero(signals.window.work)[[0, -1]]
    t = signals.clock.t[first : last + 1]
    part = values[first : last + 1]
    ready = t[0] + max(SETTLE_S, SETTLE_SHARE * float(t[-1] - t[0]))
    known = np.isfinite(part) & (t >= ready)
    if int(known.sum()) < 2:
        raise Absent(Missing("the memory of the run was seen for too short a time"))
    return t[known], part[known]


def _creep(signals: SignalSet) -> Creep:
    return signals.once("host_creep", None, lambda: _detect(signals))


def _detect(signals: SignalSet) -> Creep:
    t, memory = _settled(signals, _held(signals))
    lasted = float(t[-1] - t[0])
    if lasted < SHORTEST_S:
        raise Absent(
            Missing(
                f"the memory of the run was seen for {format_duration(lasted)} after it settled; "
                "under 10 min growth cannot be told from warm-up"
            )
        )
    found = detect(t, memory, _capacity(signals))
    if found is None:
        raise Absent(Missing("the memory of the run was measured too seldom to judge its course"))
    return found


def _capacity(signals: SignalSet) -> float | None:
    limit = _limit(signals)
    host = signals.timeline.start.get("host")
    total = host.get("mem_total_mib") if isinstance(host, Mapping) else None
    if limit is None and isinstance(total, int | float) and not isinstance(total, bool):
        return float(total)
    return limit


@signal(
    "host_mem_creeps", "figure", "0 or 1", "run",
    "1 if the main memory of the run grows steadily, judged like mem_creeps. The memory is what is "
    "charged to the control group without its inactive file cache, where the group has a limit; "
    "else the training process's resident memory and the workers' proportional share (PSS). Given "
    "from 10 min on; missing where it rose by more than 512 MiB, and 2 % of what there is, in the "
    "last two thirds and whether it goes on cannot be told.",
)  # fmt: skip
def host_mem_creeps(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = _creep(signals)
    why = found.unclear(_capacity(signals))
    return Missing(f"the main memory of the run: {why}") if why else float(found.growing)


@signal(
    "host_mem_late_growth_mib", "figure", "MiB", "run",
    "As mem_late_growth_mib, for this memory.",
)  # fmt: skip
def host_mem_late_growth_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _creep(signals).late


@signal("host_mem_settled_s", "figure", "s", "run", "How long that memory was seen, start-up off.")
def host_mem_settled_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    t, _ = _settled(signals, _held(signals))
    return float(t[-1] - t[0])


@signal("host_mem_slope_mib_min", "figure", "MiB/min", "run", "How fast it grows.")
def host_mem_slope_mib_min(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _creep(signals).slope * 60


@signal("host_mem_growth_mib", "figure", "MiB", "run", "Rise of its floor over 24 windows.")
def host_mem_growth_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _creep(signals).growth


@signal("host_mem_margin", "figure", "", "run", "As mem_creep_margin, for this memory.")
def host_mem_margin(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _creep(signals).margin


@signal("host_mem_last_mib", "figure", "MiB", "run", "That memory when it was last measured.")
def host_mem_last_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_settled(signals, _held(signals))[1][-1])


@signal(
    "host_mem_left_mib", "figure", "MiB", "run",
    "What is left of it at the end: up to the limit of the control group, and no more than the "
    "memory that programs can still get on the machine.",
)  # fmt: skip
def host_mem_left_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    left = []
    limit = _limit(signals)
    if limit is not None and signals.timeline.column("cgroup_mem_used_mib") is not None:
        left.append(limit - float(_settled(signals, _charged(signals))[1][-1]))
    if signals.timeline.column("host_mem_avail_mib") is not None:
        left.append(float(_settled(signals, signals.array("host_mem_avail_mib"))[1][-1]))
    return max(min(left), 0.0) if left else Missing("the free memory was not recorded")


@signal(
    "host_oom_in_s", "figure", "s", "run",
    "host_mem_left_mib / slope: time until the kernel kills a process, if growth stays linear.",
)  # fmt: skip
def host_oom_in_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = _creep(signals)
    if not found.growing:
        return Missing("the memory of the run does not grow steadily")
    return signals.need("host_mem_left_mib") / found.slope


def _rise(signals: SignalSet, name: str) -> float:
    """Median of the last third less that of the first third of a column."""
    _, values = _settled(signals, signals.array(name))
    third = max(len(values) // 3, 1)
    return float(np.median(values[-third:]) - np.median(values[:third]))


@signal(
    "workers_mem_rise_mib", "figure", "MiB", "run",
    "Rise of the workers' memory (PSS) from the first to the last third of the time.",
)  # fmt: skip
def workers_mem_rise_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _rise(signals, "workers_pss_mib")


@signal(
    "main_mem_rise_mib", "figure", "MiB", "run",
    "Rise of the resident memory of the training process, likewise.",
)  # fmt: skip
def main_mem_rise_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _rise(signals, "main_rss_mib")


@signal(
    "oom_kills", "figure", "", "run",
    "Processes of the run's control group that the kernel killed for lack of memory while it was "
    "recorded (memory.events).",
)  # fmt: skip
def oom_kills(signals: SignalSet, gpu: int | None) -> float | Missing:
    kills = signals.array("cgroup_oom_kills")
    known = kills[np.isfinite(kills)]
    return float(max(known[-1] - known[0], 0.0))


@signal(
    "host_mem_end_share", "figure", "share", "run",
    "Highest share of the memory in use in the last minute of the recording: of the control "
    "group's limit, file cache left out, or of the machine where there is no limit.",
)  # fmt: skip
def host_mem_end_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    limit, total = _limit(signals), _capacity(signals)
    if limit is not None and signals.timeline.column("cgroup_mem_used_mib") is not None:
        shares = _charged(signals) / limit
    elif total is not None:
        shares = 1 - signals.array("host_mem_avail_mib") / total
    else:
        return Missing("the size of the memory was not recorded")
    late = shares[signals.clock.t >= signals.clock.t[-1] - 60]
    if not np.isfinite(late).any():
        return Missing("the memory was not measured in the last minute")
    return float(np.nanmax(late))
