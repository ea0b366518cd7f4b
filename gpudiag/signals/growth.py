"""③ Whether the memory of a GPU creeps, how fast, and when it would be full."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.signals.creep import Creep, detect, notable
from gpudiag.signals.memory import settled
from gpudiag.units import format_duration

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

SHORTEST_S = 600.0  # below it even this detector calls every tenth warm-up a leak (simulated)
RESERVE_MIB = 400.0  # what the driver and libraries still take before the last MiB is reached


def _creep(signals: SignalSet, gpu: int | None) -> Creep:
    """What the detector says of this GPU; raises Absent under ten minutes."""
    return signals.once("creep", gpu, lambda: _detect(signals, gpu))


def _detect(signals: SignalSet, gpu: int | None) -> Creep:
    t, memory = settled(signals, gpu)
    if t[-1] - t[0] < SHORTEST_S:
        raise Absent(
            Missing(
                f"its memory was seen for {format_duration(float(t[-1] - t[0]))} after it settled; "
                "under 10 min growth cannot be told from warm-up"
            )
        )
    found = detect(t, memory, _total(signals, gpu))
    if found is None:
        raise Absent(Missing("its memory was measured too seldom to judge its course"))
    return found


@signal(
    "mem_creeps", "figure", "0 or 1", "gpu",
    "1 if the memory grows steadily: the floors of 24 windows fit a growing shape better than any "
    "benign one by a BIC margin of 6, by at least 256 MiB and 1 % of the GPU, still in the last "
    "third, and not by one jump alone; or it grows in regular steps (mem_regular_steps). Given "
    "from 10 min on. Missing where neither is so and mem_late_growth_mib is above mem_notable_mib.",
)  # fmt: skip
def mem_creeps(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = _creep(signals, gpu)
    why = found.unclear(_total(signals, gpu))
    return Missing(f"the memory of GPU {gpu}: {why}") if why else float(found.growing)


def _total(signals: SignalSet, gpu: int | None) -> float | None:
    total = signals.figure("mem_total_mib", gpu)
    return None if isinstance(total, Missing) else total


@signal(
    "mem_late_growth_mib", "figure", "MiB", "gpu",
    "The last floor of the memory less the highest floor of the first third: what came in the last "
    "two thirds and was not given back.",
)  # fmt: skip
def mem_late_growth_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _creep(signals, gpu).late


@signal(
    "mem_regular_steps", "figure", "", "gpu",
    "Rises of the memory of like size (the largest at most twice the smallest) at like intervals "
    "(the longest at most one and a half times the shortest), none given back, at least four, to "
    "the end of the run; 0 where it does not grow so.",
)  # fmt: skip
def mem_regular_steps(signals: SignalSet, gpu: int | None) -> float | Missing:
    stairs = _creep(signals, gpu).stairs
    return 0.0 if stairs is None else float(stairs.count)


@signal("mem_step_mib", "figure", "MiB", "gpu", "Median size of the regular steps.")
def mem_step_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    stairs = _creep(signals, gpu).stairs
    return Missing("the memory does not grow in steps") if stairs is None else stairs.size


@signal("mem_step_every_s", "figure", "s", "gpu", "Median interval of the regular steps.")
def mem_step_every_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    stairs = _creep(signals, gpu).stairs
    return Missing("the memory does not grow in steps") if stairs is None else stairs.every


@signal(
    "mem_steps_left", "figure", "", "gpu",
    "Further steps of the median size that fit: (total - last - 400 MiB) / step, rounded down.",
)  # fmt: skip
def mem_steps_left(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_left(signals, gpu) // signals.need("mem_step_mib", gpu))


@signal(
    "mem_slope_mib_min", "figure", "MiB/min", "gpu",
    "How fast the memory grows: the smaller of the fitted slope and the Theil-Sen slope of the "
    "last third where it creeps, the Theil-Sen slope of the last two thirds where it does not.",
)  # fmt: skip
def mem_slope_mib_min(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _creep(signals, gpu).slope * 60


@signal(
    "mem_growth_mib", "figure", "MiB", "gpu",
    "Rise of the memory's floor from the first to the last of the 24 windows.",
)  # fmt: skip
def mem_growth_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _creep(signals, gpu).growth


@signal(
    "mem_notable_mib", "figure", "MiB", "gpu",
    "Growth that is worth a word after only 10 to 20 min: 512 MiB, or 2 % of the GPU if more.",
)  # fmt: skip
def mem_notable_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return notable(_total(signals, gpu))


@signal(
    "mem_creep_margin", "figure", "", "gpu",
    "BIC of the best benign shape less BIC of the best growing one; above 6 is strong evidence.",
)  # fmt: skip
def mem_creep_margin(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _creep(signals, gpu).margin


@signal(
    "mem_jump_share", "figure", "share", "gpu",
    "Largest single rise between two windows, as a share of the growth.",
)  # fmt: skip
def mem_jump_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = _creep(signals, gpu)
    if found.growth <= 0:
        return Missing("the memory does not grow")
    return found.jump / found.growth


@signal(
    "mem_rises", "figure", "", "gpu", "Rises of more than 4 MiB among the 23 steps of the floors."
)
def mem_rises(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_creep(signals, gpu).rises)


def _left(signals: SignalSet, gpu: int | None) -> float:
    """MiB that can still be taken."""
    left = signals.need("mem_total_mib", gpu) - signals.need("mem_last_mib", gpu) - RESERVE_MIB
    return max(left, 0.0)


def _time_to(signals: SignalSet, gpu: int | None, slope: float) -> float:
    left = _left(signals, gpu)
    if slope <= 0:
        raise Absent(Missing("at the low end of its interval the memory does not grow"))
    return left / slope


def _time_to_step(signals: SignalSet, gpu: int | None, size: float, every: float) -> float:
    """Time until the step that no longer fits."""
    stairs = _creep(signals, gpu).stairs
    since = 0.0 if stairs is None else stairs.since
    return max((math.floor(_left(signals, gpu) / size) + 1) * every - since, 0.0)


@signal(
    "oom_in_s", "figure", "s", "gpu",
    "Time to a full GPU at the present slope: (total - last - 400 MiB) / slope; where it grows in "
    "regular steps, the time to the first that does not fit. Linear growth is assumed.",
)  # fmt: skip
def oom_in_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = _creep(signals, gpu)
    if found.stairs is not None:
        return _time_to_step(signals, gpu, found.stairs.size, found.stairs.every)
    if not found.growing:
        return Missing("the memory does not grow steadily")
    return _time_to(signals, gpu, found.slope)


@signal(
    "oom_soonest_s", "figure", "s", "gpu",
    "The same at the high end of the slope's 95 % interval, or with the largest, quickest steps.",
)  # fmt: skip
def oom_soonest_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = _creep(signals, gpu)
    if found.stairs is not None:
        return _time_to_step(signals, gpu, found.stairs.high, found.stairs.soonest)
    if not found.growing:
        return Missing("the memory does not grow steadily")
    return _time_to(signals, gpu, found.high)


@signal(
    "oom_latest_s", "figure", "s", "gpu",
    "The same at the low end of the slope's 95 % interval, or with the smallest, slowest steps.",
)  # fmt: skip
def oom_latest_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = _creep(signals, gpu)
    if found.stairs is not None:
        return _time_to_step(signals, gpu, found.stairs.low, found.stairs.latest)
    if not found.growing:
        return Missing("the memory does not grow steadily")
    return _time_to(signals, gpu, found.low)
