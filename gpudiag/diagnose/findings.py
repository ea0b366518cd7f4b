"""④ From a rule that fired to a Finding: how bad, how sure, what it costs, why, what to do.

A rule of scope "gpu" gives one finding for all GPUs on which it fires. Its cost is the mean over
the GPUs of the run (a GPU on which it does not fire costs nothing); severity and confidence are
those of the worst GPU: the one of the highest severity, then of the highest cost of its own. That
GPU's figures fill the texts. A cause holds if it holds on one of the GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from gpudiag.diagnose.check import Hit
from gpudiag.diagnose.compiled import CompiledCause, CompiledRule
from gpudiag.diagnose.episodes import union
from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.explain import why_false
from gpudiag.diagnose.holes import Filling, Text, fill, fill_code, fill_or_dots
from gpudiag.diagnose.model import (
    SEVERITIES,
    CauseVerdict,
    Confidence,
    Finding,
    Level,
    Severity,
)
from gpudiag.diagnose.nodes import Node
from gpudiag.diagnose.truth import Figure, Unknown
from gpudiag.gpu_names import gpu_name, gpus_in_words
from gpudiag.language import tr

MOST_GPUS_IN_EVIDENCE = 8
IDLE_SERVER = (
    "The command is a server: its GPUs idle while no request is there, which is no fault. Judge it "
    "by its own throughput and latency under load."
)


@dataclass(frozen=True)
class _Place:
    """One GPU on which the rule fires (or the run), with its own cost and severity."""

    gpu: int | None
    own_cost: float
    severity: Severity


def finding_from(rule: CompiledRule, hits: tuple[Hit, ...], evaluator: Evaluator) -> Finding:
    """The finding of `rule`, which fires at `hits` (at least one)."""
    own = [_cost(rule, hit.gpu, evaluator) for hit in hits]
    cost = _merged(rule, own, evaluator)
    places = [
        _Place(
            hit.gpu,
            0.0 if isinstance(mine, Unknown) else mine,
            cast(Severity, _rung(rule.severity, "info", evaluator, hit.gpu, cost)),
        )
        for hit, mine in zip(hits, own, strict=True)
    ]
    # ties go to the lowest number, since max() takes the first
    places.sort(key=lambda p: (SEVERITIES.index(p.severity), p.own_cost), reverse=True)
    worst = places[0]
    gpus = tuple(hit.gpu for hit in hits if hit.gpu is not None)
    fillings = [Filling(evaluator, place.gpu, gpus, cost) for place in places]
    confidence = _rung(rule.confidence, "watch", evaluator, worst.gpu, cost)
    known = None if isinstance(cost, Unknown) else cost
    made = Finding(
        rule.rule,
        worst.severity,
        cast(Confidence, confidence),
        fill(rule.summary, fillings[0]) or rule.rule.title,
        gpus,
        known,
        _bound(rule, known, evaluator),
        union([hit.episodes for hit in hits]),
        _evidence(rule.evidence, fillings),
        tuple(_verdict(cause, fillings) for cause in rule.causes),
    )
    return _of_a_server(made) if made.rule.family == "input" and _serves(evaluator) else made


def _bound(rule: CompiledRule, cost: float | None, evaluator: Evaluator) -> float | None:
    """1/(1-cost), and no more than what the rule's own remedy can reach.

    A cost is measured, so it may be too low: for a bound its error counts on top.
    """
    if not rule.rule.bound or cost is None or cost >= 1:
        return None
    most, error = (
        Unknown(()) if node is None else evaluator.figure(node)
        for node in (rule.bound_most, rule.cost_error)
    )
    high = cost if isinstance(error, Unknown) else cost + max(error, 0.0)
    bound = 1 / (1 - (high if high < 1 else cost))
    return bound if isinstance(most, Unknown) else min(bound, max(most, 1.0))


def _serves(evaluator: Evaluator) -> bool:
    value = evaluator.signals.get("serves_requests")
    return isinstance(value, float) and value >= 1


def _of_a_server(finding: Finding) -> Finding:
    """What a server's GPUs do between requests is no loss, and advice on training is none to it."""
    return replace(
        finding,
        severity="info",
        summary=tr(IDLE_SERVER),
        cost=None,
        bound=None,
        evidence=finding.evidence[:1],
        causes=(),
    )


def _cost(rule: CompiledRule, gpu: int | None, evaluator: Evaluator) -> Figure:
    """A share from 0 to 1: an estimate can fall outside, time lost cannot."""
    if rule.cost is None:
        return Unknown(("the rule gives no cost",))
    figure = evaluator.figure(rule.cost, gpu)
    return figure if isinstance(figure, Unknown) else min(max(figure, 0.0), 1.0)


def _merged(rule: CompiledRule, own: list[Figure], evaluator: Evaluator) -> Figure:
    if rule.rule.scope == "run":
        return own[0]
    known = [cost for cost in own if not isinstance(cost, Unknown)]
    return sum(known) / len(evaluator.signals.gpus) if known else Unknown.of(*own)


def _rung(
    ladder: tuple[tuple[Level, Node], ...],
    lowest: str,
    evaluator: Evaluator,
    gpu: int | None,
    cost: Figure,
) -> str:
    held = [level.level for level, when in ladder if evaluator.condition(when, gpu, cost) is True]
    return held[-1] if held else lowest


def _evidence(texts: tuple[Text, ...], fillings: list[Filling]) -> tuple[str, ...]:
    """The texts without a missing hole; one that names its {gpu} is said of each GPU, and once of
    those of which it says the same."""
    said: list[str] = []
    for text in texts:
        if any(not isinstance(part, str) and part.place == "gpu" for part in text):
            said += _of_each(text, fillings)
        elif (filled := fill(text, fillings[0])) is not None:
            said.append(filled)
    return tuple(said)


def _of_each(text: Text, fillings: list[Filling]) -> list[str]:
    alike: dict[str, list[int]] = {}
    for filling in fillings:
        filled = fill(text, filling)
        if filled is not None and filling.gpu is not None:
            without = filled.replace(f"GPU {gpu_name(filling.gpu)}", "\0")
            alike.setdefault(without, []).append(filling.gpu)
    # the worst GPUs stand first in `fillings`; they are told in the order of their numbers
    groups = sorted((sorted(gpus), said) for said, gpus in [*alike.items()][:MOST_GPUS_IN_EVIDENCE])
    told = [said.replace("\0", gpus_in_words(gpus)) for gpus, said in groups]
    return [text[:1].upper() + text[1:] for text in told]


def _verdict(cause: CompiledCause, fillings: list[Filling]) -> CauseVerdict:
    """What became of a cause: the worst GPU on which it holds speaks for it."""
    held = [filling.evaluator.condition(cause.when, filling.gpu) for filling in fillings]
    unknown = Unknown.of(*held)
    place = next((f for f, value in zip(fillings, held, strict=True) if value is True), fillings[0])
    filled = replace(
        cause.cause,
        remedies=tuple(
            replace(remedy, text=fill_or_dots(text, place), code=fill_code(code, place))
            for remedy, (text, code) in zip(cause.cause.remedies, cause.remedies, strict=True)
        ),
    )
    if any(value is True for value in held):
        return CauseVerdict(filled, "holds", fill(cause.evidence, place) or "")
    if unknown.reasons:
        return CauseVerdict(filled, "unknown", "", unknown.reasons)
    why = why_false(cause.when, place.evaluator, place.gpu)
    return CauseVerdict(filled, "ruled out", why)
