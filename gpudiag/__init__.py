"""gpudiag records a training run from outside and says where its GPU time went, and why.

The library in four lines::

    timeline = gpudiag.read("run.csv")
    findings = gpudiag.diagnose(timeline)
    print(findings[0].summary)
    gpudiag.render(findings, timeline, "run.html")

The names are imported on first use: `gpudiag.record` must start a training without loading pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpudiag.diagnose import diagnose
    from gpudiag.record.marking import mark
    from gpudiag.report import render
    from gpudiag.timeline.read import read

__version__ = "0.1.0"
__all__ = ["__version__", "diagnose", "mark", "read", "render"]

_HOMES = {
    "read": "gpudiag.timeline.read",
    "diagnose": "gpudiag.diagnose",
    "render": "gpudiag.report",
    "mark": "gpudiag.record.marking",
}


def __getattr__(name: str) -> Any:
    """Import `read`, `diagnose`, `render` and `mark` when they are first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gpudiag' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
