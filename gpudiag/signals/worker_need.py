"""③ How many loader workers a rank needs, from what was measured, and never a constant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.starvation import MIN_STALL

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

WORKER_LOAD = 0.9  # a queue needs slack: recommend workers that are busy 90 % of the time


@signal(
    "needed_workers", "figure", "", "run",
    "Loader workers, per rank, that would keep the GPUs busy, from what was measured. With n "
    "workers: n / (1 - stall_share) / 0.9, since each delivers its share of the batches in the "
    "busy time. With none: X / (1 - stall_share) / 0.9, the CPU that the training process spends "
    "on a GPU-second of data. 0.9 leaves the queue some slack. Assumes that each further worker "
    "delivers as much, i.e. that a core is free for it and storage keeps up.",
)  # fmt: skip
def needed_workers(signals: SignalSet, gpu: int | None) -> float | Missing:
    stall = signals.need("stall_share")
    count, processes = signals.need("workers_count"), signals.need("ranks")
    if stall < MIN_STALL:
        return Missing("the GPUs stall for less than 10 % of the time")
    busy = 1 - stall
    if busy <= 0.01:
        return Missing("the GPUs are hardly ever busy, so what a busy GPU needs is unknown")
    supply = count if count >= 1 else max(signals.need("main_busy_while_gpu_idle"), 0.0)
    return float(math.ceil(supply / busy / WORKER_LOAD / processes - 1e-9))


@signal(
    "recommended_workers", "figure", "", "run",
    "needed_workers, but no more than there are cores for: the present workers plus the idle "
    "cores (with no workers also X, the core that the training process gives back), divided by "
    "what a worker uses, per rank, rounded. Missing if there is no core for another.",
)  # fmt: skip
def recommended_workers(signals: SignalSet, gpu: int | None) -> float | Missing:
    needed, processes = signals.need("needed_workers"), signals.need("ranks")
    count, free = signals.need("workers_count"), signals.need("idle_cores")
    each = 1.0
    if count >= 1:
        each = max(signals.need("workers_cores") / count, 0.05)
    else:
        free += max(signals.need("main_busy_while_gpu_idle"), 0.0)
    most = math.floor((count + free / each) / processes + 0.5)
    best = min(needed, most)
    if best <= count / processes:
        return Missing("no core is free for another worker")
    return float(best)
