"""① What is said on the terminal when the command has ended."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from gpudiag.language import retold, tr
from gpudiag.record.figures import Figures
from gpudiag.units import format_duration

_MOST_GPUS = 4
_SHORT_S = 10.0


def summary(figures: Figures) -> list[str]:
    """What was recorded, what it cost, and the next command to type."""
    name = _shown(figures.path)
    one = figures.samples == 1
    samples = tr("1 sample") if one else tr("{count} samples", count=figures.samples)
    told = (format_duration(figures.duration_s), samples, _gpus(figures))
    lines = [tr("{name}: {value}", name=name, value=tr(", ").join(told))]
    if figures.gpu_source.get("status") != "ok" and not figures.util_mean_pct:
        why = retold(str(figures.gpu_source.get("text", "")))
        lines.append(tr("no GPU was recorded: {why}", why=why))
        lines.append(
            tr("what is missing here, and what to do: {command}", command="gpudiag doctor")
        )
    lines.append(_cost(figures))
    lines.append(tr("next: {command}", command=f"gpudiag report {shlex.quote(name)}"))
    return lines


def warnings(figures: Figures, wanted: Path | None, failure: str) -> list[str]:
    """What went wrong; `wanted` is the name that was taken already, if it was."""
    lines = []
    if wanted is not None:
        lines.append(
            tr(
                "{wanted} exists already; wrote {path}",
                wanted=_shown(wanted),
                path=_shown(figures.path),
            )
        )
    if figures.trouble:
        told = [retold(figures.trouble)]
        if figures.rows_lost:
            told.append(tr("{count} rows are lost", count=figures.rows_lost))
        lines.append(tr("; ").join(told))
    if failure:
        lines.append(tr("the recording broke off: {why}", why=retold(failure)))
    return lines


def _cost(figures: Figures) -> str:
    """The recorder's own CPU time; of a short run the share would be that of its start."""
    seconds = f"{figures.cpu_s:.2f}"
    if figures.duration_s < _SHORT_S:
        return tr("the recorder itself used {seconds} s of CPU", seconds=seconds)
    share = f"{100 * figures.cpu_s / figures.duration_s:.1f}"
    return tr(
        "the recorder itself used {seconds} s of CPU ({share} % of a core)",
        seconds=seconds,
        share=share,
    )


def _gpus(figures: Figures) -> str:
    means = list(figures.util_mean_pct.items())
    if not means:
        return tr("no GPU readings")
    told = [
        tr(
            "GPU {gpu} at {mean} %",
            gpu=name.removeprefix("gpu").split("_")[0],
            mean=f"{mean:.0f}",
        )
        for name, mean in means[:_MOST_GPUS]
    ]
    if len(means) > _MOST_GPUS:
        mean = sum(mean for _, mean in means) / len(means)
        told = [tr("{count} GPUs at {mean} %", count=len(means), mean=f"{mean:.0f}")]
    return tr("{gpus} on average", gpus=tr(", ").join(told))


def _shown(path: Path) -> str:
    """The path as the user would type it."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return str(path)
    return str(path) if relative.startswith("..") else relative
