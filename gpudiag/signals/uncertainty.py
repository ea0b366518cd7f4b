"""③ How far off the measured shares of time may be: what a bound must allow for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import GROSS_S, GROSS_SAMPLES, need_length, need_time
from gpudiag.signals.base import Missing, signal

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

STRETCHES = 12
STUDENT = 2.201  # the 97.5 % point of Student's t with 11 degrees of freedom
NORMAL = 1.96


@signal(
    "stall_error", "figure", "share", "run",
    "How far off stall_share may be (95 %): 2.2 times the standard error of the means of 12 equal "
    "stretches of the active time without pauses. Large where the load drifts, and where steps "
    "last almost exactly as long as the interval of the readings, so that these fall on the same "
    "part of each step for a long time.",
)  # fmt: skip
def stall_error(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, GROSS_S, GROSS_SAMPLES)
    errors = []
    for number in signals.used.working:
        util = signals.array("gpu_util_pct", number)
        place = np.flatnonzero(signals.window.steady & np.isfinite(util))
        if len(place) < STRETCHES:
            return Missing("too few readings to say how far off the stall share may be")
        means = [util[part].mean() / 100 for part in np.array_split(place, STRETCHES)]
        errors.append(STUDENT * float(np.std(means, ddof=1)) / STRETCHES**0.5)
    return float(max(errors))


@signal(
    "time_stall_error", "figure", "share", "run",
    "The same as a share of the run: how far off the part of its GPU time that is stall may be. "
    "stall_error times the time it was measured in and the warm-up, which is taken to stall alike, "
    "over the length of the recording.",
)  # fmt: skip
def time_stall_error(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    window, clock = signals.window, signals.clock
    alike = window.steady | (window.warm_up & ~window.released)
    return signals.need("stall_error") * clock.seconds(alike) / clock.wall


@signal(
    "time_pauses_error", "figure", "share", "run",
    "How far off time_pauses_share may be (95 %): both ends of each pause fall anywhere between "
    "two readings, whose utilisation stands for the last part of an interval only. 1.96 x interval "
    "x sqrt(ends / 12) over the length of the recording (the spread of a uniform distribution).",
)  # fmt: skip
def time_pauses_error(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    ends = 2 * len(signals.window.spans)
    return NORMAL * signals.clock.interval * math.sqrt(ends / 12) / signals.clock.wall
