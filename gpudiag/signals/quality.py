"""③ How good the recording is: holes, and what the driver does not or no longer give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudiag.signals.activity import need_time
from gpudiag.signals.base import Missing, signal

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet


@signal(
    "holes_share", "figure", "share", "run",
    "Share of the recording without any reading: stretches longer than three intervals.",
)  # fmt: skip
def holes_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    need_time(signals)
    wall = signals.clock.wall
    return float(signals.clock.hole.sum()) / wall if wall > 0 else Missing("it is empty")


@signal(
    "clock_steps", "figure", "", "run",
    "How often the clock on the wall was set while it was recorded (events of kind clock-step): by "
    "a second or more in a recording of gpudiag's, backwards in a log. Forwards it looks like a "
    "hole in a log.",
)  # fmt: skip
def clock_steps(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(sum(event.kind == "clock-step" for event in signals.timeline.events))


@signal(
    "mig_without_util", "figure", "", "run",
    "GPUs of the run on which MIG is on and the driver gave no utilisation.",
)  # fmt: skip
def mig_without_util(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(
        sum(
            str(signals.timeline.gpu_facts(number).get("mig")) == "Enabled"
            and signals.timeline.column(f"gpu{number}_util_pct") is None
            for number in signals.gpus
        )
    )


@signal(
    "gpus_lost", "figure", "", "run",
    "Times at which a GPU stopped answering the driver (events of kind gpu-lost).",
)  # fmt: skip
def gpus_lost(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(sum(event.kind == "gpu-lost" for event in signals.timeline.events))
