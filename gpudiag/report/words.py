"""⑤ Costs, times and names in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gpudiag.diagnose.model import Confidence
from gpudiag.gpu_names import gpus_in_words
from gpudiag.language import current, tr
from gpudiag.report.labels import number, percent
from gpudiag.units import format_duration

FRAMEWORKS = {
    "any": "any framework",
    "pytorch": "PyTorch",
    "lightning": "Lightning",
    "transformers": "Transformers",
    "paddle": "PaddlePaddle",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
}
CONFIDENCE: dict[Confidence, str] = {
    "watch": "the recording is too short or too coarse to be sure",
    "likely": "the signs agree; an experiment would settle it",
    "confirmed": "the signs agree, and for long enough",
}
SYMBOLS = {"problem": "!", "healthy": "✓", "cannot tell": "?"}
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def state_words(state: str) -> str:
    """`Problem`, `Healthy`, `Cannot tell`."""
    return tr(state.capitalize())


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def verdict(text: str) -> str:
    """The sentence of a verdict as it stands beside the state, which it need not say again."""
    return sentence(text.removeprefix(tr("Cannot tell: ")))


def gpu_time(gpu_s: float) -> str:
    """Time of one GPU: `38 GPU-seconds`, `41 GPU-minutes`, `12.3 GPU-hours`."""
    for text, seconds in (("{time} GPU-hours", 3600.0), ("{time} GPU-minutes", 60.0)):
        if gpu_s >= 2 * seconds:
            return tr(text, time=number(gpu_s / seconds))
    return tr("{time} GPU-seconds", time=f"{gpu_s:.1f}")


def cost_words(cost: float | None, total_gpu_s: float) -> str:
    """`66 % of the run's GPU time (41 GPU-minutes)`, or that it cannot be given as a figure."""
    if cost is None:
        return tr("no figure can honestly be given")
    if total_gpu_s <= 0:
        return tr("{share} of the run's GPU time", share=percent(cost))
    return tr(
        "{share} of the run's GPU time ({time})",
        share=percent(cost),
        time=gpu_time(cost * total_gpu_s),
    )


def bound_words(bound: float | None, cost: float | None = None) -> str:
    """`at most 2.9× as fast if all of it went away`; empty if no bound can be given.

    A bound below what the cost allows is that of the advice, e.g. of as many workers as there are
    cores for, and is said to be.
    """
    if bound is None:
        return ""
    digits = 1 if bound >= 1.1 else 2
    capped = cost is not None and cost < 1 and bound < 0.99 / (1 - cost)
    return tr(
        "at most {factor}× as fast with what the cores allow"
        if capped
        else "at most {factor}× as fast if all of it went away",
        factor=f"{bound:.{digits}f}",
    )


def stakes(
    cost: float | None, bound: float | None, confidence: Confidence, total_gpu_s: float
) -> tuple[tuple[str, str, str], ...]:
    """What a finding costs, what could be gained, how sure it is: heading, figure, the rest."""
    rows = []
    if cost is None:
        rows.append((tr("Cost"), tr("No figure"), tr("can honestly be given")))
    else:
        rest = (
            tr("of the run's GPU time, {time}", time=gpu_time(cost * total_gpu_s))
            if total_gpu_s > 0
            else tr("of the run's GPU time")
        )
        rows.append((tr("Cost"), percent(cost), rest))
    if bound is not None:
        figure, rest = bound_words(bound, cost).split("×", 1)
        rows.append((tr("Possible gain"), figure.capitalize() + "×", rest.strip()))
    sure = tr("Not sure yet") if confidence == "watch" else tr(confidence.capitalize())
    rows.append((tr("How sure"), sure, tr(CONFIDENCE[confidence])))
    return tuple(rows)


def where(gpus: Sequence[int]) -> str:
    """`the whole run`, `GPU 3`, `GPUs 0, 1 and 3`, `GPUs 0 to 7`."""
    return gpus_in_words(gpus) if gpus else tr("the whole run")


def moment(iso: object) -> str:
    """`3 Jul 2026, 14:02:07 +02:00` from an ISO time; empty if it is none."""
    try:
        time = datetime.fromisoformat(str(iso))
    except ValueError:
        return ""
    offset = time.strftime("%z")
    zone = f" {offset[:3]}:{offset[3:5]}" if offset else ""
    if current() == "zh":
        return f"{time:%Y-%m-%d %H:%M:%S}{zone}"
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}, {time:%H:%M:%S}{zone}"


def at(seconds: float, *, time_known: bool) -> str:
    """A moment of the run: `after 3 min 20 s`, or `at sample 200`."""
    if time_known:
        return tr("after {time}", time=format_duration(seconds))
    return tr("at sample {number}", number=f"{seconds:,.0f}")
