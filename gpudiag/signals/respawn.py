"""③ Loader workers that are started anew again and again, and what that costs."""

from __future__ import annotations

import math
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
RHYTHM = 3  # replacements: three in a row are a rhythm


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


def _around(signals: SignalSet) -> list[Mask]:
    """Ticks around each replacement: 3 s before to 10 s after, at most half of the time between."""
    times = _times(signals)
    if not len(times):
        raise Absent(Missing("the workers were not replaced"))
    after = AFTER_S
    if len(times) > 1:
        after = min(AFTER_S, 0.5 * float(np.median(np.diff(times))))
    clock, taken = signals.clock, ~signals.window.active
    around = []
    for moment in times:
        here = (clock.t > moment - min(BEFORE_S, after)) & (clock.begin < moment + after) & ~taken
        taken |= here
        around.append(here)
    return around


def _losses(signals: SignalSet) -> Array:
    """Idle GPU seconds around each replacement beyond what is usual elsewhere; raises Absent."""
    around, clock = _around(signals), signals.clock
    near = np.logical_or.reduce(around)
    elsewhere = signals.window.active & ~near
    if not elsewhere.any():
        raise Absent(Missing("the workers are replaced all the time"))
    lost = np.zeros(len(around))
    for gpu in signals.used.working:
        idle = 1 - np.clip(signals.array("gpu_util_pct", gpu), 0, 100) / 100
        known = np.isfinite(idle)
        usual = clock.mean(idle, elsewhere)
        if usual is None:
            continue
        beyond = np.where(known, (idle - usual) * clock.weight, 0.0)
        mine = np.asarray([float(beyond[here].sum()) for here in around])
        lost += mine if mine.sum() > 0 else 0.0
    return lost


def _lost(signals: SignalSet) -> float:
    return float(_losses(signals).sum())


@signal(
    "respawn_lost_share", "figure", "share", "run",
    "Share of the GPU time of the run that the GPUs idled around replacements of the workers (3 s "
    "before to 10 s after, at most half of the time between two) beyond their usual idling; the "
    "warm-up is taken to lose as much in its time as the rest.",
)  # fmt: skip
def respawn_lost_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _lost(signals) * _of_the_run(signals)


def _of_the_run(signals: SignalSet) -> float:
    """What turns GPU seconds of the active time into a share of the run, warm-up included."""
    window, clock = signals.window, signals.clock
    worked = clock.seconds(window.active | (window.warm_up & ~window.released))
    return worked / clock.seconds(window.active) / (clock.wall * max(len(signals.gpus), 1))


@signal(
    "respawn_lost_error", "figure", "share", "run",
    "How far off respawn_lost_share may be (95 %): 1.96 x sqrt(n) x the standard deviation of what "
    "each of the n replacements lost. Missing below three.",
)  # fmt: skip
def respawn_lost_error(signals: SignalSet, gpu: int | None) -> float | Missing:
    losses = _losses(signals)
    if len(losses) < 3:
        return Missing("the workers were replaced less than three times")
    return 1.96 * float(np.std(losses, ddof=1)) * math.sqrt(len(losses)) * _of_the_run(signals)


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


@signal(
    "restarts_explain_pauses", "figure", "0 or 1", "run",
    "1 if the workers were replaced three times or more and the GPUs idled around that at least as "
    "long as in all pauses: then the pauses are the longest of those dips, and the shorter ones, "
    "which are no pauses, belong to the same cause. 0 otherwise, also where it cannot be told.",
)  # fmt: skip
def restarts_explain_pauses(signals: SignalSet, gpu: int | None) -> float | Missing:
    times, lost = signals.figure("respawns"), signals.figure("respawn_lost_share")
    pauses = signals.figure("time_pauses_share")
    if isinstance(times, Missing) or isinstance(lost, Missing) or isinstance(pauses, Missing):
        return 0.0
    return float(times >= RHYTHM and lost >= pauses)
