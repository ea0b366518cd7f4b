"""③ What a run does before its GPUs first work: load, compile, wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.activity import need_time
from gpudiag.signals.base import Missing, signal

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet


def _mean(signals: SignalSet, name: str) -> float:
    """The mean of a column up to the first activity; raises Absent without a reading."""
    need_time(signals)
    first = int(np.flatnonzero(signals.window.work)[0])
    return signals.mean(name, np.arange(len(signals.timeline.frame)) < first)


@signal(
    "start_up_main_cpu", "figure", "%", "run",
    "CPU of the training process before the first activity of the GPUs, 100 = one core; mean.",
)  # fmt: skip
def start_up_main_cpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _mean(signals, "main_cpu_pct")


@signal(
    "start_up_others_cpu", "figure", "%", "run",
    "CPU of the other processes of the run in that time (installers, compilers, launchers); mean.",
)  # fmt: skip
def start_up_others_cpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _mean(signals, "others_cpu_pct")


@signal(
    "start_up_read_mib_s", "figure", "MiB/s", "run",
    "Read from storage by the run in that time; mean. Network file systems may escape it.",
)  # fmt: skip
def start_up_read_mib_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _mean(signals, "tree_disk_read_mib_s")


@signal(
    "start_up_net_mib_s", "figure", "MiB/s", "run",
    "Received by the machine in that time; mean.",
)  # fmt: skip
def start_up_net_mib_s(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _mean(signals, "host_net_rx_mib_s")
