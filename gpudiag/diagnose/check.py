"""④ One rule against one run: it fires, it does not, or it cannot be checked, and why."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiag.diagnose.compiled import CompiledRule
from gpudiag.diagnose.episodes import episodes_of
from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.model import Episode
from gpudiag.diagnose.truth import Unknown
from gpudiag.signals.clock import Clock, Mask

NO_CLOCK = "the times of the samples are not known"


@dataclass(frozen=True)
class Hit:
    """A rule that fires, on `gpu` or (None) on the run, and when, if it is about episodes."""

    gpu: int | None
    episodes: tuple[Episode, ...] = ()


@dataclass(frozen=True)
class Result:
    """Where a rule fires; `unknown` is set where it fires nowhere and could not be checked."""

    hits: tuple[Hit, ...]
    unknown: Unknown | None = None


def check(rule: CompiledRule, evaluator: Evaluator, clock: Clock) -> Result:
    """Check `rule` once, or on each GPU of the run."""
    gpus: tuple[int | None, ...] = (None,)
    if rule.rule.scope == "gpu":
        gpus = evaluator.signals.gpus
        if not gpus:
            return Result((), Unknown((evaluator.signals.why_no_gpus,)))
    found = [_on(gpu, rule, evaluator, clock) for gpu in gpus]
    hits = tuple(hit for hit in found if isinstance(hit, Hit))
    unknown = Unknown.of(*found)
    return Result(hits, unknown if unknown.reasons and not hits else None)


def _on(
    gpu: int | None, rule: CompiledRule, evaluator: Evaluator, clock: Clock
) -> Hit | Unknown | None:
    if rule.when.kind == "condition":
        held = evaluator.condition(rule.when, gpu)
        if isinstance(held, Unknown):
            return held
        return Hit(gpu) if held else None
    if not clock.known and (rule.rule.for_s or rule.rule.bridge_s):
        return Unknown((NO_CLOCK,))
    truth = evaluator.truth(rule.when, gpu)
    episodes = _episodes(truth.true, rule, clock)
    if episodes:
        return Hit(gpu, episodes)
    open_ticks = truth.open
    if open_ticks.any() and _episodes(truth.true | open_ticks, rule, clock):
        return truth.unknown
    if truth.gap.all():
        return Unknown((f"{rule.when.text} has no reading at all",))
    return None


def _episodes(holds: Mask, rule: CompiledRule, clock: Clock) -> tuple[Episode, ...]:
    """The episodes of `holds`, none where they are too small a share of the recording."""
    episodes = episodes_of(holds, clock, rule.rule.for_s, rule.rule.bridge_s)
    total = sum(episode.end_s - episode.start_s for episode in episodes)
    return episodes if total >= rule.rule.min_share * clock.wall else ()
