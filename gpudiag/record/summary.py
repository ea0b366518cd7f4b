"""① What is said on the terminal when the command has ended."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from gpudiag.record.figures import Figures
from gpudiag.units import format_duration

_MOST_GPUS = 4


def summary(figures: Figures) -> list[str]:
    """What was recorded, what it cost, and the next command to type."""
    name = _shown(figures.path)
    samples = f"{figures.samples} sample" + ("" if figures.samples == 1 else "s")
    lines = [f"{name}: {format_duration(figures.duration_s)}, {samples}, {_gpus(figures)}"]
    if figures.gpu_source.get("status") != "ok" and not figures.util_mean_pct:
        lines.append(f"no GPU was recorded: {figures.gpu_source.get('text', '')}")
        lines.append("what is missing here, and what to do: gpudiag doctor")
    share = 100 * figures.cpu_s / figures.duration_s if figures.duration_s > 0 else 0.0
    lines.append(f"the recorder itself used {figures.cpu_s:.2f} s of CPU ({share:.1f} % of a core)")
    lines.append(f"next: gpudiag report {shlex.quote(name)}")
    return lines


def warnings(figures: Figures, wanted: Path | None, failure: str) -> list[str]:
    """What went wrong; `wanted` is the name that was taken already, if it was."""
    lines = []
    if wanted is not None:
        lines.append(f"{_shown(wanted)} exists already; wrote {_shown(figures.path)}")
    if figures.trouble:
        lost = f"; {figures.rows_lost} rows are lost" if figures.rows_lost else ""
        lines.append(f"{figures.trouble}{lost}")
    if failure:
        lines.append(f"the recording broke off: {failure}")
    return lines


def _gpus(figures: Figures) -> str:
    means = list(figures.util_mean_pct.items())
    if not means:
        return "no GPU readings"
    told = [
        f"GPU {name.removeprefix('gpu').split('_')[0]} at {mean:.0f} %"
        for name, mean in means[:_MOST_GPUS]
    ]
    if len(means) > _MOST_GPUS:
        told = [f"{len(means)} GPUs at {sum(mean for _, mean in means) / len(means):.0f} %"]
    return f"{', '.join(told)} on average"


def _shown(path: Path) -> str:
    """The path as the user would type it."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return str(path)
    return str(path) if relative.startswith("..") else relative
