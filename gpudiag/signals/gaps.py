"""③ What happens in the pauses: writing, new or more workers, CPU work, marks of the run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent

if TYPE_CHECKING:
    from gpudiag.signals.clock import Mask
    from gpudiag.signals.compute import SignalSet

BURST_TIMES = 10.0  # the writing of a checkpoint stands this far above that of training …
BURST_MIB = 20.0  # … and is at least this much in one pause
AROUND_S = 2.0  # host and GPU readings are matched within two seconds
MORE_WORKERS = 1.5  # times as many as usual: a second loader beside that of training
_EVALUATION = re.compile(r"(?<![a-z])(?:eval|valid|(?:val|test)(?![a-z]))|评估|验证", re.IGNORECASE)


def _spans(signals: SignalSet) -> list[Mask]:
    """A mask over the ticks for each pause, two seconds wider than it; raises Absent if none."""
    spans = signals.window.spans
    if not spans:
        raise Absent(Missing("there were no pauses"))
    t, begin = signals.clock.t, signals.clock.begin
    return [(begin >= begin[first] - AROUND_S) & (t <= t[last] + AROUND_S) for first, last in spans]


@signal(
    "pauses_with_writing_share", "figure", "share", "run",
    "Share of the pauses in which the run wrote at least 20 MiB, at ten times its usual rate: the "
    "sign of a checkpoint.",
)  # fmt: skip
def pauses_with_writing_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    written = signals.array("tree_write_mib_s")
    spans = _spans(signals)
    outside = written[signals.window.steady]
    outside = outside[np.isfinite(outside)]
    usual = float(np.median(outside)) if len(outside) else 0.0
    bursts = 0
    for span in spans:
        weight = signals.clock.weight[span]
        amount = float(np.nansum(written[span] * weight))
        rate = float(np.nanmax(written[span])) if np.isfinite(written[span]).any() else 0.0
        bursts += amount >= BURST_MIB and rate >= BURST_TIMES * usual
    return bursts / len(spans)


@signal("pause_written_mib", "figure", "MiB", "run", "Written by the run in the median pause.")
def pause_written_mib(signals: SignalSet, gpu: int | None) -> float | Missing:
    written = np.nan_to_num(signals.array("tree_write_mib_s"))
    return float(
        np.median([(written[span] * signals.clock.weight[span]).sum() for span in _spans(signals)])
    )


@signal(
    "pauses_with_new_workers_share", "figure", "share", "run",
    "Share of the pauses in which at least half of the loader workers were replaced by new ones.",
)  # fmt: skip
def pauses_with_new_workers_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    new = np.nan_to_num(signals.array("workers_new"))
    count = signals.need("workers_count")
    if count < 1:
        return Missing("there are no data-loader workers")
    spans = _spans(signals)
    return sum(float(new[span].sum()) >= 0.5 * count for span in spans) / len(spans)


@signal(
    "pauses_with_more_workers_share", "figure", "share", "run",
    "Share of the pauses in which half as many loader workers again as usual, or more, were alive: "
    "the sign of a second loader beside that of training, as an evaluation has.",
)  # fmt: skip
def pauses_with_more_workers_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    alive = np.nan_to_num(signals.array("workers"))
    usual = signals.need("workers_count")
    if usual < 1:
        return Missing("there are no data-loader workers between the pauses")
    spans = _spans(signals)
    more = max(MORE_WORKERS * usual, usual + 1)
    return sum(float(alive[span].max()) >= more for span in spans) / len(spans)


@signal(
    "pauses_marked_evaluation_share", "figure", "share", "run",
    "Share of the pauses in which the run set a mark whose text speaks of an evaluation, "
    "validation or test. Missing where it set no marks.",
)  # fmt: skip
def pauses_marked_evaluation_share(signals: SignalSet, gpu: int | None) -> float | Missing:
    marks = [event for event in signals.timeline.events if event.kind == "mark"]
    if not marks:
        return Missing("the run set no marks")
    spans, t, begin = signals.window.spans, signals.clock.t, signals.clock.begin
    if not spans:
        return Missing("there were no pauses")
    times = [mark.t_s for mark in marks if _EVALUATION.search(mark.text)]
    said = sum(
        any(begin[first] - AROUND_S <= time <= t[last] + AROUND_S for time in times)
        for first, last in spans
    )
    return said / len(spans)


def _within(signals: SignalSet, name: str) -> float:
    _spans(signals)
    return signals.mean(name, signals.window.gaps)


@signal(
    "pause_main_cpu", "figure", "%", "run",
    "CPU of the training process in the pauses, 100 = one core; mean.",
)  # fmt: skip
def pause_main_cpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _within(signals, "main_cpu_pct")


@signal("pause_workers_cores", "figure", "cores", "run", "CPU of all workers in the pauses; mean.")
def pause_workers_cores(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _within(signals, "workers_cpu_pct") / 100
