"""① How a recording went: the figures of its end line and of the summary."""

from __future__ import annotations

import contextlib
import sys
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpudiag.record.launch import Exit


class Figures(NamedTuple):
    """Seconds, MiB, and the mean utilisation by column name."""

    path: Path
    exit: Exit | None
    duration_s: float
    samples: int
    util_mean_pct: Mapping[str, float]
    gpu_source: Mapping[str, str]
    gpu_rows_lost: int
    rows_lost: int
    trouble: str
    cpu_s: float
    max_rss_mib: float | None
    skews_s: array[float]
    intervals_s: array[float]

    def end_facts(self) -> dict[str, Any]:
        """The end line (docs/format.md)."""
        how = self.exit or Exit(None)
        skews = sorted(self.skews_s)
        facts: dict[str, Any] = {"t_s": round(self.duration_s, 3)}
        if how.why != "command":
            facts["ended"] = how.why
        elif how.signal is not None:
            facts["signal"] = how.signal
        else:
            facts["exit_code"] = how.code
        return facts | {
            "samples": self.samples,
            "rows_lost": self.rows_lost,
            "gpu_rows_lost": self.gpu_rows_lost,
            "recorder_cpu_s": round(self.cpu_s, 3),
            "recorder_max_rss_mib": None
            if self.max_rss_mib is None
            else round(self.max_rss_mib, 1),
            "skew_median_s": _rounded(median(skews)),
            "skew_p99_s": _rounded(skews[int(0.99 * (len(skews) - 1) + 0.5)] if skews else None),
            "interval_median_s": _rounded(median(self.intervals_s)),
        }


def max_rss_mib() -> float | None:
    """The most memory this process has had, or None where the system does not tell."""
    if sys.platform == "linux":
        # ru_maxrss would count what the parent had before it became this program
        with contextlib.suppress(OSError), open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) / 1024
        return None
    try:
        import resource
    except ImportError:
        return None
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def median(values: Iterable[float]) -> float | None:
    """The middle value; None of nothing. (The standard library's takes 7 ms of CPU to load.)"""
    found = sorted(values)
    if not found:
        return None
    return (found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
