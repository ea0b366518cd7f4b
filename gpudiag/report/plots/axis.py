"""⑤ Round ends and ticks for the axes of a figure."""

from __future__ import annotations

import math

_STEPS_S = (
    0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800,
    3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800,
)  # fmt: skip


def nice_top(highest: float) -> float:
    """The end of an axis from 0 that holds `highest`: 1 to 6 or 8 times a power of ten."""
    if not math.isfinite(highest) or highest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(highest))
    for factor in (1, 2, 3, 4, 5, 6, 8, 10):
        if factor * power >= highest * 0.999999:
            return float(factor * power)
    return 10 * power


def time_ticks(start_s: float, end_s: float, most: int = 7) -> list[tuple[float, str]]:
    """Places and texts for a time axis: `0`, `5 min`, `10 min`; one unit for all of them."""
    span = max(end_s - start_s, 1e-9)
    step = next((step for step in _STEPS_S if span / step <= most), None)
    if step is None:
        step = math.ceil(span / most / 604800) * 604800.0
    return [(tick, _time_text(tick, step)) for tick in _multiples(start_s, end_s, step)]


def count_ticks(start: float, end: float, most: int = 7) -> list[tuple[float, str]]:
    """The same for sample numbers."""
    step = max(1.0, nice_top(max(end - start, 1.0) / most))
    return [(tick, f"{tick:,.0f}") for tick in _multiples(start, end, step)]


def _multiples(start: float, end: float, step: float) -> list[float]:
    first, last = math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _time_text(seconds: float, step: float) -> str:
    if seconds == 0:
        return "0"
    if step < 1:
        return f"{seconds:.1f} s"
    if step < 60 or (step < 120 and seconds < 60):
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if step < 3600:
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours} h {minutes:02d}" if minutes else f"{hours} h"
    if step < 86400:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} d"
