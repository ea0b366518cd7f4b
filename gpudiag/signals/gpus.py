"""③ The GPUs beside each other: which work, which idle, and how they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import GROSS_S, GROSS_SAMPLES, STEADY_S, STEADY_SAMPLES, need_length
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.signals.used import NEVER_BUSY_PCT

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

FEWEST = 30  # readings: fewer are a glance


@signal(
    "gpu_count", "figure", "", "run",
    "GPUs that the run uses: those of CUDA_VISIBLE_DEVICES where it can be read, else those whose "
    "memory rose after the start of a recorded command, else those ever above 5 %.",
)  # fmt: skip
def gpu_count(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(len(signals.gpus))


@signal(
    "gpus_working", "figure", "", "run",
    "GPUs of the run that were ever above 5 % utilisation (or, where the driver gives none, whose "
    "memory rose).",
)  # fmt: skip
def gpus_working(signals: SignalSet, gpu: int | None) -> float | Missing:
    if not signals.gpus:
        return Missing(signals.why_no_gpus)
    return float(len(signals.used.working))


@signal(
    "gpus_idle", "figure", "", "run",
    "GPUs that did nothing while others of the run worked: those given to the run that were never "
    "above 5 %, or, where the run does not say which GPUs it was given, all others in the "
    "recording that were neither busy nor held memory.",
)  # fmt: skip
def gpus_idle(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, GROSS_S, GROSS_SAMPLES)
    return float(len(idle_gpus(signals)))


def idle_gpus(signals: SignalSet) -> tuple[int, ...]:
    """The idle GPUs that may have been meant to work, ascending."""
    used = signals.used
    if not used.working:
        return ()
    given = tuple(gpu for gpu in used.gpus if gpu not in used.working)
    return (
        given
        if used.meant
        else tuple(sorted((*given, *(g for g in used.others if _free(signals, g)))))
    )


def _free(signals: SignalSet, gpu: int) -> bool:
    """Whether a GPU outside the run was free for it: never busy, and holding next to nothing."""
    util = signals.timeline.column(f"gpu{gpu}_util_pct")
    memory = signals.timeline.column(f"gpu{gpu}_mem_used_mib")
    if util is None or float(util.max()) > NEVER_BUSY_PCT:
        return False
    return memory is None or float(memory.max()) < 1024


@signal("first_idle_gpu", "figure", "", "run", "Number of the first GPU that did nothing.")
def first_idle_gpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = idle_gpus(signals)
    return float(found[0]) if found else Missing("no GPU was idle throughout")


@signal(
    "gpus_given", "figure", "0 or 1", "run",
    "1 if the run says itself which GPUs it was given (CUDA_VISIBLE_DEVICES), so that an idle one "
    "among them is lost; 0 if not.",
)  # fmt: skip
def gpus_given(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(signals.used.meant)


@signal(
    "util_max_ever",
    "figure",
    "%",
    "run",
    "Highest utilisation of any GPU in the recording; where that is 5 % or less, given from 30 "
    "readings on.",
)
def util_max_ever(signals: SignalSet, gpu: int | None) -> float | Missing:
    highest = [
        float(column.max())
        for number in signals.gpus
        if (column := signals.timeline.column(f"gpu{number}_util_pct")) is not None
    ]
    if not signals.gpus:
        return Missing(signals.why_no_gpus)
    if len(highest) < len(signals.gpus) or not highest:
        return Missing(
            "the utilisation of the GPUs was not measured, or the driver does not give it (MIG)"
        )
    if max(highest) <= NEVER_BUSY_PCT and len(signals.timeline.frame) < FEWEST:
        return Missing(f"{len(signals.timeline.frame)} readings without work are too few")
    return max(highest)


@signal("util_peak", "figure", "%", "gpu", "Highest utilisation of the GPU in the recording.")
def util_peak(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(np.nanmax(signals.array("gpu_util_pct", gpu)))


@signal(
    "memory_rise_max_mib", "figure", "MiB", "run",
    "Largest rise of the memory of any GPU of the run above its first reading.",
)  # fmt: skip
def memory_rise_max_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    rises = [
        float(column.max() - column.dropna().iloc[0])
        for number in signals.gpus
        if (column := signals.timeline.column(f"gpu{number}_mem_used_mib")) is not None
    ]
    if not signals.gpus:
        return Missing(signals.why_no_gpus)
    return max(rises) if rises else Missing("the memory of the GPUs was not recorded")


@signal(
    "util_mean", "figure", "%", "gpu",
    "Mean utilisation of the GPU in the active window, pauses included, by duration of the ticks.",
)  # fmt: skip
def util_mean(signals: SignalSet, gpu: int | None) -> float | Missing:
    return signals.mean("gpu_util_pct", signals.window.active, gpu)


def _table(signals: SignalSet, name: str) -> dict[int, float]:
    """The steady mean of a column for each working GPU; raises Absent with fewer than two."""
    means = {
        gpu: signals.steady_mean(name, gpu)
        for gpu in signals.used.working
        if signals.timeline.column(name.replace("gpu_", f"gpu{gpu}_", 1)) is not None
    }
    if len(means) < 2:
        raise Absent(Missing("fewer than two GPUs of the run worked"))
    return means


@signal(
    "util_spread", "figure", "points", "run",
    "Highest less lowest mean utilisation among the working GPUs, in percentage points, in the "
    "active time without pauses. Given from 30 s on, for gross faults.",
)  # fmt: skip
def util_spread(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, GROSS_S, GROSS_SAMPLES)
    means = _table(signals, "gpu_util_pct")
    return max(means.values()) - min(means.values())


@signal(
    "steady_util_spread", "figure", "points", "run",
    "util_spread where the active window is at least 120 s long.",
)  # fmt: skip
def steady_util_spread(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, STEADY_S, STEADY_SAMPLES)
    return signals.need("util_spread")


@signal(
    "util_low_gpu", "figure", "", "run", "Number of the working GPU with the lowest utilisation."
)
def util_low_gpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    means = _table(signals, "gpu_util_pct")
    return float(min(means, key=lambda number: means[number]))


@signal(
    "util_high_gpu", "figure", "", "run", "Number of the working GPU with the highest utilisation."
)
def util_high_gpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    means = _table(signals, "gpu_util_pct")
    return float(max(means, key=lambda number: means[number]))


@signal(
    "util_low", "figure", "%", "run", "Lowest mean utilisation among the working GPUs, no pauses."
)
def util_low(signals: SignalSet, gpu: int | None) -> float | Missing:
    return min(_table(signals, "gpu_util_pct").values())


@signal(
    "util_high", "figure", "%", "run", "Highest mean utilisation among the working GPUs, no pauses."
)
def util_high(signals: SignalSet, gpu: int | None) -> float | Missing:
    return max(_table(signals, "gpu_util_pct").values())


@signal(
    "util_deviation", "figure", "points", "gpu",
    "Mean utilisation of the GPU less the median of the working GPUs, in percentage points.",
)  # fmt: skip
def util_deviation(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _deviation(signals, "gpu_util_pct", gpu)


def _deviation(signals: SignalSet, name: str, gpu: int | None) -> float:
    means = _table(signals, name)
    if gpu not in means:
        raise Absent(Missing("this GPU did not work"))
    return means[gpu] - float(np.median(list(means.values())))


@signal(
    "first_gpu_memory_ratio", "figure", "", "run",
    "Memory of the first working GPU over the median of the other working GPUs; mean of the "
    "active time without pauses. torch.nn.DataParallel gathers outputs on the first GPU.",
)  # fmt: skip
def first_gpu_memory_ratio(signals: SignalSet, gpu: int | None) -> float | Missing:
    means = _table(signals, "gpu_mem_used_mib")
    first = min(means)
    rest = float(np.median([value for number, value in means.items() if number != first]))
    return means[first] / rest if rest > 0 else Missing("the other GPUs hold no memory")


@signal(
    "memory_skew_share", "figure", "share", "run",
    "Largest difference of the memory of two working GPUs, as a share of the larger GPU's total; "
    "mean of the active time without pauses.",
)  # fmt: skip
def memory_skew_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    means = _table(signals, "gpu_mem_used_mib")
    totals = [signals.timeline.gpu_facts(number).get("mem_total_mib") for number in means]
    known = [float(total) for total in totals if isinstance(total, int | float) and total > 0]
    if not known:
        return Missing("the size of the GPUs' memory is not known")
    return (max(means.values()) - min(means.values())) / max(known)


@signal("gpu_models", "figure", "", "run", "Different models among the GPUs of the run.")
def gpu_models(signals: SignalSet, gpu: int | None) -> float | Missing:
    names = {str(signals.timeline.gpu_facts(number).get("name") or "") for number in signals.gpus}
    return Missing("the models of the GPUs are not known") if "" in names else float(len(names))
