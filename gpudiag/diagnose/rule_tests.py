"""④ The tests in a rule's own file: a synthetic recording each, read as a real one would be."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gpudiag.diagnose.compiled import CompiledRule, compile_rule
from gpudiag.diagnose.engine import evaluate
from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.model import Check, Finding, Rule, RuleTest
from gpudiag.diagnose.nodes import Node, vocabulary
from gpudiag.diagnose.series import parse_series
from gpudiag.diagnose.thresholds import limits_from
from gpudiag.diagnose.truth import Unknown
from gpudiag.errors import RuleError
from gpudiag.signals.base import REGISTRY
from gpudiag.signals.compute import SignalSet
from gpudiag.timeline.columns import parse_name
from gpudiag.timeline.model import Source, Timeline
from gpudiag.timeline.runcsv import NAME as RUN_CSV
from gpudiag.timeline.runcsv_meta import Meta

COMMAND = ["python", "train.py"]


@dataclass(frozen=True)
class RuleTestResult:
    """What became of one test: `failure` is empty if it passed; `figures` are what decided."""

    rule: Rule
    test: RuleTest
    failure: str
    figures: tuple[str, ...]


def run_rule_tests(rules: Iterable[Rule]) -> tuple[RuleTestResult, ...]:
    """Run every test of `rules`, each rule on its own. Raises RuleError on a damaged rule."""
    symbols = vocabulary(REGISTRY)
    results = []
    for rule in rules:
        compiled = compile_rule(rule, symbols)
        results += [_run(compiled, test) for test in rule.tests]
    return tuple(results)


def _run(compiled: CompiledRule, test: RuleTest) -> RuleTestResult:
    evaluator = Evaluator(SignalSet(timeline_of(test), limits_from([compiled.rule])))
    findings, (check,) = evaluate([compiled], evaluator)
    failure = _failure(test, findings, check)
    return RuleTestResult(compiled.rule, test, failure, _figures(compiled, evaluator))


def _failure(test: RuleTest, findings: tuple[Finding, ...], check: Check) -> str:
    reasons = "; ".join(check.missing)
    if not findings:
        if test.fires:
            why = f"it could not be checked, because {reasons}" if reasons else "it was silent"
            return f"must fire, but {why}"
        if check.outcome == "unchecked" and not test.unchecked:
            return (
                f"silent only because it could not be checked ({reasons}); "
                "if that is what the test is about, add: unchecked = true"
            )
        if test.unchecked and check.outcome != "unchecked":
            return "must be unchecked, but it was checked and silent"
        return ""
    (finding,) = findings
    if not test.fires:
        return f"must be silent, but it fires: {finding.summary}"
    wrong = []
    for cause in finding.causes:
        if cause.cause.name in test.holds and cause.verdict != "holds":
            because = f" ({'; '.join(cause.missing)})" if cause.missing else ""
            wrong.append(f"cause {cause.cause.name!r} must hold, but is {cause.verdict}{because}")
    return "; ".join(wrong)


def timeline_of(test: RuleTest) -> Timeline:
    """The recording that `test` describes.

    It has every GPU that a series names, its facts read by the code that reads run.csv. With a
    series of the CPU side it was recorded with a command; with GPU series alone it is a log that
    says nothing of one. `start`, `end` and `events` of the test add to that, or replace it.
    Raises RuleError where they make no sense.
    """
    columns = {_in_file(name): parse_series(text) for name, text in test.series.items()}
    length = len(next(iter(columns.values())))
    times = np.arange(1, length + 1) * test.interval_s
    frame = pd.DataFrame(columns, index=pd.Index(times, name="t_s", dtype=np.float64))
    meta = _facts(test, columns.keys(), float(times[-1]))
    source = Source(
        path=test.name,
        format=RUN_CSV,
        rows=length,
        header_rows=1,
        span_s=float(times[-1] - times[0]),
        interval_s=test.interval_s,
    )
    return Timeline(frame, meta.start, source, tuple(meta.events), meta.end)


def _in_file(name: str) -> str:
    return f"gpu0_{name[4:]}" if name.startswith("gpu_") else name


def _facts(test: RuleTest, columns: Iterable[str], end_s: float) -> Meta:
    """Start, events and end of `test`, through the reader's own checks."""
    devices = [found[1] for found in map(parse_name, columns) if found]
    gpus = [{"index": number} for number in sorted({n for n in devices if n is not None})]
    start = {"interval_s": test.interval_s, "gpus": gpus, **test.start}
    if None in devices:
        start = {"command": COMMAND, **start}
    frameworks = start.pop("frameworks", [])
    events = [
        {"t_s": 0.0, "kind": "framework", "text": f"{name} seen", "data": {"name": name}}
        for name in frameworks
    ]
    lines = [("start", start), *(("event", event) for event in [*events, *test.events])]
    if test.end:
        lines.append(("end", {"t_s": end_s, **test.end}))
    comments = [f"# {kind} {json.dumps(facts, default=str)}".encode() for kind, facts in lines]
    meta = Meta.of(enumerate(comments, start=1))
    wrong = [*(dropped.text for dropped in meta.dropped), *meta.notes]
    if wrong:
        raise RuleError(f"test {test.name!r}: {'; '.join(wrong)}")
    return meta


def _figures(compiled: CompiledRule, evaluator: Evaluator) -> tuple[str, ...]:
    """The figures that decide whether the rule fires and which of its causes hold."""
    said: dict[str, None] = {}
    gpus = evaluator.signals.gpus if compiled.rule.scope == "gpu" else (None,)
    for node in (compiled.when, *(cause.when for cause in compiled.causes)):
        for part in _deciding(node):
            for gpu in gpus if part.per_gpu else (None,):
                value = evaluator.figure(part, gpu)
                where = "" if gpu is None else f" of GPU {gpu}"
                known = (
                    f"missing: {'; '.join(value.reasons)}"
                    if isinstance(value, Unknown)
                    else f"{value:.4g}"
                )
                said[f"{part.text}{where} = {known}"] = None
    return tuple(said)


def _deciding(node: Node) -> list[Node]:
    """The figures on the sides of its comparisons, as the rule writes them."""
    if node.kind == "figure":
        return [] if node.op == "number" else [node]
    return [part for arg in node.args for part in _deciding(arg)]
