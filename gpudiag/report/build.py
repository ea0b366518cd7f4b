"""⑤ From a Diagnosis and a Timeline to the View that every format writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudiag import __version__
from gpudiag.diagnose.model import CauseVerdict, Diagnosis, Finding, Framework, Ledger, Remedy
from gpudiag.gpu_names import named, names_of
from gpudiag.language import tr
from gpudiag.report import words
from gpudiag.report.brief import brief
from gpudiag.report.clean import clean, clean_code
from gpudiag.report.environment import environment, settings
from gpudiag.report.facts import command, facts, repeat, title
from gpudiag.report.labels import percents
from gpudiag.report.quality import quality
from gpudiag.report.reasons import reasons
from gpudiag.report.view import (
    CauseView,
    CheckView,
    Figure,
    FindingView,
    LedgerRow,
    LedgerView,
    RemedyView,
    View,
)
from gpudiag.timeline.cluster.model import ClusterTimeline
from gpudiag.timeline.model import Timeline

_KINDS = {
    "busy": "busy", "input_wait": "input", "main_bound": "main", "unexplained": "unknown",
    "pauses": "pause", "imbalance": "imbalance", "idle_gpus": "idle", "start_up": "start",
    "between": "rest", "after": "rest", "no_data": "nodata",
}  # fmt: skip
_NOT_SEEN = "Not seen in this recording."  # of a rule without words of its own for that
_BUILT_ON: dict[Framework, tuple[Framework, ...]] = {
    "any": ("pytorch", "paddle"),  # not known: what most readers use stands open
    "lightning": ("lightning", "pytorch"),
    "transformers": ("transformers", "pytorch"),
}


def build(diagnosis: Diagnosis, timeline: Timeline, *, figures: bool) -> View:
    """The report on `timeline`. `figures`: draw them (loads matplotlib), as a page needs."""
    with named(names_of(timeline.start)):
        return _build(diagnosis, timeline, figures=figures)


def _build(diagnosis: Diagnosis, timeline: Timeline, *, figures: bool) -> View:
    typed = command(timeline)
    drawn = _figures(diagnosis, timeline) if figures else {}
    total = diagnosis.ledger.wall_s * len(diagnosis.ledger.gpus)
    ledger, fine = _ledger(diagnosis.ledger), _checks(diagnosis, "fine")
    unchecked = _checks(diagnosis, "unchecked")
    findings = tuple(
        _finding(finding, diagnosis.framework, total, drawn.get(f"finding-{place}"))
        for place, finding in enumerate(diagnosis.findings, 1)
    )
    each = [node.timeline for node in getattr(timeline, "nodes", ())] or [timeline]
    recorded = all(one.column("main_cpu_pct") is not None for one in each)
    return View(
        file=clean(timeline.source.path, 300),
        title=title(timeline),
        state=diagnosis.state,
        symbol=words.SYMBOLS[diagnosis.state],
        sentence=words.verdict(clean(diagnosis.sentence, 600)),
        brief=brief(diagnosis.state, ledger, findings, fine, unchecked, recorded=recorded),
        facts=facts(diagnosis, timeline),
        command=typed,
        framework=words.FRAMEWORKS[diagnosis.framework],
        ledger=ledger,
        findings=findings,
        fine=fine,
        superseded=_checks(diagnosis, "superseded"),
        unchecked=unchecked,
        limits=tuple(clean(limit) for limit in diagnosis.limits),
        overview=drawn.get("overview"),
        heat=drawn.get("heat"),
        memory=drawn.get("memory"),
        devices=drawn.get("devices"),
        environment=environment(timeline),
        settings=settings(timeline),
        quality=quality(timeline),
        repeat=repeat(timeline, typed),
        figures=tuple((clean(name, 100), value) for name, value in diagnosis.figures.items()),
        made_by=f"gpudiag {__version__}",
    )


def _figures(diagnosis: Diagnosis, timeline: Timeline) -> dict[str, Figure]:
    from gpudiag.report.plots import choose, machines

    # of one machine every GPU is drawn, of several every machine
    plots: Any = machines if isinstance(timeline, ClusterTimeline) else choose
    drawn: dict[str, Figure | None] = {
        f"finding-{place}": plots.finding_figure(timeline, finding, f"finding-{place}-plot")
        for place, finding in enumerate(diagnosis.findings, 1)
    }
    drawn["overview"] = plots.overview_figure(timeline)
    drawn["heat"] = choose.heat_figure(timeline)
    drawn["memory"] = plots.memory_figure(timeline, diagnosis.findings)
    drawn["devices"] = plots.device_figure(timeline)
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _ledger(ledger: Ledger) -> LedgerView:
    rows, start = [], 0.0
    parts = [part for part in ledger.parts if part.share > 0]
    total = sum(part.gpu_s for part in parts)
    rounded = percents([part.share for part in parts])
    for place, part in enumerate(parts):
        rows.append(
            LedgerRow(
                letter=chr(ord("A") + place % 26),
                name=clean(part.name, 60),
                title=words.sentence(clean(part.title, 120)),
                start=start,
                share=part.share,
                gpu_s=part.gpu_s,
                percent=rounded[place],
                time=words.gpu_time(part.gpu_s),
                kind=_KINDS.get(part.name, "other"),
            )
        )
        start += part.share
    return LedgerView(tuple(rows), words.gpu_time(total), clean(ledger.reason))


def _finding(
    finding: Finding, framework: Framework, total_gpu_s: float, figure: Figure | None
) -> FindingView:
    rule = finding.rule
    return FindingView(
        code=clean(rule.code, 20),
        name=clean(rule.name, 100),
        title=clean(rule.title, 200),
        severity=finding.severity,
        confidence=finding.confidence,
        stakes=words.stakes(finding.cost, finding.bound, finding.confidence, total_gpu_s),
        where=words.where(finding.gpus),
        gpus=finding.gpus,
        node=clean(finding.node, 60),
        summary=clean(finding.summary),
        meaning=clean_code(rule.meaning.strip()),
        cost=finding.cost,
        bound=finding.bound,
        cost_words=words.cost_words(finding.cost, total_gpu_s),
        bound_words=words.bound_words(finding.bound, finding.cost),
        episodes=tuple((episode.start_s, episode.end_s) for episode in finding.episodes),
        evidence=tuple(clean(text) for text in finding.evidence),
        causes=tuple(_cause(cause, framework) for cause in _by_verdict(finding.causes)),
        confirm=clean_code(rule.confirm.strip()),
        figure=figure,
    )


def _by_verdict(causes: Sequence[CauseVerdict]) -> list[CauseVerdict]:
    order = ("holds", "unknown", "ruled out")
    return sorted(causes, key=lambda cause: order.index(cause.verdict))


def _cause(found: CauseVerdict, framework: Framework) -> CauseView:
    suited = _BUILT_ON.get(framework, (framework,))
    general = [remedy for remedy in found.cause.remedies if remedy.framework == "any"]
    own = [r for name in suited for r in found.cause.remedies if r.framework == name != "any"]
    first = found.cause.remedies[:1] == tuple(general[:1])
    mine = [*general, *own] if first else [*own, *general]
    others = [remedy for remedy in found.cause.remedies if remedy not in mine]
    return CauseView(
        name=clean(found.cause.name, 100),
        title=clean(found.cause.title, 200),
        verdict=found.verdict,
        evidence=clean(found.evidence),
        missing=reasons(found.missing),
        remedies=tuple(map(_remedy, mine)),
        others=tuple(map(_remedy, others)),
    )


def _remedy(remedy: Remedy) -> RemedyView:
    return RemedyView(
        framework=words.FRAMEWORKS[remedy.framework],
        text=clean_code(remedy.text.strip()),
        code=clean_code(remedy.code.strip("\n")),
    )


def _checks(diagnosis: Diagnosis, outcome: str) -> tuple[CheckView, ...]:
    return tuple(
        CheckView(
            code=clean(check.rule.code, 20),
            title=clean(check.rule.title, 200),
            text=clean(
                check.text
                if check.text not in (_NOT_SEEN, tr(_NOT_SEEN))
                else tr("{title}: not seen", title=check.rule.title)
            ),
            missing=reasons(check.missing),
        )
        for check in diagnosis.checks
        if check.outcome == outcome and (check.text or check.missing or outcome == "superseded")
    )
