"""③ Does a memory series climb in regular steps, as where something is kept at each epoch?

A few large steps look like benign phases to a fit of shapes (creep.py). What tells them apart is
regularity: rises of like size, at like intervals, none of which is given back, to the very end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int_]

FEWEST = 4  # three equal rises are also three models, or three sizes of input
PIECES = 240  # stretches of which the lowest value counts: short peaks leave no trace
NOISE_MIB = 4.0  # as in creep.py
LIKE_SIZE = 2.0  # largest rise over the smallest
LIKE_INTERVAL = 1.5  # longest interval over the shortest, a stretch's length of error allowed
GOES_ON = 1.5  # intervals: after this without a rise it may have stopped
MOST = 0.8  # of the growth lies in the rises; the rest would be creep of another kind


@dataclass(frozen=True)
class Stairs:
    """Regular rises: how many, of what size in MiB, how far apart in s, and since when none.

    `low` and `high` are the smallest and largest size, `soonest` and `latest` the shortest and
    longest interval.
    """

    count: int
    size: float
    every: float
    low: float
    high: float
    soonest: float
    latest: float
    since: float

    @property
    def slope(self) -> float:
        """MiB/s."""
        return self.size / self.every


def find_stairs(t: Array, memory: Array) -> Stairs | None:
    """The regular steps of a memory series in MiB over seconds; None where there are none."""
    times, kept, piece = _kept(t, memory)
    places, sizes = _rises(kept)
    found = _regular(times, places, sizes, float(kept[-1] - kept[0]), piece)
    if found is None and len(sizes) > FEWEST:
        # the recording may have ended in a peak that would have been given back
        grown = float(kept[places[-1] - 1] - kept[0])
        found = _regular(times, places[:-1], sizes[:-1], grown, piece)
    return found


def _regular(
    times: Array, places: Places, sizes: Array, grown: float, piece: float
) -> Stairs | None:
    """The rises at `places` as stairs, if they are like each other and go on to the end."""
    if len(sizes) < FEWEST or sizes.sum() < MOST * grown:
        return None
    at = times[places]
    between = np.diff(at)
    every = float(np.median(between))
    ragged = between.max() - 2 * piece > LIKE_INTERVAL * max(float(between.min()), piece)
    since = float(times[-1] - at[-1])
    late = since > GOES_ON * every + piece
    early = at[0] - times[0] > 2 * every + piece
    if ragged or late or early or sizes.max() > LIKE_SIZE * sizes.min():
        return None
    return Stairs(
        len(sizes), float(np.median(sizes)), every, float(sizes.min()), float(sizes.max()),
        float(between.min()), float(between.max()), since,
    )  # fmt: skip


def _kept(t: Array, memory: Array) -> tuple[Array, Array, float]:
    """What is never given back later: (times, MiB, length of a stretch in s)."""
    if len(t) > PIECES:
        edges = np.linspace(t[0], t[-1], PIECES + 1)
        first = np.unique(np.searchsorted(t, edges[:-1], side="left"))
        times, lowest = t[first], np.minimum.reduceat(memory, first)
    else:
        times, lowest = t, memory
    kept = np.minimum.accumulate(lowest[::-1])[::-1]
    return times, kept, float(t[-1] - t[0]) / len(times)


def _rises(kept: Array) -> tuple[Places, Array]:
    """Where each rise begins and how large it is; small ones beside large ones are left out.

    Neighbouring stretches that both rise are one rise.
    """
    steps = np.diff(kept)
    rising = np.flatnonzero(steps > NOISE_MIB)
    if not len(rising):
        return rising, np.empty(0)
    groups = np.split(rising, np.flatnonzero(np.diff(rising) > 1) + 1)
    places = np.array([group[0] + 1 for group in groups])
    sizes = np.array([float(steps[group].sum()) for group in groups])
    large = sizes >= 0.2 * sizes.max()
    return places[large], sizes[large]
