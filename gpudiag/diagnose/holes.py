"""④ Texts with {holes}: `{signal}`, `{expression:format}`, `{gpu}`; `{{` and `}}` are braces.

In code a hole may name what is to be tried where its figure is missing: `{signal:int|4}`.

Parsed and checked when the rule is read; filled when it has fired. A hole whose figure is missing
gives None: each place that says a text decides what it then leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.expression import parse
from gpudiag.diagnose.nodes import Context, ExpressionError, Node
from gpudiag.diagnose.truth import Figure, Unknown
from gpudiag.gpu_names import gpu_name, gpus_in_words, node_name
from gpudiag.language import current, retold, tr
from gpudiag.units import format_duration, format_roughly

MAX_PARTS = 200
_TOKEN = re.compile(r"\{\{|\{(?P<hole>[^{}]*)\}|\}\}|\{|\}")
_PLACES = ("gpu", "gpus")
_FALLBACK = re.compile(r"\d{1,6}", re.ASCII)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


def _general(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _percent(value: float) -> str:
    if 0 < value < 0.005:
        return "<1 %"
    if 0.995 <= value < 1:
        return ">99 %"
    return f"{100 * value:.0f} %"


def _mib(value: float) -> str:
    return f"{value / 1024:.1f} GiB" if abs(value) >= 1024 else f"{value:.0f} MiB"


FORMATS: Mapping[str, Callable[[float], str]] = {
    "": _general,
    "pct": _percent,
    "pct1": lambda value: f"{100 * value:.1f} %",
    "pct_cpu": lambda value: f"{value:.0f} %",  # of a column that is in per cent already
    "int": lambda value: f"{value:.0f}",
    "f1": lambda value: f"{value:.1f}",
    "f2": lambda value: f"{value:.2f}",
    "mib": _mib,
    "mib_per_min": lambda value: f"{_general(value)} MiB/min",
    "duration": format_duration,
    "roughly": format_roughly,
    "cores": lambda value: (
        tr("1 core") if value == 1 else tr("{count} cores", count=_general(value))
    ),
    "gpus": lambda value: (
        tr("1 GPU") if f"{value:.0f}" == "1" else tr("{count} GPUs", count=f"{value:.0f}")
    ),
    "x": lambda value: f"{_general(value)}×",
    "gpu": lambda value: gpu_name(round(value)),
    "node": lambda value: node_name(round(value)),
}


@dataclass(frozen=True)
class Hole:
    """A place in a text: a figure and how it is written, or the GPUs of the finding (`place`)."""

    node: Node | None
    form: str = ""
    place: str = ""
    fallback: str = ""


Text = tuple[str | Hole, ...]


@dataclass(frozen=True)
class Filling:
    """What fills holes: the GPU in question, all GPUs of the finding, its cost."""

    evaluator: Evaluator
    gpu: int | None = None
    gpus: tuple[int, ...] = ()
    cost: Figure | None = None


def parse_text(text: str, context: Context) -> Text:
    """The parts of `text`. Raises ExpressionError with the column counted in the whole text."""
    parts: list[str | Hole] = []
    position = 0
    for token in _TOKEN.finditer(text):
        parts.append(text[position : token.start()])
        position = token.end()
        if token["hole"] is not None:
            parts.append(_hole(token["hole"], token.start("hole"), context))
        elif token[0] in ("{{", "}}"):
            parts.append(token[0][0])
        else:
            raise ExpressionError(
                f"a single {token[0]!r} (write {token[0] * 2!r} for a brace)", token.start() + 1
            )
        if len(parts) > MAX_PARTS:
            raise ExpressionError(f"more than {MAX_PARTS // 2} holes and braces", position)
    parts.append(text[position:])
    return tuple(part for part in parts if part != "")


def _hole(inner: str, offset: int, context: Context) -> Hole:
    before, bar, fallback = inner.partition("|")
    expression, colon, form = before.partition(":")
    form, fallback = form.strip(), fallback.strip()
    if bar and not _FALLBACK.fullmatch(fallback):
        raise ExpressionError("after '|' stands a plain figure to try", offset + len(before) + 2)
    if form not in FORMATS or (colon and not form):
        known = ", ".join(name for name in FORMATS if name)
        raise ExpressionError(
            f"unknown format {form[:40]!r} (known: {known})", offset + len(expression) + 2
        )
    if expression.strip() in _PLACES and not colon:
        if not context.per_gpu:
            raise ExpressionError('{gpu} and {gpus} are known where scope = "gpu"', offset + 1)
        return Hole(None, place=expression.strip())
    try:
        return Hole(parse(expression, context, "figure"), form, fallback=fallback)
    except ExpressionError as error:
        raise ExpressionError(error.problem, offset + error.column) from None


def fill(text: Text, filling: Filling) -> str | None:
    """`text` with its holes filled; None if one of them is missing."""
    parts = [_part(part, filling) for part in text]
    return None if None in parts else "".join(part for part in parts if part is not None)


def fill_or_dots(text: Text, filling: Filling) -> str:
    """`text` with its holes filled, and `…` where a figure is missing."""
    return "".join("…" if part is None else part for part in (_part(p, filling) for p in text))


def fill_code(text: Text, filling: Filling) -> str:
    """Code with its holes filled: what stands here is copied, so that no hole may stay.

    A hole without its figure takes what it names to be tried, and the line says so in a comment;
    if it names nothing, there is no code.
    """
    said, notes = "", {}
    for part in text:
        filled = _part(part, filling)
        if isinstance(part, Hole) and part.place == "gpu" and filled:
            filled = filled.rpartition(":")[2]  # where it is typed, the GPU has its own number
        if filled is None and isinstance(part, Hole) and part.fallback:
            why = tr("; ").join(map(retold, missing_of((part,), filling)))
            notes[said.count("\n")] = tr("  # a first try, not computed: {why}", why=why)
            filled = part.fallback
        if filled is None:
            return ""
        said += filled
    return "\n".join(line + notes.get(n, "") for n, line in enumerate(said.split("\n")))


def fill_sentences(text: Text, filling: Filling) -> str:
    """The sentences of `text` whose holes can all be filled."""
    marked = "".join("\0" if part is None else part for part in (_part(p, filling) for p in text))
    between = "" if current() == "zh" else " "
    return between.join(s for s in _SENTENCE_END.split(marked) if s and "\0" not in s)


def missing_of(text: Text, filling: Filling) -> tuple[str, ...]:
    """Why the holes of `text` that cannot be filled are missing."""
    figures = [
        filling.evaluator.figure(part.node, filling.gpu, filling.cost)
        for part in text
        if not isinstance(part, str) and part.node is not None
    ]
    return Unknown.of(*figures).reasons


def _part(part: str | Hole, filling: Filling) -> str | None:
    if isinstance(part, str):
        return part
    if part.node is None:
        if part.place == "gpus":
            return gpus_in_words(filling.gpus)
        return "" if filling.gpu is None else gpu_name(filling.gpu)
    figure = filling.evaluator.figure(part.node, filling.gpu, filling.cost)
    return None if isinstance(figure, Unknown) else FORMATS[part.form](figure)
