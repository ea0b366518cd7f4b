"""Durations and figures, from text and to text. Standard library only (`record` imports it)."""

from __future__ import annotations

import math
import re

_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d|)\s*", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds from `1`, `0.2s`, `500ms`, `5m`, `1h30m`. Raises ValueError on anything else."""
    position, total = 0, 0.0
    while position < len(text):
        match = _PART.match(text, position)
        if not match:
            break
        total += float(match[1]) * _SECONDS[match[2]]
        position = match.end()
    if not text.strip() or position != len(text) or not math.isfinite(total):
        raise ValueError(f"not a duration: {text!r}")
    return total


def format_roughly(seconds: float) -> str:
    """`45 s`, `3.4 min`, `10 min`, `1.7 h`, `2.5 d`: an estimate, with two digits at most."""
    if seconds < 97.5:
        return f"{5 * round(seconds / 5)} s"
    scale = (("min", 60.0, 99.5), ("h", 3600.0, 48.0), ("d", 86400.0, float("inf")))
    unit, length = next((unit, length) for unit, length, most in scale if seconds / length < most)
    value = seconds / length
    return f"{value:.1f} {unit}" if value < 9.95 else f"{float(f'{value:.2g}'):,.0f} {unit}"


def format_duration(seconds: float) -> str:
    """`0.8 s`, `42 s`, `3 min 20 s`, `2 h 05 min`, `3 d 4 h`: two parts at most."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    minutes = round(seconds / 60)
    if minutes < 48 * 60:
        hours, rest = divmod(minutes, 60)
        return f"{hours} h {rest:02d} min" if rest else f"{hours} h"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"
