"""④ The time ledger: where wall time × GPUs of the run went, in parts that sum to 1."""

from __future__ import annotations

from gpudiag.diagnose.model import Ledger, LedgerPart
from gpudiag.language import retold, tr
from gpudiag.signals.account import PARTS, gpu_seconds
from gpudiag.signals.compute import Absent, SignalSet


def time_ledger(signals: SignalSet) -> Ledger:
    """The parts of the run's GPU time, in a fixed order; those of length zero are left out.

    The ledger is empty, with a reason, where the log holds no times or no GPU.
    """
    try:
        seconds = gpu_seconds(signals)
    except Absent as absent:
        return Ledger(gpus=signals.gpus, reason=retold(absent.missing.reason))
    whole = sum(seconds.values())
    if whole <= 0:
        return Ledger(gpus=signals.gpus, reason=tr("the recording is empty"))
    parts = tuple(
        LedgerPart(name, tr(title), seconds[name], seconds[name] / whole)
        for name, title in PARTS.items()
        if seconds[name] > 1e-9 * whole
    )
    return Ledger(signals.gpus, signals.clock.wall, parts)
