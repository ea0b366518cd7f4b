"""④ Timeline in, Diagnosis out: every rule checked, findings by cost, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpudiag.diagnose.check import Result, check
from gpudiag.diagnose.cluster import (
    BETWEEN,
    checks_of,
    findings_of,
    ledger_of,
    own_diagnoses,
    split,
)
from gpudiag.diagnose.compiled import CompiledRule, compile_rule
from gpudiag.diagnose.evaluate import Evaluator, Signals
from gpudiag.diagnose.findings import finding_from
from gpudiag.diagnose.framework import framework_of
from gpudiag.diagnose.holes import Filling, fill_sentences, missing_of
from gpudiag.diagnose.ledger import time_ledger
from gpudiag.diagnose.load import load_rules
from gpudiag.diagnose.model import SEVERITIES, Check, Diagnosis, Finding, Rule
from gpudiag.diagnose.nodes import vocabulary
from gpudiag.diagnose.thresholds import changes, limits_from
from gpudiag.diagnose.truth import Unknown
from gpudiag.diagnose.verdict import Facts, limits_of, verdict_of
from gpudiag.diagnose.wording import spoken
from gpudiag.gpu_names import named, names_of
from gpudiag.language import retold, tr
from gpudiag.signals.base import REGISTRY
from gpudiag.signals.clock import clock_of
from gpudiag.signals.compute import SignalSet
from gpudiag.signals.used import used_gpus
from gpudiag.timeline.cluster.model import ClusterTimeline
from gpudiag.timeline.model import Event, Timeline

HEADLINES = (
    "recording_s",
    "active_s",
    "start_up_s",
    "stall_share",
    "pause_share",
    "effective_cores",
)


def diagnose(timeline: Timeline, rules: Sequence[Rule] | None = None) -> Diagnosis:
    """What is wrong with the run, by cost; `rules` are the built-in ones unless given.

    Raises RuleError only where the built-in rules cannot be read.
    """
    chosen = load_rules() if rules is None else rules
    # cells may be near the largest figure there is: what overflows becomes unknown, silently
    with np.errstate(all="ignore"):
        if isinstance(timeline, ClusterTimeline):
            with named(names_of(timeline.start)):
                return _diagnose_machines(timeline, chosen)
        return _diagnose(timeline, [rule for rule in chosen if rule.name not in BETWEEN])


def _diagnose_machines(timeline: ClusterTimeline, chosen: Sequence[Rule]) -> Diagnosis:
    """The GPUs of all machines beside each other, and each machine for itself."""
    across, within = split(chosen)
    signals = SignalSet(_with_used(timeline), limits_from(chosen))
    evaluator = Evaluator(signals)
    symbols = vocabulary(REGISTRY)
    found, checks = evaluate([compile_rule(spoken(rule), symbols) for rule in across], evaluator)
    own = own_diagnoses(timeline, within)
    findings = tuple(sorted([*found, *findings_of(own)], key=_order))
    order = {rule.code: place for place, rule in enumerate(chosen)}
    every = tuple(sorted([*checks, *checks_of(own)], key=lambda check: order[check.rule.code]))
    cpu_side = all(node.timeline.column("main_cpu_pct") is not None for node in timeline.nodes)
    facts = replace(Facts.of(evaluator), cpu_side=cpu_side)
    state, sentence = verdict_of(facts, findings, every)
    return Diagnosis(
        state,
        sentence,
        findings,
        every,
        ledger_of(own),
        framework_of(timeline.nodes[0].timeline),
        (*limits_of(facts), *changes(chosen)),
        _figures(signals),
    )


def _with_used(timeline: ClusterTimeline) -> ClusterTimeline:
    """With the GPUs that the run uses as each machine's own recording tells them."""
    gpus: list[int] = []
    reasons: dict[str, None] = {}
    for node in timeline.nodes:
        used = used_gpus(node.timeline)
        gpus += [node.numbers[gpu] for gpu in used.gpus]
        reasons[used.reason] = None
    data = {"gpus": gpus, "reason": "; ".join(reasons)}
    event = Event(0.0, "gpus-used", "those of each machine", data)
    return replace(timeline, events=(*timeline.events, event))


def _diagnose(timeline: Timeline, chosen: Sequence[Rule]) -> Diagnosis:
    symbols = vocabulary(REGISTRY)
    signals = SignalSet(timeline, limits_from(chosen))
    evaluator = Evaluator(signals)
    findings, checks = evaluate([compile_rule(spoken(rule), symbols) for rule in chosen], evaluator)
    facts = Facts.of(evaluator)
    state, sentence = verdict_of(facts, findings, checks)
    return Diagnosis(
        state,
        sentence,
        findings,
        checks,
        time_ledger(signals),
        framework_of(timeline),
        (*limits_of(facts), *changes(chosen)),
        _figures(signals),
    )


def evaluate(
    rules: Sequence[CompiledRule], evaluator: Evaluator
) -> tuple[tuple[Finding, ...], tuple[Check, ...]]:
    """The findings of `rules`, in the order they are said, and what became of each rule."""
    clock = clock_of(evaluator.signals.timeline)
    results = [(rule, check(rule, evaluator, clock)) for rule in rules]
    fired = {rule.rule.name: rule.rule for rule, result in results if result.hits}
    superseded = {name for rule in fired.values() for name in rule.supersedes}
    findings = [
        finding_from(rule, result.hits, evaluator)
        for rule, result in results
        if result.hits and rule.rule.name not in superseded
    ]
    checks = tuple(_check(rule, result, superseded, evaluator) for rule, result in results)
    return tuple(sorted(findings, key=_order)), checks


def _order(finding: Finding) -> tuple[bool, float, int, str]:
    """By cost, then severity; but what ends the run (critical) is said before what slows it."""
    return (
        finding.severity != "critical",
        -(finding.cost or 0.0),
        -SEVERITIES.index(finding.severity),
        finding.rule.code,
    )


def _check(rule: CompiledRule, result: Result, superseded: set[str], evaluator: Evaluator) -> Check:
    if result.hits:
        return Check(rule.rule, "superseded" if rule.rule.name in superseded else "fired", "")
    reasons = result.unknown.reasons if result.unknown else _not_fine(rule, evaluator)
    if reasons:
        return Check(
            rule.rule,
            "unchecked",
            tr("not checked, because {reasons}", reasons=tr("; ").join(map(retold, reasons))),
            reasons,
        )
    return Check(rule.rule, "fine", fill_sentences(rule.fine, Filling(evaluator)))


def _not_fine(rule: CompiledRule, evaluator: Evaluator) -> tuple[str, ...]:
    """Why a rule that does not fire is not called fine: what could have shown the fault is lacking.

    An `and` is false as soon as one side is, e.g. because the run was given no GPUs, and then
    nothing is known of the fault itself.
    """
    reasons: dict[str, None] = {}
    for when, otherwise in rule.fine_needs:
        held = evaluator.condition(when)
        if isinstance(held, Unknown):
            reasons.update(dict.fromkeys(held.reasons))
        elif not held:
            reasons[otherwise] = None
    if not reasons and not fill_sentences(rule.fine, Filling(evaluator)):
        return missing_of(rule.fine, Filling(evaluator))
    return tuple(reasons)


def _figures(signals: Signals) -> dict[str, float]:
    """The headline figures that are known."""
    values = {name: signals.get(name) for name in HEADLINES if name in REGISTRY}
    return {name: float(value) for name, value in values.items() if isinstance(value, float)}
