"""④ The time between marks that both runs set: the same work by the runs' own word."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from gpudiag.compare.bootstrap import student
from gpudiag.timeline.model import Timeline

_LEAST_FOR_SPREAD = 4  # intervals; fewer say little of how much they vary


class Laps(NamedTuple):
    """From the first to the last common mark: seconds in both runs, how many intervals lie between,
    and half the 95 % interval of the logarithm of their ratio; None if they are too few."""

    before_s: float
    after_s: float
    intervals: int
    half: float | None
    first: str
    last: str


def laps(before: Timeline, after: Timeline) -> Laps | None:
    """The common marks, each set once in each run and in the same order; None if under two."""
    one, two = _marks(before), _marks(after)
    common = [text for text in one if text in two]
    if len(common) < 2 or common != [text for text in two if text in one]:
        return None
    first = np.diff([one[text] for text in common])
    second = np.diff([two[text] for text in common])
    if (first <= 0).any() or (second <= 0).any():
        return None
    half = None
    if len(first) >= _LEAST_FOR_SPREAD:
        ratios = np.log(first / second)
        half = student(len(ratios) - 1) * float(ratios.std(ddof=1)) / math.sqrt(len(ratios))
    return Laps(float(first.sum()), float(second.sum()), len(first), half, common[0], common[-1])


def _marks(timeline: Timeline) -> dict[str, float]:
    """Text and time of the marks that were set once, in their order."""
    marks = [event for event in timeline.events if event.kind == "mark"]
    counts = Counter(mark.text for mark in marks)
    return {mark.text: mark.t_s for mark in marks if counts[mark.text] == 1}
