"""③ The PCIe link of a GPU, while it works: an idle GPU trains its link down on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.signals.throttling import BUSY_PCT, FEWEST

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet


def _best(signals: SignalSet, gpu: int | None, name: str) -> float:
    """The highest value in the busy readings; raises Absent with fewer than 30."""
    values = signals.array(name, gpu)
    busy = values[(signals.array("gpu_util_pct", gpu) > BUSY_PCT) & np.isfinite(values)]
    if len(busy) < FEWEST:
        raise Absent(Missing(f"{name} was seen in fewer than {FEWEST} readings above 50 %"))
    return float(busy.max())


def _most(signals: SignalSet, gpu: int | None, name: str) -> float:
    value = signals.timeline.gpu_facts(-1 if gpu is None else gpu).get(name)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    raise Absent(Missing(f"{name} of the GPU is not known"))


@signal(
    "busy_pcie_lanes", "figure", "", "gpu",
    "Widest PCIe link seen while the GPU was above 50 %, in lanes.",
)  # fmt: skip
def busy_pcie_lanes(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _best(signals, gpu, "gpu_pcie_lanes")


@signal("busy_pcie_gen", "figure", "", "gpu", "Highest PCIe generation seen in those readings.")
def busy_pcie_gen(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _best(signals, gpu, "gpu_pcie_gen")


@signal("pcie_lanes_most", "figure", "", "gpu", "Lanes that the driver gives as the maximum.")
def pcie_lanes_most(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _most(signals, gpu, "pcie_lanes_max")


@signal("pcie_gen_most", "figure", "", "gpu", "PCIe generation that it gives as the maximum.")
def pcie_gen_most(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _most(signals, gpu, "pcie_gen_max")
