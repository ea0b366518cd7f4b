"""③ When the GPUs worked, how much of that time they idled, and how long the pauses were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.units import format_duration

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

# The mean of a 1 Hz utilisation is within 2.7 points of the truth after 120 s (simulated with the
# driver's windows of 1/6 and 1 s); before 30 s nothing is said at all.
STEADY_S = 120.0
STEADY_SAMPLES = 60
UNEVEN_POINTS = 20.0  # beyond the natural spread of identical GPUs, 8 % on average
GROSS_S = 30.0
GROSS_SAMPLES = 15
NO_TIME = "the log holds no times, so durations are unknown"


def need_time(signals: SignalSet) -> None:
    """Raise Absent if the log holds no times."""
    if not signals.clock.known:
        raise Absent(Missing(NO_TIME))


@signal("recording_s", "figure", "s", "run", "Length of the recording, from its start to its end.")
def recording_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    return signals.clock.wall


@signal("interval_s", "figure", "s", "run", "Median time between two readings.")
def interval_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    return signals.clock.interval


@signal("samples", "figure", "", "run", "Readings in the recording (rows of the timeline).")
def samples(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(len(signals.timeline.frame))


@signal(
    "active_s", "figure", "s", "run",
    "Length of the active window: from the first to the last time the 15 s mean of the busiest GPU "
    "reached 20 % (half its own level on runs that never do), less the warm-up (the first 60 s, at "
    "most a fifth of it) and less stretches in which no job was loaded. Pauses are part of it.",
)  # fmt: skip
def active_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    return signals.clock.seconds(signals.window.active)


@signal("active_samples", "figure", "", "run", "Readings in the active window.")
def active_samples(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float((signals.window.active & np.isfinite(signals.window.busiest)).sum())


@signal(
    "warm_up_s", "figure", "s", "run",
    "Length of the warm-up: the first 60 s after the first activity, at most a fifth of the time "
    "up to the last activity. It is left out of every judgement, since it holds compilation and "
    "autotuning.",
)  # fmt: skip
def warm_up_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    return signals.clock.seconds(signals.window.warm_up)


def _needed(seconds: float) -> str:
    """One text for both lengths, so that a report that is too short says it once."""
    if seconds in (GROSS_S, STEADY_S):
        gross, steady = format_duration(GROSS_S), format_duration(STEADY_S)
        return f"for gross faults {gross}, for others {steady} are"
    return f"{format_duration(seconds)} are"


def need_length(signals: SignalSet, seconds: float, fewest: int) -> None:
    """Raise Absent if the active window is too short for a judgement, saying by how much."""
    readings = int((signals.window.active & np.isfinite(signals.window.busiest)).sum())
    lasted = signals.clock.seconds(signals.window.active)
    if not signals.clock.known and readings < seconds:
        raise Absent(
            Missing(
                f"the log holds no times, and {readings} active readings are too few; "
                f"{seconds:.0f} are needed"
            )
        )
    if signals.clock.known and lasted < seconds:
        raise Absent(
            Missing(
                f"the run was active for {format_duration(lasted)} after its warm-up, which is too "
                f"short; {_needed(seconds)} needed"
            )
        )
    if readings < fewest:
        raise Absent(Missing(f"{readings} active readings are too few; {fewest} are needed"))


@signal(
    "gpu_stall_share", "figure", "share", "gpu",
    "Share of the active time, pauses left out, in which the GPU ran no kernel: 1 - mean(util_pct) "
    "/ 100, by duration of the ticks. A GPU that waits inside a kernel (NCCL) counts as busy. "
    "Given from 30 s on.",
)  # fmt: skip
def gpu_stall_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, GROSS_S, GROSS_SAMPLES)
    return _stall(signals, gpu)


def _stall(signals: SignalSet, gpu: int | None) -> float:
    return 1 - min(signals.steady_mean("gpu_util_pct", gpu), 100.0) / 100


def common_stall(signals: SignalSet) -> float:
    """What the working GPUs stall together, however short the run; may raise Absent.

    The median of their stall shares; where they differ by 20 points, the least of them, since the
    rest is a matter of their differing and not of what all of them wait for.
    """
    measured = [
        gpu
        for gpu in signals.used.working
        if signals.timeline.column(f"gpu{gpu}_util_pct") is not None
    ]
    if not measured:
        raise Absent(Missing("no GPU of the run has a utilisation"))
    stalls = [_stall(signals, gpu) for gpu in measured]
    uneven = max(stalls) - min(stalls) >= UNEVEN_POINTS / 100
    return float(min(stalls) if uneven else np.median(stalls))


@signal(
    "stall_share", "figure", "share", "run",
    "Median over the working GPUs of gpu_stall_share; where they differ by 20 points, the least of "
    "them, since only that is common to all. Good to about 3 points from 120 s on, and given from "
    "30 s on, for gross faults.",
)  # fmt: skip
def stall_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, GROSS_S, GROSS_SAMPLES)
    return common_stall(signals)


@signal(
    "steady_stall_share", "figure", "share", "run",
    "stall_share where the active window is at least 120 s and 60 readings long, which is what a "
    "judgement of moderate stalls needs.",
)  # fmt: skip
def steady_stall_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_length(signals, STEADY_S, STEADY_SAMPLES)
    return common_stall(signals)


@signal(
    "pauses", "figure", "", "run",
    "Pauses in the active window: stretches in which every GPU is at or below 5 % for at least 5 s "
    "(and three readings; and three cycles where lulls return within 20 s, which are steps), with "
    "the power, where it was recorded, below 80 % of its mean at work.",
)  # fmt: skip
def pauses(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    need_length(signals, STEADY_S, STEADY_SAMPLES)
    return float(len(signals.window.spans))


@signal("pause_share", "figure", "share", "run", "Share of the active window that is pauses.")
def pause_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    need_length(signals, STEADY_S, STEADY_SAMPLES)
    clock, window = signals.clock, signals.window
    return clock.seconds(window.gaps) / clock.seconds(window.active)


def _lengths(signals: SignalSet) -> list[float]:
    need_time(signals)
    spans = signals.window.spans
    if not spans:
        raise Absent(Missing("there were no pauses"))
    return [float(signals.clock.weight[first : last + 1].sum()) for first, last in spans]


@signal("pause_median_s", "figure", "s", "run", "Length of the median pause.")
def pause_median_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(np.median(_lengths(signals)))


@signal("pause_max_s", "figure", "s", "run", "Length of the longest pause.")
def pause_max_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    return max(_lengths(signals))


@signal(
    "pause_every_s", "figure", "s", "run",
    "Median time from the start of a pause to the start of the next.",
)  # fmt: skip
def pause_every_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    if len(_lengths(signals)) < 2:
        return Missing("there were fewer than two pauses")
    begins = [signals.clock.begin[first] for first, _ in signals.window.spans]
    return float(np.median(np.diff(begins)))


@signal(
    "idle_tail_s", "figure", "s", "run",
    "Time from the last activity of the GPUs to the end of the recording.",
)  # fmt: skip
def idle_tail_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    last = int(np.flatnonzero(signals.window.work)[-1])
    clock = signals.clock
    return float(clock.weight[last + 1 :].sum() + clock.hole[last + 1 :].sum() + clock.tail)


@signal(
    "start_up_s", "figure", "s", "run",
    "Time from the start of the recording to the first activity of the GPUs.",
)  # fmt: skip
def start_up_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    first = int(np.flatnonzero(signals.window.work)[0])
    clock = signals.clock
    return float(clock.weight[:first].sum() + clock.hole[: first + 1].sum())
