"""④ A run on several machines: what compares GPUs is asked of all, the rest of each machine.

Rules of `ACROSS` look at the GPUs of all machines on one clock. Every other rule (loader, cores,
memory, clocks …) is about one machine and asked of each; where it fires on several, one finding
says so, with the figures of the machine that it costs most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpudiag.diagnose.model import (
    SEVERITIES,
    Check,
    Diagnosis,
    Episode,
    Finding,
    Ledger,
    LedgerPart,
    Outcome,
    Rule,
)
from gpudiag.gpu_names import listed, named
from gpudiag.language import tr
from gpudiag.timeline.cluster.model import ClusterTimeline, Node

ACROSS = frozenset(
    {"uneven-utilisation", "one-gpu-out-of-step", "memory-skew", "mixed-gpus", "node-out-of-step"}
)
BETWEEN = frozenset({"node-out-of-step"})  # say nothing of a single machine, not even that
_MOST_NODES = 6  # that are named


@dataclass(frozen=True)
class _Own:
    """A machine and its own diagnosis, GPUs numbered as on the machine."""

    node: Node
    diagnosis: Diagnosis


def own_diagnoses(timeline: ClusterTimeline, rules: Sequence[Rule]) -> list[_Own]:
    """The diagnosis of each machine by the rules that are about one."""
    from gpudiag.diagnose.engine import diagnose

    found = []
    for node in timeline.nodes:
        with named(node.names):
            found.append(_Own(node, diagnose(node.timeline, rules)))
    return found


def split(rules: Sequence[Rule]) -> tuple[list[Rule], list[Rule]]:
    """The rules across machines, and those of one."""
    across = [rule for rule in rules if rule.name in ACROSS]
    return across, [rule for rule in rules if rule.name not in ACROSS]


def findings_of(own: Sequence[_Own]) -> list[Finding]:
    """One finding for each rule that fired on a machine."""
    total = sum(len(one.node.gpus) for one in own)
    codes = dict.fromkeys(finding.rule.code for one in own for finding in one.diagnosis.findings)
    return [_joined(code, own, total) for code in codes]


def _joined(code: str, own: Sequence[_Own], total: int) -> Finding:
    there = [
        (one.node, finding)
        for one in own
        for finding in one.diagnosis.findings
        if finding.rule.code == code
    ]
    node, worst = max(
        there, key=lambda pair: (SEVERITIES.index(pair[1].severity), pair[1].cost or 0.0)
    )
    costs = [f.cost * len(n.gpus) / total for n, f in there if f.cost is not None]
    bounds = [finding.bound for _, finding in there if finding.bound is not None]
    gpus = sorted(
        number
        for other, finding in there
        for number in (map(other.numbers.__getitem__, finding.gpus) if finding.gpus else other.gpus)
    )
    names = [other.name for other, _ in there]
    if len(names) == 1:
        said = tr("On {node}: {said}", node=node.name, said=worst.summary)
    else:
        said = tr(
            "On {count} of {total} machines, most on {node}: {said}",
            count=len(names),
            total=len(own),
            node=node.name,
            said=worst.summary,
        )
    return replace(
        worst,
        summary=said,
        gpus=tuple(gpus),
        cost=sum(costs) if costs else None,
        # the slowest machine sets the pace: freed of this, the run gains what that one gains
        bound=max(bounds) if bounds else None,
        episodes=tuple(
            Episode(episode.start_s + node.begin_s, episode.end_s + node.begin_s)
            for episode in worst.episodes
        ),
        evidence=(*worst.evidence, *_likewise(names)),
        node=node.name,
    )


def _likewise(names: Sequence[str]) -> list[str]:
    if len(names) < 2:
        return []
    shown = names[:_MOST_NODES]
    if len(names) > len(shown):
        shown = [*shown, tr("{count} more", count=len(names) - len(shown))]
    return [tr("Machines: {nodes}.", nodes=listed(shown))]


def checks_of(own: Sequence[_Own]) -> list[Check]:
    """What became of each rule: fired on one machine is fired, fine on all of them is fine."""
    found = []
    for place, check in enumerate(own[0].diagnosis.checks):
        each = [one.diagnosis.checks[place] for one in own]
        outcomes = [one.outcome for one in each]
        if "fired" in outcomes or "superseded" in outcomes:
            outcome: Outcome = "fired" if "fired" in outcomes else "superseded"
            found.append(replace(check, outcome=outcome, text="", missing=()))
        elif "unchecked" in outcomes:
            found.append(each[outcomes.index("unchecked")])
        else:
            text = tr(
                "{title}: on none of the {count} machines", title=check.rule.title, count=len(own)
            )
            found.append(replace(check, text=text))
    return found


def ledger_of(own: Sequence[_Own]) -> Ledger:
    """The ledgers of all machines added up; empty if that of one is."""
    ledgers = [one.diagnosis.ledger for one in own]
    for one, ledger in zip(own, ledgers, strict=True):
        if not ledger.parts:
            return Ledger(reason=f"{one.node.name}: {ledger.reason}")
    titles = {part.name: part.title for ledger in ledgers for part in ledger.parts}
    seconds = dict.fromkeys(_in_order(titles), 0.0)
    for ledger in ledgers:
        for part in ledger.parts:
            seconds[part.name] += part.gpu_s
    whole = sum(seconds.values())
    gpus = tuple(
        number
        for one, ledger in zip(own, ledgers, strict=True)
        for number in map(one.node.numbers.__getitem__, ledger.gpus)
    )
    parts = tuple(
        LedgerPart(name, titles[name], gpu_s, gpu_s / whole) for name, gpu_s in seconds.items()
    )
    return Ledger(gpus, whole / len(gpus), parts)


def _in_order(titles: dict[str, str]) -> list[str]:
    from gpudiag.signals.account import PARTS

    return [name for name in PARTS if name in titles]
