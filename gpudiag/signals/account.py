"""③ Where the GPU time went: shares of wall time × GPUs of the run, which sum to 1.

Each tick of each GPU is split once. Its utilisation is busy time. The rest belongs to start-up
before the first activity and to the end after the last, to pauses where all GPUs idle for long, and
else is stall. Stall beyond that of the least stalled GPU is imbalance where the GPUs differ by 20
points; what all share is input wait where the evidence shows it, and else unexplained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import UNEVEN_POINTS, need_time
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpudiag.signals.compute import SignalSet

PARTS: Mapping[str, str] = {
    "busy": "busy",
    "input_wait": "waiting for input",
    "main_bound": "waiting for the training process",
    "contention": "waiting for a core that other programs have",
    "unexplained": "idle, cause not known",
    "pauses": "pauses",
    "imbalance": "less busy than the busiest GPU",
    "idle_gpus": "GPUs that did nothing",
    "start_up": "start-up and warm-up",
    "between": "no job loaded",
    "after": "after the last activity",
    "no_data": "no data",
}


def gpu_seconds(signals: SignalSet) -> dict[str, float]:
    """Seconds of one GPU for each of PARTS, over all GPUs of the run; raises Absent without time.

    Their sum is wall time × GPUs.
    """
    return signals.once("gpu_seconds", None, lambda: _account(signals))


def _account(signals: SignalSet) -> dict[str, float]:
    need_time(signals)
    if not signals.gpus:
        raise Absent(Missing(signals.why_no_gpus))
    parts = dict.fromkeys(PARTS, 0.0)
    stalls: list[float] = []
    for gpu in signals.gpus:
        stall = _split(signals, gpu, parts)
        if stall is not None:
            stalls.append(stall)
    common = sum(stalls)
    spread = signals.figure("util_spread")
    if len(stalls) > 1 and not isinstance(spread, Missing) and spread >= UNEVEN_POINTS:
        common = len(stalls) * min(stalls)
        parts["imbalance"] += sum(stalls) - common
    parts[_kind_of_stall(signals)] += common
    return parts


def _kind_of_stall(signals: SignalSet) -> str:
    if signals.figure("input_wait_evidence") == 1:
        return "input_wait"
    if signals.figure("main_bound_evidence") == 1:
        return "main_bound"
    return "contention" if signals.figure("contention_evidence") == 1 else "unexplained"


def _split(signals: SignalSet, gpu: int, parts: dict[str, float]) -> float | None:
    """Add the time of one GPU to `parts`; give back its stall, or None if it never worked."""
    clock, window = signals.clock, signals.found_window
    column = signals.timeline.column(f"gpu{gpu}_util_pct")
    parts["no_data"] += float(clock.hole.sum()) + clock.tail
    if column is None:
        parts["no_data"] += float(clock.weight.sum())
        return None
    util = column.to_numpy(dtype=np.float64)
    known = np.isfinite(util)
    share = np.clip(np.nan_to_num(util), 0.0, 100.0) / 100
    idle = clock.weight * (1 - share)
    if isinstance(window, Missing):
        parts["no_data"] += float(clock.weight[~known].sum())
        parts["busy"] += float((clock.weight * share)[known].sum())
        parts["idle_gpus"] += float(idle[known].sum())
        return None
    first, last = np.flatnonzero(window.work)[[0, -1]]
    place = np.arange(len(util))
    before, after = place < first, place > last
    parts["start_up"] += float(clock.weight[before & ~known].sum())  # the GPUs are not known yet
    parts["no_data"] += float(clock.weight[~before & ~known].sum())
    parts["busy"] += float((clock.weight * share)[known].sum())
    parts["start_up"] += float(idle[known & before].sum())
    parts["after"] += float(idle[known & after].sum())
    within = known & window.work
    parts["between"] += float(idle[within & window.released].sum())
    if gpu not in signals.used.working:
        parts["idle_gpus"] += float(idle[within & ~window.released].sum())
        return None
    parts["pauses"] += float(idle[within & (window.gaps | window.early)].sum())
    steady = within & window.steady
    stall, time = float(idle[steady].sum()), float(clock.weight[steady].sum())
    rate = stall / time if time > 0 else 0.0
    # The readings at the ends of a pause, and the warm-up, stall as the steady part does; what they
    # lost beyond that is the pause, or start-up.
    edges = within & window.edges
    warm = within & window.warm_up & ~window.released & ~window.early & ~window.edges
    for part, where in (("pauses", edges), ("start_up", warm)):
        lost = float(idle[where].sum())
        usual = min(lost, rate * float(clock.weight[where].sum()))
        parts[part] += lost - usual
        stall += usual
    return stall


def _share(signals: SignalSet, part: str) -> float:
    seconds = gpu_seconds(signals)
    whole = sum(seconds.values())
    if whole <= 0:
        raise Absent(Missing("the recording is empty"))
    return seconds[part] / whole


@signal(
    "time_busy_share", "figure", "share", "run",
    "Share of the GPU time of the run in which a kernel ran.",
)  # fmt: skip
def time_busy_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, "busy")


@signal(
    "time_input_wait_share", "figure", "share", "run",
    "Share of the GPU time of the run that was stall, common to all GPUs, with evidence that they "
    "waited for input. An upper bound: other stalls of the same time cannot be told from it.",
)  # fmt: skip
def time_input_wait_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, "input_wait")


@signal(
    "time_main_bound_share", "figure", "share", "run",
    "Share of the GPU time of the run that was stall with evidence that the training process was "
    "busy itself.",
)  # fmt: skip
def time_main_bound_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, "main_bound")


@signal(
    "time_contention_share", "figure", "share", "run",
    "Share of the GPU time of the run that was stall with evidence that the training process was "
    "ready to run and other programs had the cores.",
)  # fmt: skip
def time_contention_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, "contention")


@signal(
    "time_unexplained_share", "figure", "share", "run",
    "Share of the GPU time of the run that was stall whose cause is not known.",
)  # fmt: skip
def time_unexplained_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, "unexplained")


@signal(
    "time_pauses_share", "figure", "share", "run",
    "Share of the GPU time of the run that was pauses.",
)  # fmt: skip
def time_pauses_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, "pauses")


@signal(
    "time_imbalance_share", "figure", "share", "run",
    "Share of the GPU time of the run that GPUs stalled more than the least stalled one, where "
    "their utilisation differs by at least 20 points.",
)  # fmt: skip
def time_imbalance_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, "imbalance")


@signal(
    "time_idle_gpus_share", "figure", "share", "run",
    "Share of the GPU time of the run that belongs to GPUs which did nothing while others worked.",
)  # fmt: skip
def time_idle_gpus_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, "idle_gpus")


@signal(
    "time_start_up_share", "figure", "share", "run",
    "Share of the GPU time of the run before the first activity, and what the warm-up lost beyond "
    "the usual stall.",
)  # fmt: skip
def time_start_up_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _share(signals, "start_up")
