"""③ What holds the clock of a GPU down while it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent

if TYPE_CHECKING:
    from gpudiag.signals.clock import Mask
    from gpudiag.signals.compute import SignalSet

BUSY_PCT = 50.0  # clocks of an idle GPU fall on purpose
FEWEST = 30  # busy readings: hardware slowdown may show for a moment when the clock changes
POWER_CAP, HARDWARE, SOFTWARE_THERMAL = 4, 8 | 64 | 128, 32


def _busy(signals: SignalSet, gpu: int | None) -> Mask:
    """The readings above 50 %; raises Absent with fewer than 30."""
    busy = signals.array("gpu_util_pct", gpu) > BUSY_PCT
    if int(busy.sum()) < FEWEST:
        raise Absent(Missing(f"the GPU was above 50 % in fewer than {FEWEST} readings"))
    return busy


def _share(signals: SignalSet, gpu: int | None, mask: int) -> float:
    bits = signals.array("gpu_throttle_bits", gpu)
    known = bits[_busy(signals, gpu) & np.isfinite(bits)]
    if len(known) < FEWEST:
        raise Absent(Missing("the reasons of the clock were not recorded while the GPU worked"))
    return float(((known.astype(np.int64) & mask) != 0).mean())


@signal(
    "hardware_slowdown_share", "figure", "share", "gpu",
    "Share of the busy readings (above 50 %) in which hardware slowdown (8), hardware thermal (64) "
    "or power brake (128) held the clock down.",
)  # fmt: skip
def hardware_slowdown_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, gpu, HARDWARE)


@signal(
    "software_thermal_share", "figure", "share", "gpu",
    "Share of the busy readings in which the driver held the clock down for heat (32).",
)  # fmt: skip
def software_thermal_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, gpu, SOFTWARE_THERMAL)


@signal(
    "power_capped_share", "figure", "share", "gpu",
    "Share of the busy readings in which the power limit held the clock down (4). At nearly full "
    "clock that is the normal state of a well used GPU.",
)  # fmt: skip
def power_capped_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, gpu, POWER_CAP)


@signal(
    "busy_clock_share", "figure", "share", "gpu",
    "SM clock over its maximum; median of the busy readings.",
)  # fmt: skip
def busy_clock_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _over(signals, gpu, "gpu_sm_clock_mhz", "sm_clock_max_mhz")


@signal(
    "busy_power_share", "figure", "share", "gpu",
    "Board power over its limit; median of the busy readings. Differences below 5 % are noise.",
)  # fmt: skip
def busy_power_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _over(signals, gpu, "gpu_power_w", "power_limit_w")


def _over(signals: SignalSet, gpu: int | None, column: str, fact: str) -> float:
    most = _fact(signals, gpu, fact)
    values = signals.array(column, gpu)
    known = values[_busy(signals, gpu) & np.isfinite(values)]
    if not len(known):
        raise Absent(Missing(f"{column} was not recorded while the GPU worked"))
    return float(np.median(known)) / most


def _fact(signals: SignalSet, gpu: int | None, name: str) -> float:
    value = signals.timeline.gpu_facts(-1 if gpu is None else gpu).get(name)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    raise Absent(Missing(f"{name} of the GPU is not known"))


@signal(
    "power_limit_share", "figure", "share", "gpu",
    "The power limit that is set over the default limit of the board: below 1 someone lowered it.",
)  # fmt: skip
def power_limit_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _fact(signals, gpu, "power_limit_w") / _fact(signals, gpu, "power_default_limit_w")


@signal("temp_max", "figure", "°C", "gpu", "Highest temperature of the GPU in the recording.")
def temp_max(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(np.nanmax(signals.array("gpu_temp_c", gpu)))
