"""③ How many loader workers a rank needs, and how many the cores allow: never a constant.

One model serves both. For each second of a busy GPU the training process and the loading use so
many core-seconds, wherever the loading is done; the cores that the run has (those it uses and the
idle ones) then bound the share of the time for which the GPU can be kept busy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.signals.ranks import ranks_cpu

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

WORKER_LOAD = 0.9  # a queue needs slack: recommend workers that are busy 90 % of the time
WORTHWHILE = 1.1  # less gain than this is within what two recordings of one run differ


@dataclass(frozen=True)
class _Need:
    """`busy` is the GPU's share of busy time now, `reachable` what the cores allow.

    `each_busy_s` is how many workers of all ranks, always at work, permanently busy GPUs need.
    """

    busy: float
    reachable: float
    each_busy_s: float


def _need(signals: SignalSet) -> _Need:
    return signals.once("worker_need", None, lambda: _reckon(signals))


def _reckon(signals: SignalSet) -> _Need:
    stall = signals.need("stall_share")
    if stall < signals.limits["min_stall"]:
        raise Absent(Missing("the GPUs stall for less than 10 % of the time"))
    busy = 1 - stall
    if busy <= 0.01:
        raise Absent(Missing("the GPUs are hardly ever busy, so what a busy GPU needs is unknown"))
    count, ranks = signals.need("workers_count"), signals.need("ranks")
    measured = ranks_cpu(signals)
    main = (signals.need("main_cpu") * ranks if measured is None else measured) / 100
    if count >= 1:
        each = count / busy
        used = main + signals.need("workers_cores")
    else:
        each = max(signals.need("main_busy_while_gpu_idle"), 0.0) / busy * ranks
        used = main
    idle = signals.figure("idle_cores")
    if isinstance(idle, Missing) or used <= 0:
        return _Need(busy, 1.0, each)
    reachable = min(busy * (idle + used) / used, 1.0)
    return _Need(busy, max(reachable, busy), each)


@signal(
    "needed_workers", "figure", "", "run",
    "Loader workers, per rank, that would keep the GPUs busy, from what was measured. With n "
    "workers: n / b / 0.9, where b = 1 - stall_share, since each delivers its share of the batches "
    "in the busy time. With none: X / b / 0.9, the time that a training process spends on a busy "
    "GPU-second of data. 0.9 leaves the queue some slack. Assumes that each further worker "
    "delivers as much, i.e. that a core is free for it and storage keeps up.",
)  # fmt: skip
def needed_workers(signals: SignalSet, gpu: int | None) -> float | Missing:
    need = _need(signals)
    return float(math.ceil(need.each_busy_s / WORKER_LOAD / signals.need("ranks") - 1e-9))


@signal(
    "cores_allow_busy_share", "figure", "share", "run",
    "How busy the cores allow the GPUs to be: b * (idle cores + used cores) / used cores, at most "
    "1, where the used cores are those of the training process and its workers: a busy GPU-second "
    "costs as much CPU as now, wherever the loading is done.",
)  # fmt: skip
def cores_allow_busy_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    signals.need("idle_cores")
    return _need(signals).reachable


@signal(
    "workers_speed_up_bound", "figure", "", "run",
    "cores_allow_busy_share / b: how much faster more workers could make the run at most, with "
    "the cores that it has.",
)  # fmt: skip
def workers_speed_up_bound(signals: SignalSet, gpu: int | None) -> float | Missing:
    return signals.need("cores_allow_busy_share") / _need(signals).busy


@signal(
    "recommended_speed_up", "figure", "", "run",
    "How much faster recommended_workers can make the run at most, where the cores do not allow as "
    "many as are needed: min(1 / (1 - stall_share), recommended workers over the present ones, "
    "workers_speed_up_bound), the second only where there are workers now. Missing where the "
    "number needed can be had, or none.",
)  # fmt: skip
def recommended_speed_up(signals: SignalSet, gpu: int | None) -> float | Missing:
    recommended, need = signals.need("recommended_workers"), _need(signals)
    if recommended >= signals.need("needed_workers"):
        return Missing("the cores allow as many workers as are needed")
    count = signals.need("workers_count") / signals.need("ranks")
    bounds = [1 / need.busy, signals.need("workers_speed_up_bound")]
    return min([*bounds, recommended / count] if count >= 1 else bounds)


@signal(
    "recommended_workers", "figure", "", "run",
    "needed_workers, but where the cores do not allow a GPU that is always busy, no more than they "
    "can keep at work: (n / b, or X / b without workers) * cores_allow_busy_share, per rank, "
    "rounded up, since a part of a worker takes a whole process. Without workers the core on which "
    "the training process loads now counts as free for loading. Missing if the cores allow no gain "
    "of 10 %.",
)  # fmt: skip
def recommended_workers(signals: SignalSet, gpu: int | None) -> float | Missing:
    need, ranks = _need(signals), signals.need("ranks")
    if signals.need("workers_speed_up_bound") < WORTHWHILE:
        return Missing("no core is free for another worker")
    best = signals.need("needed_workers")
    if need.reachable < 1:
        most = math.ceil(need.each_busy_s * need.reachable / ranks - 1e-9)
        best = min(best, float(max(most, 1)))
    if best <= signals.need("workers_count") / ranks:
        return Missing("no core is free for another worker")
    return best
