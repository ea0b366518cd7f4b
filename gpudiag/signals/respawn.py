"""③ Loader workers that are started anew again and again, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import STEADY_S, STEADY_SAMPLES, need_length, need_time
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.signals.workers import need_workers

if TYPE_CHECKING:
    from gpudiag.signals.clock import Array, Mask
    from gpudiag.signals.compute import SignalSet

REPLACED_SHARE = 0.5  # at least half of the workers are new: an epoch, and not one that died
BEFORE_S = 3.0  # workers end, and the queue runs dry, before new ones are seen …
AFTER_S = 10.0  # … and these import, open files and fill the queue


def _times(signals: SignalSet) -> Array:
    """When workers were replaced, in the active time; raises Absent where there are none."""
    need_time(signals)
    need_length(signals, STEADY_S, STEADY_SAMPLES)
    count = need_workers(signals)
    new = np.nan_to_num(signals.array("workers_new"))
    t = signals.clock.t
    # A restart may fall between two readings: the new ones of both are added up.
    pair = new + np.concatenate(([0.0], new[:-1]))
    hit = np.flatnonzero(signals.window.active & (pair >= REPLACED_SHARE * count) & (new > 0))
    times: list[float] = []
    for place in hit:
        if not times or t[place] - times[-1] > 2 * signals.clock.interval:
            times.append(float(t[place]))
    return np.asarray(times)


@signal(
    "respawns", "figure", "", "run",
    "How often in the active time at least half of the loader workers were replaced by new ones.",
)  # fmt: skip
def respawns(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(len(_times(signals)))


@signal(
    "respawn_every_s", "figure", "s", "run", "Median time between two replacements of the workers."
)
def respawn_every_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    times = _times(signals)
    if len(times) < 2:
        return Missing("the workers were replaced less than twice")
    return float(np.median(np.diff(times)))


def _near(signals: SignalSet) -> Mask:
    """Ticks around a replacement: 3 s before to 10 s after, at most half of the time between."""
    times = _times(signals)
    if not len(times):
        raise Absent(Missing("the workers were not replaced"))
    after = AFTER_S
    if len(times) > 1:
        after = min(AFTER_S, 0.5 * float(np.median(np.diff(times))))
    clock = signals.clock
    near = np.zeros(len(clock.t), dtype=bool)
    for moment in times:
        near |= (clock.t > moment - min(BEFORE_S, after)) & (clock.begin < moment + after)
    return near & signals.window.active


def _lost(signals: SignalSet) -> float:
    """Idle GPU seconds around replacements beyond what is usual elsewhere; raises Absent."""
    near, clock = _near(signals), signals.clock
    elsewhere = signals.window.active & ~near
    if not elsewhere.any():
        raise Absent(Missing("the workers are replaced all the time"))
    lost = 0.0
    for gpu in signals.used.working:
        idle = 1 - np.clip(signals.array("gpu_util_pct", gpu), 0, 100) / 100
        known = np.isfinite(idle)
        usual = clock.mean(idle, elsewhere)
        if usual is None:
            continue
        here = near & known
        lost += max(float(((idle[here] - usual) * clock.weight[here]).sum()), 0.0)
    return lost


@signal(
    "respawn_lost_share", "figure", "share", "run",
    "Share of the GPU time of the run that the GPUs idled around replacements of the workers (3 s "
    "before to 10 s after, at most half of the time between two) beyond their usual idling; the "
    "warm-up is taken to lose as much in its time as the rest.",
)  # fmt: skip
def respawn_lost_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    window, clock = signals.window, signals.clock
    worked = clock.seconds(window.active | (window.warm_up & ~window.released))
    lost = _lost(signals) * worked / clock.seconds(window.active)
    return lost / (clock.wall * max(len(signals.gpus), 1))


@signal(
    "respawn_idle_share", "figure", "share", "run",
    "Share of all idle GPU time in the active window that is respawn_lost_share.",
)  # fmt: skip
def respawn_idle_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    clock, idle = signals.clock, 0.0
    for number in signals.used.working:
        share = 1 - np.clip(signals.array("gpu_util_pct", number), 0, 100) / 100
        known = signals.window.active & np.isfinite(share)
        idle += float((share[known] * clock.weight[known]).sum())
    return _lost(signals) / idle if idle > 0 else Missing("the GPUs never idled")
