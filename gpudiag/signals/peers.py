"""③ GPUs that are all fully utilised, compared by power, clock and limits.

Ranks that wait in a collective show 100 %; what tells them from the one that computes is power.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import STEADY_S, STEADY_SAMPLES, need_length
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

WINDOW_S = 60.0
NOTICEABLE = 0.10  # of the limit, in one window; differences below 5 % are noise of the sensor
SLOW_CLOCK = 0.9


def _facts(signals: SignalSet, name: str) -> dict[int, float]:
    """A fact of each working GPU; raises Absent if one is not known."""
    found: dict[int, float] = {}
    for gpu in signals.used.working:
        value = signals.timeline.gpu_facts(gpu).get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
            raise Absent(Missing(f"{name} of the GPUs is not known"))
        found[gpu] = float(value)
    if len(found) < 2:
        raise Absent(Missing("fewer than two GPUs of the run worked"))
    return found


def _alike(signals: SignalSet) -> None:
    """Raise Absent unless the GPUs can be compared: several, one model, one limit."""
    limits = _facts(signals, "power_limit_w")
    names = {str(signals.timeline.gpu_facts(gpu).get("name")) for gpu in limits}
    if len(names) > 1 or max(limits.values()) > 1.02 * min(limits.values()):
        raise Absent(Missing("the GPUs differ in model or power limit and cannot be compared"))
    need_length(signals, STEADY_S, STEADY_SAMPLES)


def _beside_others(values: dict[int, float]) -> dict[int, float]:
    """Each value less the median of the others."""
    return {
        gpu: value - float(np.median([other for number, other in values.items() if number != gpu]))
        for gpu, value in values.items()
    }


def _power_shares(signals: SignalSet) -> dict[int, float]:
    _alike(signals)
    limits = _facts(signals, "power_limit_w")
    return {gpu: signals.steady_mean("gpu_power_w", gpu) / limits[gpu] for gpu in limits}


def _odd(signals: SignalSet) -> tuple[int, float]:
    """The GPU whose power differs most from the median of the others, and by how much."""
    shares = _beside_others(_power_shares(signals))
    gpu = max(shares, key=lambda number: abs(shares[number]))
    return gpu, shares[gpu]


@signal(
    "util_least", "figure", "%", "run", "Lowest mean utilisation among the working GPUs, steady."
)
def util_least(signals: SignalSet, gpu: int | None) -> float | Missing:
    if not signals.used.working:
        return Missing("no GPU of the run worked")
    return min(signals.steady_mean("gpu_util_pct", number) for number in signals.used.working)


@signal(
    "odd_power_gpu", "figure", "", "run",
    "Number of the working GPU whose power, over its limit, differs most from the median of the "
    "others. Given for GPUs of one model and limit; of two GPUs, the one with the higher power "
    "counts.",
)  # fmt: skip
def odd_power_gpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    shares = _power_shares(signals)
    if len(shares) == 2:
        return float(max(shares, key=lambda number: shares[number]))
    return float(_odd(signals)[0])


@signal(
    "odd_power_deviation", "figure", "share", "run",
    "Its power less the median of the others, as a share of the limit; mean of the active time "
    "without pauses.",
)  # fmt: skip
def odd_power_deviation(signals: SignalSet, gpu: int | None) -> float | Missing:
    shares = _power_shares(signals)
    return _beside_others(shares)[int(signals.need("odd_power_gpu"))]


@signal(
    "odd_power_steady_share", "figure", "share", "run",
    "Share of the minutes in which it differs in the same direction by 10 % of the limit or more.",
)  # fmt: skip
def odd_power_steady_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    odd, sign = int(signals.need("odd_power_gpu")), np.sign(signals.need("odd_power_deviation"))
    limits = _facts(signals, "power_limit_w")
    others = np.median(
        np.vstack([signals.array("gpu_power_w", n) / limits[n] for n in limits if n != odd]),
        axis=0,
    )
    gap = sign * (signals.array("gpu_power_w", odd) / limits[odd] - others)
    minute = (signals.clock.t // WINDOW_S).astype(int)
    where = signals.window.steady & np.isfinite(gap)
    means = [gap[where & (minute == number)].mean() for number in np.unique(minute[where])]
    if not means:
        return Missing("the power of the GPUs holds no reading in the time that counts")
    return float(np.mean([mean >= NOTICEABLE for mean in means]))


def _clock_ratios(signals: SignalSet) -> dict[int, float]:
    _alike(signals)
    clocks = {}
    for number in signals.used.working:
        values = signals.array("gpu_sm_clock_mhz", number)[signals.window.steady]
        values = values[np.isfinite(values)]
        if not len(values):
            raise Absent(Missing(f"gpu{number}_sm_clock_mhz holds no reading"))
        clocks[number] = float(np.median(values))
    return {
        n: clock / float(np.median([other for m, other in clocks.items() if m != n]))
        for n, clock in clocks.items()
    }


@signal(
    "slowest_clock_ratio", "figure", "", "run",
    "SM clock of the working GPU with the lowest one over the median of the others; medians of the "
    "active time without pauses.",
)  # fmt: skip
def slowest_clock_ratio(signals: SignalSet, gpu: int | None) -> float | Missing:
    return min(_clock_ratios(signals).values())


@signal("slowest_clock_gpu", "figure", "", "run", "Number of that GPU.")
def slowest_clock_gpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    ratios = _clock_ratios(signals)
    return float(min(ratios, key=lambda number: ratios[number]))


@signal(
    "power_limit_ratio", "figure", "", "run",
    "Highest over lowest power limit among the working GPUs.",
)  # fmt: skip
def power_limit_ratio(signals: SignalSet, gpu: int | None) -> float | Missing:
    limits = _facts(signals, "power_limit_w")
    return max(limits.values()) / min(limits.values())


@signal(
    "power_above_idle", "figure", "share", "gpu",
    "Board power over its limit while the GPU is above 50 %, between its own idle level (0; the "
    "5th percentile at 0 % utilisation, where at least 10 such readings exist, else 0 W) and the "
    "limit (1); median.",
)  # fmt: skip
def power_above_idle(signals: SignalSet, gpu: int | None) -> float | Missing:
    busy = signals.need("busy_power_share", gpu)
    util, power = signals.array("gpu_util_pct", gpu), signals.array("gpu_power_w", gpu)
    rest = power[(util <= 0) & np.isfinite(power)]
    if len(rest) < 10:
        return busy
    limit = signals.timeline.gpu_facts(gpu if gpu is not None else -1)["power_limit_w"]
    idle = float(np.percentile(rest, 5)) / float(limit)
    return (busy - idle) / (1 - idle) if idle < 1 else Missing("its idle power is at the limit")


@signal(
    "steady_util", "figure", "%", "gpu",
    "Mean utilisation of the GPU in the active time without pauses, where that is 120 s or longer.",
)  # fmt: skip
def steady_util(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, STEADY_S, STEADY_SAMPLES)
    return signals.steady_mean("gpu_util_pct", gpu)
