"""Run scenarios and say how right the diagnosis was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.scenarios.live import run
from tests.scenarios.model import Outcome, Scenario

BESIDE = 5  # light scenarios at a time
WHOLE_STALL = 0.6  # of the bound, where the remedy removes the whole stall


def outcomes(
    scenarios: Iterable[Scenario], twins: bool = True, repeat: int = 1, keep: Path | None = None
) -> Iterator[Outcome]:
    """Each scenario and its twin, `repeat` times; light ones beside each other, others alone.

    The recordings are left in `keep` as NAME-ROUND.csv and NAME-fixed-ROUND.csv.
    """
    work = [
        (scenario, twin, keep and keep / f"{scenario.name}{'-fixed' * twin}-{turn}.csv")
        for turn in range(repeat)
        for scenario in scenarios
        for twin in ((False, True) if twins and scenario.twin is not None else (False,))
    ]
    for job in work:
        if not job[0].light:
            yield run(*job)
    with ThreadPoolExecutor(BESIDE) as pool:
        yield from pool.map(lambda job: run(*job), [job for job in work if job[0].light])


def line(outcome: Outcome) -> str:
    """One line about one run."""
    truth = "/".join(outcome.scenario.truth) or "benign"
    name = outcome.scenario.name + (" (fixed)" if outcome.twin else "")
    mark = "ok   " if outcome.right else "WRONG"
    causes = ",".join(outcome.held)
    rate = "" if outcome.rate is None else f" {outcome.rate:.1f} batches/s"
    return (
        f"{mark} {name:38} true {truth:12} said {outcome.top:6} [{causes}]{rate} "
        f"{outcome.failure or outcome.sentence[:110]}"
    )


def summary(found: Sequence[Outcome]) -> str:
    """Confusion table, precision and recall, and what the fixed twins gained."""
    own = [o for o in found if not o.twin]
    faulty = [o for o in own if o.scenario.truth]
    benign = [o for o in own if not o.scenario.truth]
    fixed = [o for o in found if o.twin]
    accused = [o for o in own if o.above_info]
    rightly = [o for o in accused if o.top in o.scenario.truth]
    lines = ["", "true \\ said (runs)", *_confusion(own), ""]
    lines.append(f"true cause is the top finding: {_share([o.right for o in faulty])}")
    lines.append(f"benign and silent:             {_share([o.right for o in benign])}")
    lines.append(f"precision of what is said:     {_share([o in rightly for o in accused])}")
    lines.append(f"fixed twin, finding gone:      {_share([o.right for o in fixed])}")
    lines += ["", *_twins(found)]
    return "\n".join(lines)


def _share(right: Sequence[bool]) -> str:
    return f"{sum(right)} of {len(right)}" if right else "none was run"


def _confusion(own: Sequence[Outcome]) -> list[str]:
    counts: dict[tuple[str, str], int] = {}
    for outcome in own:
        key = ("/".join(outcome.scenario.truth) or "benign", outcome.top)
        counts[key] = counts.get(key, 0) + 1
    rows: dict[str, list[str]] = {}
    for (truth, said), count in sorted(counts.items()):
        rows.setdefault(truth, []).append(f"{said} x{count}")
    return [f"  {truth:14} {', '.join(said)}" for truth, said in rows.items()]


def _twins(found: Sequence[Outcome]) -> list[str]:
    lines = ["fixed twins: predicted bound against realised speed-up"]
    for outcome in found:
        if outcome.twin or outcome.rate is None or outcome.scenario.twin is None:
            continue
        rates = [o.rate for o in found if o.twin and o.scenario is outcome.scenario and o.rate]
        if not rates:
            continue
        # The bound is one on the whole recording; start-up stays as it was.
        trained = min(float(outcome.scenario.spec.get("seconds", 50)), outcome.wall_s)
        gain = outcome.wall_s / (outcome.wall_s - trained * (1 - outcome.rate / rates[0]))
        bound = "none said" if outcome.bound is None else f"{outcome.bound:.2f}"
        verdict = ""
        if outcome.bound is not None:
            verdict = "within" if gain <= 1.03 * outcome.bound else "ABOVE THE BOUND"
            part = (gain - 1) / (outcome.bound - 1) if outcome.bound > 1 else 0.0
            verdict += f", {100 * part:.0f} % of it"
        lines.append(f"  {outcome.scenario.name:34} bound {bound:9} realised {gain:.2f} {verdict}")
    return lines
