"""④ Faster, slower, no difference shown, or why it cannot be told.

Three things can be compared, the surest first: the time between marks that both runs set; the run
time, where the user says that both did the same work; and the GPU work a second, the number of
GPUs that are busy at a time. The last means as much as the first two only while a step costs the
GPUs the same: where memory, clocks or the kind of work per busy second say otherwise, it cannot
be told.
"""

from __future__ import annotations

import math

from gpudiag.compare.bootstrap import Mean
from gpudiag.compare.marks import Laps, laps
from gpudiag.compare.measure import Measured
from gpudiag.compare.model import (
    Basis,
    Change,
    Comparison,
    Estimate,
    Outcome,
    PartPair,
    Quantity,
    Side,
)
from gpudiag.language import retold, tr
from gpudiag.signals.base import Missing

# The standard deviation of the logarithm of a run's speed between recordings of the same run on
# one machine: 0.005 where the GPU sets the pace, 0.035 with what the CPU sets the pace of, measured
# by benchmarks/comparison.py on a machine whose own speed varies.
RUN_TO_RUN = 0.03
ACTIVE_S = 30.0  # of each run; a verdict of a report needs as much
OTHER_WORK = 1.25  # by which factor memory, or the kind of work, may differ
OTHER_CLOCK = 1.10
OTHER_CORES = 0.5  # how many more cores other programs may use before it is said
_LEAST_MEMORY_PCT = 3.0  # below, a whole per cent is too coarse to compare
_Z = 1.959964


def judge(
    before: Side,
    after: Side,
    first: Measured,
    second: Measured,
    *,
    same_work: bool,
    parts: tuple[PartPair, ...],
    changes: tuple[Change, ...],
    quantities: tuple[Quantity, ...],
) -> Comparison:
    """The whole comparison, with its verdict."""
    basis, speed, reason = _speed(first, second, same_work=same_work)
    outcome = _outcome(speed)
    return Comparison(
        before,
        after,
        outcome,
        basis,
        speed,
        _sentence(after.name, outcome, basis, speed, reason),
        _notes(basis, first, second),
        parts,
        changes,
        quantities,
    )


def _speed(
    first: Measured, second: Measured, *, same_work: bool
) -> tuple[Basis, Estimate | None, str]:
    """What the verdict rests upon, how many times as fast, and why not if that is None."""
    common = laps(first.timeline, second.timeline)
    if common is not None:
        return "marks", _estimate(common.before_s, common.after_s, common.half, 0.0), ""
    if same_work:
        times = _run_time(first), _run_time(second)
        for time in times:
            if isinstance(time, str):
                return "run time", None, time
        return "run time", _estimate(float(times[0]), float(times[1]), 0.0, 0.0), ""
    reason = _why_not(first, second)
    if reason:
        return "GPU work", None, reason
    one, two = first.mean(first.busy_gpus), second.mean(second.busy_gpus)
    if one is None or two is None or one.value <= 0 or two.value <= 0:
        return "GPU work", None, tr("one of the runs shows no GPU work")
    return "GPU work", _estimate(two.value, one.value, _relative(two), _relative(one)), ""


def _relative(mean: Mean) -> float | None:
    return None if mean.half is None else mean.half / mean.value


def _estimate(over: float, under: float, *halves: float | None) -> Estimate:
    """`over`/`under` with its interval: what both vary by within a run, and from run to run."""
    ratio = over / under
    if any(half is None for half in halves):
        return Estimate(ratio)
    within = [half for half in halves if half is not None]
    half = math.hypot(*within, math.sqrt(2) * _Z * RUN_TO_RUN)
    return Estimate(ratio, ratio * math.exp(-half), ratio * math.exp(half))


def _outcome(speed: Estimate | None) -> Outcome:
    if speed is None or speed.low is None or speed.high is None:
        return "cannot tell"
    if speed.low > 1:
        return "faster"
    return "slower" if speed.high < 1 else "no difference"


def _run_time(run: Measured) -> float | str:
    """Seconds of a whole run, or why they cannot be compared."""
    end = run.timeline.end
    if not run.signals.clock.known:
        return tr("the times of the samples are not known")
    if end is None or "exit_code" not in end:
        return tr("one of the recordings does not hold the end of its run")
    if end.get("exit_code") != 0:
        return tr("one of the runs did not end well")
    return run.signals.clock.wall


def _why_not(first: Measured, second: Measured) -> str:
    """Why the GPU work a second does not tell which run is faster; empty if it does."""
    for run in (first, second):
        found = run.signals.found_window
        if isinstance(found, Missing):
            return retold(found.reason)
        if run.signals.clock.known and run.active_s < ACTIVE_S:
            return tr(
                "the GPUs of one run were active for {time} s, and {needed} s are needed",
                time=f"{run.active_s:.0f}",
                needed=f"{ACTIVE_S:.0f}",
            )
    if _models(first) != _models(second):
        return tr("the runs were on GPUs of different models")
    for name, text in (
        ("mem_used_mib", tr("the most memory that a GPU held")),
        ("mem_util_pct", tr("the use of the memory controller per busy second")),
        ("sm_clock_mhz", tr("the clock while the GPUs were busy")),
    ):
        one, two = _intensity(first, name), _intensity(second, name)
        if one is None or two is None:
            continue
        most = OTHER_CLOCK if name == "sm_clock_mhz" else OTHER_WORK
        if max(one, two) > most * min(one, two):
            return tr(
                "{what} is {factor} times that of the first run: a busy second may do other work "
                "(marks in both runs, or --same-work, would tell)",
                what=text,
                factor=f"{two / one:.2f}",
            )
    return ""


def _intensity(run: Measured, name: str) -> float | None:
    if name == "mem_used_mib":
        found = run.peak(name)
    elif name == "sm_clock_mhz":
        found = run.per_busy(name)
    else:
        per_busy, busy = run.per_busy(name), run.per_busy("util_pct")
        coarse = per_busy is not None and per_busy < _LEAST_MEMORY_PCT
        found = None if coarse or per_busy is None or not busy else per_busy / busy
    return found if found is not None and found > 0 else None


def _models(run: Measured) -> set[str]:
    names = (run.timeline.gpu_facts(gpu).get("name") for gpu in run.signals.gpus)
    return {str(name) for name in names if name}


def _sentence(
    name: str, outcome: Outcome, basis: Basis, speed: Estimate | None, reason: str
) -> str:
    if speed is None:
        return tr("Cannot tell: {reason}.", reason=reason)
    times = f"{speed.value:.2f}"
    if speed.low is None or speed.high is None:
        return tr(
            "Cannot tell: {name} shows {times} times the speed, but the recordings are too short "
            "to say how much that varies.",
            name=name,
            times=times,
        )
    interval = {"low": f"{speed.low:.2f}", "high": f"{speed.high:.2f}"}
    if outcome == "no difference":
        return tr(
            "No difference shown: {name} runs at {times} times the speed, and anything from {low} "
            "to {high} fits what was measured.",
            name=name,
            times=times,
            **interval,
        )
    text = (
        "{name} is faster: {times} times the speed, with 95 % confidence {low} to {high}."
        if outcome == "faster"
        else "{name} is slower: {times} times the speed, with 95 % confidence {low} to {high}."
    )
    return tr(text, name=name, times=times, **interval)


def _notes(basis: Basis, first: Measured, second: Measured) -> tuple[str, ...]:
    """What the verdict rests upon, and what a reader might take for more than it is."""
    return (
        _basis_in_words(basis, laps(first.timeline, second.timeline)),
        *_cautions(basis, first, second),
    )


def _basis_in_words(basis: Basis, common: Laps | None) -> str:
    if basis == "marks" and common is not None:
        return tr(
            "Speed is the time from the mark {first} to the mark {last}: {before} s and {after} s.",
            first=f"“{common.first}”",
            last=f"“{common.last}”",
            before=f"{common.before_s:.1f}",
            after=f"{common.after_s:.1f}",
        )
    if basis == "run time":
        return tr("Speed is the run time of runs that, as you say, did the same work.")
    return tr(
        "Speed is the GPU work a second: how many GPUs were busy at a time, after the warm-up and "
        "with pauses. That is the speed of training as long as a step costs the GPUs the same in "
        "both runs."
    )


def _cautions(basis: Basis, first: Measured, second: Measured) -> list[str]:
    said = []
    counts = len(first.signals.used.working), len(second.signals.used.working)
    if basis == "GPU work" and counts[0] != counts[1] and all(counts):
        said.append(
            tr("{before} GPUs worked in the first run and {after} in the other.",
               before=counts[0], after=counts[1])
        )  # fmt: skip
    foreign = [run.signals.figure("foreign_cores") for run in (first, second)]
    cores = [figure for figure in foreign if isinstance(figure, float)]
    if len(cores) == len(foreign) and abs(cores[0] - cores[1]) >= OTHER_CORES:
        said.append(
            tr(
                "Other programs used {before} cores during the first run and {after} during the "
                "other: the difference may be theirs.",
                before=f"{cores[0]:.1f}",
                after=f"{cores[1]:.1f}",
            )
        )
    if not (first.signals.clock.known and second.signals.clock.known):
        said.append(tr("Of one of the runs the times of the samples are not known."))
    return said
