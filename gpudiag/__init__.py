"""gpudiag records a training run from outside and says where its GPU time went, and why.

The library in four lines::

    timeline = gpudiag.read("run.csv")
    findings = gpudiag.diagnose(timeline)
    print(findings[0].summary)
    gpudiag.render(findings, timeline, "run.html")

From a script or a notebook, `with gpudiag.record("run.csv"): train()` records what runs in the
block, and `gpudiag.mark("epoch 3")` says in the recording where it is.

The names are imported on first use: `gpudiag.record` must start a training without loading pandas.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to load than all else before an interrupt is answered
if TYPE_CHECKING:
    from typing import Any

    from gpudiag.api.block import record
    from gpudiag.api.notebook import load_ipython_extension
    from gpudiag.diagnose import diagnose
    from gpudiag.record.marking import mark
    from gpudiag.report import render
    from gpudiag.timeline.read import read

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "diagnose",
    "load_ipython_extension",
    "mark",
    "read",
    "record",
    "render",
]

_HOMES = {
    "read": "gpudiag.timeline.read",
    "diagnose": "gpudiag.diagnose",
    "render": "gpudiag.report",
    "mark": "gpudiag.record.marking",
    "load_ipython_extension": "gpudiag.api.notebook",
}


def __getattr__(name: str) -> Any:
    """Import the names of `__all__` when they are first asked for (PEP 562)."""
    from importlib import import_module

    if name == "record":  # a package that can be called
        return import_module("gpudiag.record")
    if name not in _HOMES:
        raise AttributeError(f"module 'gpudiag' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
