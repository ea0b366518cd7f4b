"""③ Whose processes are on the GPUs: the run's own, and others'. Asked every 20 s."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent

if TYPE_CHECKING:
    from gpudiag.signals.clock import Array
    from gpudiag.signals.compute import SignalSet

FEWEST = 3  # answers, i.e. a minute


def _answers(signals: SignalSet, name: str, gpu: int | None) -> Array:
    """The answers between first and last activity; raises Absent with fewer than three."""
    values = signals.array(name, gpu)[signals.window.work]
    values = values[np.isfinite(values)]
    if len(values) < FEWEST:
        raise Absent(Missing("which processes are on the GPUs was asked fewer than three times"))
    return values


def _own(signals: SignalSet) -> dict[int, float]:
    """The median number of the run's processes on each GPU that the driver was asked about."""
    found = {
        gpu: float(np.median(_answers(signals, "gpu_own_procs", gpu)))
        for gpu in signals.timeline.gpus
        if signals.timeline.column(f"gpu{gpu}_own_procs") is not None
    }
    if not found:
        raise Absent(Missing("which processes are on the GPUs was not recorded"))
    return found


@signal(
    "gpus_recorded", "figure", "", "run", "GPUs in the recording, whether the run uses them or not."
)
def gpus_recorded(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(len(signals.timeline.gpus))


@signal(
    "gpus_without_util", "figure", "", "run",
    "GPUs in the recording without any reading of utilisation, as where MIG is on.",
)  # fmt: skip
def gpus_without_util(signals: SignalSet, gpu: int | None) -> float | Missing:
    timeline = signals.timeline
    return float(sum(timeline.column(f"gpu{n}_util_pct") is None for n in timeline.gpus))


@signal(
    "gpus_with_own_procs", "figure", "", "run",
    "GPUs on which processes of the run hold a context (median of the answers at least one).",
)  # fmt: skip
def gpus_with_own_procs(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(sum(count >= 1 for count in _own(signals).values()))


@signal(
    "most_own_procs", "figure", "", "run",
    "Most processes of the run on one GPU; median of the answers.",
)  # fmt: skip
def most_own_procs(signals: SignalSet, gpu: int | None) -> float | Missing:
    return max(_own(signals).values())


@signal("crowded_gpu", "figure", "", "run", "Number of the GPU with most processes of the run.")
def crowded_gpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    own = _own(signals)
    return float(max(own, key=lambda number: own[number]))


@signal(
    "least_own_procs", "figure", "", "run",
    "Processes of the run on the other GPUs that it uses: the median of their numbers.",
)  # fmt: skip
def least_own_procs(signals: SignalSet, gpu: int | None) -> float | Missing:
    own = _own(signals)
    crowded = int(signals.need("crowded_gpu"))
    rest = [count for number, count in own.items() if number != crowded and count >= 1]
    return float(np.median(rest)) if rest else Missing("the run uses one GPU")


@signal(
    "foreign_procs_share", "figure", "share", "gpu",
    "Share of the answers in which processes that are not of the run hold a context on the GPU "
    "while one of the run does.",
)  # fmt: skip
def foreign_procs_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    foreign = signals.array("gpu_foreign_procs", gpu)
    own = signals.array("gpu_own_procs", gpu)
    known = signals.window.work & np.isfinite(foreign) & np.isfinite(own) & (own >= 1)
    if int(known.sum()) < FEWEST:
        return Missing("the run was seen on the GPU in fewer than three answers")
    return float((foreign[known] >= 1).mean())


@signal(
    "foreign_mem_most_mib", "figure", "MiB", "gpu",
    "Most device memory that processes outside the run held on the GPU while it was at work.",
)  # fmt: skip
def foreign_mem_most_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_answers(signals, "gpu_foreign_mem_mib", gpu).max())


@signal(
    "foreign_mem_rise_mib", "figure", "MiB", "gpu",
    "Rise of that memory from the first to the last third of the answers (medians).",
)  # fmt: skip
def foreign_mem_rise_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    values = _answers(signals, "gpu_foreign_mem_mib", gpu)
    third = max(len(values) // 3, 1)
    return float(np.median(values[-third:]) - np.median(values[:third]))
