"""② Read logs of psrecord: CPU and memory of one process, by the time since it was attached."""

from __future__ import annotations

import re

from gpudiag.errors import UnreadableError
from gpudiag.timeline.host.model import HostGather, HostLog
from gpudiag.timeline.load import Log

NAME = "psrecord"
_HEAD = re.compile(r"\A\s*#\s*Elapsed time\s+CPU \(%\)\s+Real \(MB\)")
_FIGURE = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)


def recognise(head: str) -> float:
    """By its header line."""
    return 0.95 if _HEAD.search(head) else 0.0


def read(log: Log) -> HostLog:
    """The samples in `log`. Raises UnreadableError if there is none."""
    found = HostGather(log.notes)
    for number, line in log.lines():
        found.lines += 1
        cells = line.split()
        if not cells or line.lstrip().startswith("#"):
            continue
        if len(cells) < 3 or not all(map(_FIGURE.fullmatch, cells[:3])):
            found.drop(number, "not a time, a CPU share and a memory", line)
            continue
        time, cpu, memory = map(float, cells[:3])
        found.add(number, time, {"main_cpu_pct": cpu, "main_rss_mib": memory})
    if not len(found):
        raise UnreadableError(f"{log.path}: a psrecord log without a sample", "")
    found.notes.append(
        "psrecord's process was taken for the training process, its children not counted; if it "
        "ran with --include-children, the CPU and memory of that process are less than shown."
    )
    return found.log(log.path, NAME, "relative")
