"""⑤ The words of a comparison: outcomes, and figures with their units."""

from __future__ import annotations

from gpudiag.compare.model import Outcome, Quantity
from gpudiag.language import tr
from gpudiag.report.labels import label, mebibytes, number
from gpudiag.report.words import sentence
from gpudiag.units import format_duration

SYMBOLS: dict[Outcome, str] = {
    "faster": "↑", "slower": "↓", "no difference": "=", "cannot tell": "?",
}  # fmt: skip
_WORDS: dict[Outcome, str] = {
    "faster": "Faster",
    "slower": "Slower",
    "no difference": "No difference shown",
    "cannot tell": "Cannot tell",
}
_STATES: dict[Outcome, str] = {"faster": "healthy", "slower": "problem"}
_TITLES = {
    "run_s": "recorded time",
    "active_s": "active time, pauses included",
    "busy_gpus": "GPU work a second",
    "util_pct": "mean utilisation",
    "mem_peak_mib": "the most memory that a GPU held",
    "power_w": "power of the GPUs",
    "energy_wh": "energy of the GPUs",
    "host_mem_used_mib": "the most main memory in use",
}
_UNITS = {"GPUs": "busy GPUs", "cores": "cores"}


def state_of(outcome: Outcome) -> str:
    """The state of a report that has the same colour."""
    return _STATES.get(outcome, "cannot tell")


def state_words(outcome: Outcome) -> str:
    """`Faster`, `Slower`, `No difference shown`, `Cannot tell`."""
    return tr(_WORDS[outcome])


def quantity_row(quantity: Quantity) -> tuple[str, str, str, str]:
    """Title, before, after, and the change with its interval, in words."""
    named = _TITLES.get(quantity.name)
    found = None if named else label(quantity.name)
    title = tr(named) if named else found.title if found else quantity.name
    return (
        sentence(title),
        _figure(quantity.before, quantity.unit),
        _figure(quantity.after, quantity.unit),
        _moved(quantity),
    )


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    if unit == "s":
        return format_duration(value)
    if unit == "MiB":
        return mebibytes(value)
    return f"{number(value)} {tr(_UNITS[unit]) if unit in _UNITS else unit}".strip()


def _moved(quantity: Quantity) -> str:
    change = quantity.change
    if change is None:
        return ""
    text = _signed(change.value, quantity.unit)
    if change.low is None or change.high is None or change.high == change.low:
        return text
    half = float(f"{(change.high - change.low) / 2:.1g}")
    return tr("{change} (± {half})", change=text, half=number(half))


def signed(value: float) -> str:
    """`+3`, `−3`, `±0`."""
    sign = "−" if value < 0 else "+" if value > 0 else "±"
    return f"{sign}{number(abs(value))}"


def _signed(value: float, unit: str) -> str:
    if unit == "%":
        return tr("{points} points", points=signed(value))
    text = _figure(abs(value), unit)
    if text == _figure(0.0, unit):
        return "±0"
    return f"{'−' if value < 0 else '+'}{text}"
