"""③ When the GPUs worked: first and last activity, warm-up, the active window, and its gaps.

The source of the definitions is the practice of MLPerf Storage, XProf and TraceML, which leave the
first steps out, and the checkpoint examples of the ICSE 2024 study of low GPU utilisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpudiag.signals.base import Missing
from gpudiag.signals.clock import Array, Clock, Mask
from gpudiag.signals.used import UsedGpus
from gpudiag.timeline.model import Timeline

Places = npt.NDArray[np.int_]
_Span = tuple[int, int]

ACTIVE_PCT = 20.0  # a mean over SMOOTH_S at or above this is activity …
SMOOTH_S = 15.0
WARM_UP_S = 60.0  # … whose first minute is warm-up, compilation and autotuning,
WARM_UP_SHARE = 0.2  # but never more than this share of a short run
GAP_PCT = 5.0  # all GPUs at or below this …
GAP_S = 5.0  # … for this long is a pause, since steps longer than 5 s are rare …
GAP_INTERVALS = 3.0  # … and as many readings
GAP_CYCLES = 3.0  # and longer than three cycles of a wave
WAVE_S = 20.0  # lulls that return faster than this are waves of single steps, not pauses
WAVES = 5
POWER_FALL = 0.8  # in a pause the power is below this share of its mean at work
RELEASED_SHARE = 0.25  # memory this near its lowest in a gap: nothing was loaded, the job was over
INFORMATIVE_MIB = 200.0


@dataclass(frozen=True)
class Window:
    """Masks over the ticks, all of one length.

    `work` runs from the first to the last activity, `warm_up` is its beginning, `released` are
    gaps in which no job was loaded, `active` is the rest of `work`, `gaps` are the pauses in it,
    `early` those in the warm-up that are like them, `edges` the readings beside both, part of which
    may belong to the pause. `steady` is active time that is neither gap nor edge. `spans` are the
    gaps as (first, last) tick.
    `busiest` is the utilisation of the busiest GPU, `low_pct` the level at or below which a GPU
    counts as idle.
    """

    work: Mask
    warm_up: Mask
    released: Mask
    active: Mask
    gaps: Mask
    early: Mask
    edges: Mask
    steady: Mask
    spans: tuple[tuple[int, int], ...]
    busiest: Array
    low_pct: float


def find_window(timeline: Timeline, used: UsedGpus, clock: Clock) -> Window | Missing:
    """The window of `timeline`, or why there is none."""
    columns = [timeline.column(f"gpu{gpu}_util_pct") for gpu in used.working]
    known = [column.to_numpy(dtype=np.float64) for column in columns if column is not None]
    if not known:
        return Missing(_why_none(timeline, used))
    table = np.vstack(known)
    filled = np.where(np.isfinite(table), table, -np.inf).max(axis=0)
    busiest = np.where(np.isfinite(filled), filled, np.nan)
    some = busiest[np.isfinite(busiest) & (busiest > 0)]
    low = min(GAP_PCT, 0.25 * float(np.percentile(some, 95)))
    smooth = max(SMOOTH_S, 3 * clock.interval)
    ahead, behind = _means(busiest, clock, smooth)
    lively = np.isfinite(busiest) & (busiest > low)
    level = min(ACTIVE_PCT, 0.5 * float(np.percentile(ahead[lively], 95)))
    starts = np.flatnonzero(lively & (ahead >= level))
    ends = np.flatnonzero(lively & (behind >= level))
    if not len(starts) or not len(ends) or ends[-1] < starts[0]:
        return Missing("the GPUs were never active for long enough to say anything of the run")
    first, last = int(starts[0]), int(ends[-1])
    place = np.arange(len(busiest))
    work = (place >= first) & (place <= last)
    length = clock.t[last] - clock.begin[first]
    ready = clock.begin[first] + min(WARM_UP_S, WARM_UP_SHARE * length)
    warm_up = work & (clock.t <= ready)
    gaps, released = _gaps(timeline, used, clock, busiest, low, work)
    active = work & ~warm_up & ~released
    spans = [(a, b) for a, b in gaps if active[a : b + 1].any()]
    alike = _alike(gaps, spans, clock)
    paused = _cover(alike, len(busiest))
    edges = _beside(alike, clock) & work & ~released & ~paused
    in_gap, early = paused & active, paused & warm_up
    steady = active & ~in_gap & ~edges
    return Window(
        work, warm_up, released, active, in_gap, early, edges, steady, tuple(spans), busiest, low
    )


def _alike(gaps: list[_Span], spans: list[_Span], clock: Clock) -> list[_Span]:
    """The pauses, and where they recur also gaps of the warm-up no longer than the longest.

    A longer one holds more than such a pause, e.g. compilation.
    """
    if len(spans) < 2:
        return spans
    lengths = {span: float(clock.weight[span[0] : span[1] + 1].sum()) for span in gaps}
    longest = max(lengths[span] for span in spans)
    return [span for span in gaps if span in spans or lengths[span] <= longest]


def _cover(spans: list[_Span], length: int) -> Mask:
    covered = np.zeros(length, dtype=bool)
    for first, last in spans:
        covered[first : last + 1] = True
    return covered


def _beside(spans: list[_Span], clock: Clock) -> Mask:
    """The reading before and the one after each span, unless a hole lies between."""
    beside = np.zeros(len(clock.t), dtype=bool)
    for first, last in spans:
        if first > 0 and clock.hole[first] == 0:
            beside[first - 1] = True
        if last + 1 < len(beside) and clock.hole[last + 1] == 0:
            beside[last + 1] = True
    return beside


def _why_none(timeline: Timeline, used: UsedGpus) -> str:
    if not timeline.gpus:
        return "no GPU was recorded"
    if not used.gpus:
        return used.reason
    if any(timeline.column(f"gpu{gpu}_util_pct") is not None for gpu in used.gpus):
        return "no GPU of the run was ever busy"
    if any(str(timeline.gpu_facts(gpu).get("mig")) == "Enabled" for gpu in used.gpus):
        return "the driver gives no utilisation for a GPU on which MIG is on"
    return "the utilisation of the GPUs was not measured, or the driver does not give it"


def _means(values: Array, clock: Clock, length: float) -> tuple[Array, Array]:
    """The mean over the `length` seconds that begin, and that end, with each tick."""
    valid = np.isfinite(values)
    weight = np.where(valid, clock.weight, 0.0)
    amount = np.concatenate(([0.0], np.cumsum(np.where(valid, values, 0.0) * weight)))
    time = np.concatenate(([0.0], np.cumsum(weight)))
    place = np.arange(len(values))
    after = np.maximum(np.searchsorted(clock.t, clock.begin + length, side="right"), place + 1)
    before = np.minimum(np.searchsorted(clock.begin, clock.t - length, side="left"), place)

    def mean(low: Places, high: Places) -> Array:
        span = time[high] - time[low]
        total = amount[high] - amount[low]
        return np.where(span > 0, total / np.where(span > 0, span, 1.0), 0.0)

    return mean(place, after), mean(before, place + 1)


def _gaps(
    timeline: Timeline, used: UsedGpus, clock: Clock, busiest: Array, low: float, work: Mask
) -> tuple[list[tuple[int, int]], Mask]:
    released = np.zeros(len(busiest), dtype=bool)
    if not clock.known:
        return [], released  # without times there is no telling a pause from a step
    lulls = _runs(work & np.isfinite(busiest) & (busiest <= low), clock)
    shortest = max(GAP_S, GAP_INTERVALS * clock.interval)
    if len(lulls) >= WAVES:
        cycle = float(np.median(np.diff([clock.begin[first] for first, _ in lulls])))
        if cycle <= WAVE_S:
            shortest = max(shortest, GAP_CYCLES * cycle)
    gaps = []
    busy = work & (busiest > low)
    power = _at_work(timeline, used, "power_w", busy)
    memory = _at_work(timeline, used, "mem_used_mib", busy)
    for first, last in lulls:
        if clock.weight[first : last + 1].sum() < shortest - 1e-9:
            continue
        if not _power_falls(power, first, last):
            continue
        if _nothing_loaded(memory, first, last):
            released[first : last + 1] = True
        else:
            gaps.append((first, last))
    return gaps, released


def _runs(where: Mask, clock: Clock) -> list[tuple[int, int]]:
    """Maximal stretches of `where` as (first, last); a hole in the data ends one."""
    before = np.concatenate(([False], where[:-1]))
    runs = []
    for first in np.flatnonzero(where & (~before | (clock.hole > 0))):
        last = int(first)
        while last + 1 < len(where) and where[last + 1] and clock.hole[last + 1] == 0:
            last += 1
        runs.append((int(first), last))
    return runs


class _Usual(NamedTuple):
    """A column of one working GPU, and what it was while the GPU worked."""

    values: Array
    mean: float
    median: float
    lowest: float  # of all readings


def _at_work(timeline: Timeline, used: UsedGpus, name: str, busy: Mask) -> list[_Usual]:
    """The column `name` of every working GPU of which readings were taken while it was `busy`."""
    found = []
    for gpu in used.working:
        column = timeline.column(f"gpu{gpu}_{name}")
        if column is None:
            continue
        values = column.to_numpy(dtype=np.float64)
        usual = values[busy & np.isfinite(values)]
        if len(usual):
            mean, median = float(np.mean(usual)), float(np.median(usual))
            found.append(_Usual(values, mean, median, float(np.nanmin(values))))
    return found


def _power_falls(power: list[_Usual], first: int, last: int) -> bool:
    """Whether power agrees that the GPUs stood still; true where it was not recorded.

    Steps that last almost a whole number of intervals put readings on the same part of each step
    for a long time, so that utilisation shows 0 without a pause; power, a mean over 1 s on most
    GPUs since Ampere, stays up.
    """
    for usual in power:
        within = usual.values[first : last + 1]
        within = within[np.isfinite(within)]
        if len(within) and np.median(within) > POWER_FALL * usual.mean:
            return False
    return True


def _nothing_loaded(memory: list[_Usual], first: int, last: int) -> bool:
    """Whether the memory of every working GPU fell back to nearly its lowest within the gap."""
    seen = False
    for usual in memory:
        within = usual.values[first : last + 1]
        within = within[np.isfinite(within)]
        if not len(within) or usual.median - usual.lowest < INFORMATIVE_MIB:
            continue
        seen = True
        if float(within.min()) > usual.lowest + RELEASED_SHARE * (usual.median - usual.lowest):
            return False
    return seen
