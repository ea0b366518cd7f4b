"""④ The verdict on a run: a problem, healthy, or "cannot tell, because …", as one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.expression import parse
from gpudiag.diagnose.model import Check, Finding, State
from gpudiag.diagnose.nodes import Context, Symbol, vocabulary
from gpudiag.diagnose.truth import Figure, Unknown
from gpudiag.language import retold, tr
from gpudiag.timeline.columns import parse_name
from gpudiag.timeline.model import Timeline
from gpudiag.units import format_duration

SHORTEST_S = 30.0  # of active time: before that not even a gross fault is told from a slow start
# MLPerf Storage asks for 90 % use of an accelerator: idle time above the rest wants a reason.
UNEXPLAINED = 0.10
COARSE_S = 5.0  # steps and stalls are shorter than this
ESSENTIAL = {
    "input": "the input pipeline",
    "memory": "memory",
    "multi-gpu": "the balance of the GPUs",
}
RECORD = "record a run with: gpudiag record -- python train.py"
_NAMES = Context({**vocabulary({}), "active_s": Symbol("figure", per_gpu=False)})
_ACTIVE = parse("active_s", _NAMES, "figure")
_IDLE = parse("1 - gpus_mean(mean(gpu_util_pct)) / 100", _NAMES, "figure")


@dataclass(frozen=True)
class Facts:
    """What was recorded at all. `idle` is the share of the active time without a running kernel."""

    timeline: Timeline
    gpus: tuple[int, ...]
    utilisation: bool
    active_s: Figure
    idle: Figure
    cpu_side: bool

    @staticmethod
    def of(evaluator: Evaluator) -> Facts:
        """The facts of the run of `evaluator`."""
        signals = evaluator.signals
        timeline = signals.timeline
        read = {
            str(name) for name in timeline.frame.columns if timeline.column(str(name)) is not None
        }
        return Facts(
            timeline,
            signals.gpus,
            any(f"gpu{gpu}_util_pct" in read for gpu in signals.gpus),
            evaluator.figure(_ACTIVE),
            evaluator.figure(_IDLE),
            any(name.startswith(("main_", "workers", "host_")) for name in read),
        )

    @property
    def has_gpu_readings(self) -> bool:
        """Whether any GPU gave any reading."""
        columns = [str(name) for name in self.timeline.frame.columns]
        found = [
            name for name in columns if (parsed := parse_name(name)) and parsed[0].scope == "gpu"
        ]
        return any(self.timeline.column(name) is not None for name in found)


def verdict_of(
    facts: Facts, findings: Sequence[Finding], checks: Sequence[Check]
) -> tuple[State, str]:
    """The state and its sentence.

    A finding above "info" is a problem. Without one, a run is healthy only where time, utilisation,
    enough active time and the CPU side are known, at least one rule of each essential family could
    be checked, and no idle time is left without a reason.
    """
    problems = [finding for finding in findings if finding.severity != "info"]
    if problems:
        return "problem", _problem(problems)
    reason = _no_basis(facts)
    if reason or isinstance(facts.idle, Unknown):
        return "cannot tell", reason or _cannot_tell(facts.idle)
    busy = _busy(facts, facts.idle)
    reason = _open_question(facts, facts.idle, findings, checks)
    if reason:
        return "cannot tell", reason
    done = sum(check.outcome != "unchecked" for check in checks)
    return "healthy", tr("No problem was found in {count} checks. {busy}.", count=done, busy=busy)


def _problem(problems: list[Finding]) -> str:
    top = problems[0]
    sentence = top.summary if top.summary.endswith((".", "!", "?", "。")) else top.summary + tr(".")
    if top.bound is not None and top.bound >= 1.005:
        capped = top.cost is not None and top.bound < 0.99 / (1 - top.cost)
        sentence = tr(
            "{said} With what the cores allow the run would be at most {factor} times as fast."
            if capped
            else "{said} Fixing this could make the run at most {factor} times as fast.",
            said=sentence,
            factor=f"{top.bound:.2g}",
        )
    if len(problems) > 1:
        rest = len(problems) - 1
        sentence = tr(
            "{said} 1 more problem was found."
            if rest == 1
            else "{said} {count} more problems were found.",
            said=sentence,
            count=rest,
        )
    return sentence


def _no_basis(facts: Facts) -> str:
    """What the recording lacks for any verdict; empty if nothing."""
    timeline = facts.timeline
    if timeline.frame.empty:
        return tr("Cannot tell: the recording holds no samples.")
    if not facts.has_gpu_readings:
        return tr("Cannot tell: no GPU data was recorded{source}.", source=_gpu_source(timeline))
    if not facts.utilisation:
        return _cannot_tell(facts.idle)
    if not timeline.source.time_known:
        if isinstance(facts.idle, Unknown):
            return tr("Cannot tell: the times of the samples are not known.")
        return tr(
            "Cannot tell: the times of the samples are not known. {busy}.",
            busy=_busy(facts, facts.idle),
        )
    if isinstance(facts.active_s, Unknown):
        return _cannot_tell(facts.active_s)
    if facts.active_s < SHORTEST_S:
        return tr(
            "Too short for a verdict: the GPUs were active for {active}, and {needed} are needed.",
            active=format_duration(facts.active_s),
            needed=format_duration(SHORTEST_S),
        )
    return ""


def _open_question(
    facts: Facts, idle: float, findings: Sequence[Finding], checks: Sequence[Check]
) -> str:
    """Why a run that was measured is not called healthy; empty if it may be."""
    busy = _busy(facts, idle)
    if not facts.cpu_side and idle > UNEXPLAINED:
        return tr("{busy}; the cause was not recorded.", busy=busy)
    if not facts.cpu_side:
        return tr("{busy}; no more is known, for only the GPU side was recorded.", busy=busy)
    unchecked = _unchecked(facts, checks)
    if unchecked:
        return tr("Cannot tell: {reason}. {busy}.", reason=unchecked, busy=busy)
    if idle > UNEXPLAINED and not findings:
        return tr("{busy}, and no rule explains it.", busy=busy)
    return ""


def _gpu_source(timeline: Timeline) -> str:
    source = timeline.start.get("gpu_source")
    text = source.get("text") if isinstance(source, dict) else None
    return f" ({text})" if isinstance(text, str) and text else ""


def _busy(facts: Facts, idle: float) -> str:
    """How busy the GPUs were (how idle, if that is much), as a sentence without its full stop."""
    who = tr("The GPU was") if len(facts.gpus) == 1 else tr("The GPUs were")
    share = (
        tr("idle {share} %", share=f"{100 * idle:.0f}")
        if idle > UNEXPLAINED
        else tr("busy {share} %", share=f"{100 * (1 - idle):.0f}")
    )
    if isinstance(facts.active_s, Unknown):
        return tr("{who} {share} of the active samples", who=who, share=share)
    return tr(
        "{who} {share} of the active time ({time})",
        who=who,
        share=share,
        time=format_duration(facts.active_s),
    )


def _cannot_tell(value: Figure) -> str:
    return tr("Cannot tell: {reason}.", reason=_reasons(value))


def _reasons(value: Figure) -> str:
    return tr("; ").join(map(retold, value.reasons)) if isinstance(value, Unknown) else ""


def _unchecked(facts: Facts, checks: Sequence[Check]) -> str:
    for family, words in ESSENTIAL.items():
        outcomes = [check for check in checks if check.rule.family == family]
        if family == "multi-gpu" and len(facts.gpus) < 2:
            continue
        if outcomes and all(check.outcome == "unchecked" for check in outcomes):
            return tr(
                "{what} could not be checked, because {reasons}",
                what=tr(words),
                reasons=tr("; ").join(map(retold, outcomes[0].missing)),
            )
    return "" if checks else tr("no rule was checked")


def limits_of(facts: Facts) -> tuple[str, ...]:
    """What this recording cannot tell, and what would; each a sentence or two."""
    timeline, limits = facts.timeline, []
    if not facts.has_gpu_readings:
        limits.append(tr("No GPU data was recorded{source}.", source=_gpu_source(timeline)))
    elif not facts.gpus:
        limits.append(
            tr(
                "None of the GPUs that were recorded is known to be the run's: name its GPUs in "
                "CUDA_VISIBLE_DEVICES, or record where the run's processes can be seen."
            )
        )
    elif not facts.utilisation:
        limits.append(tr("The utilisation of the GPUs was not measured: idle time cannot be told."))
    if not facts.cpu_side:
        limits.append(
            tr(
                "Only the GPU side was recorded, so the cause of idle time cannot be told; "
                "{advice}",
                advice=tr(RECORD),
            )
        )
    if not timeline.source.time_known:
        limits.append(
            tr(
                "The times of the samples are not known: there are no durations, rates or "
                "forecasts. Log them with --query-gpu=timestamp,…"
            )
        )
    interval = timeline.source.interval_s
    if timeline.source.time_known and interval is not None and interval > COARSE_S:
        limits.append(
            tr(
                "There is one sample every {interval}: what is shorter is not seen.",
                interval=format_duration(interval),
            )
        )
    if isinstance(facts.active_s, float) and facts.active_s < SHORTEST_S:
        limits.append(tr("The run is too short to judge; record a few minutes of training."))
    if timeline.end is None and timeline.start.get("command"):
        limits.append(tr("The recording was cut short: how the run ended is not known."))
    return tuple(limits)
