"""④ From a condition at every tick to episodes: how long it held, by the clock, not by rows."""

from __future__ import annotations

import numpy as np

from gpudiag.diagnose.model import Episode
from gpudiag.signals.clock import Clock, Mask

_SLACK = 1e-6  # of a second: ticks of 0.1 s do not add up to whole seconds exactly


def episodes_of(holds: Mask, clock: Clock, for_s: float, bridge_s: float) -> tuple[Episode, ...]:
    """The stretches in which `holds`, at least `for_s` long.

    A tick speaks for the time since the one before it. Interruptions of up to `bridge_s` do not end
    an episode; a hole in the recording does, for nobody knows what was in it. Times are seconds
    since the start of the recording, never before it.
    """
    ticks = np.flatnonzero(holds)
    if not ticks.size:
        return ()
    between = clock.begin[ticks[1:]] - clock.t[ticks[:-1]]
    gaps = np.cumsum(clock.hole > 0)
    same = gaps[ticks[1:]] == gaps[ticks[:-1]]
    goes_on = same & ((np.diff(ticks) == 1) | (between <= bridge_s + _SLACK))
    first = ticks[np.concatenate([[True], ~goes_on])]
    last = ticks[np.concatenate([~goes_on, [True]])]
    long = clock.t[last] - clock.begin[first] >= for_s - _SLACK
    origin = min(0.0, float(clock.t[0]))
    return tuple(
        Episode(max(float(clock.begin[a]), origin), float(clock.t[b]))
        for a, b in zip(first[long], last[long], strict=True)
    )


def union(groups: list[tuple[Episode, ...]]) -> tuple[Episode, ...]:
    """The time in which any of `groups` has an episode, as episodes in order."""
    merged: list[Episode] = []
    for episode in sorted((e for g in groups for e in g), key=lambda e: (e.start_s, e.end_s)):
        if merged and episode.start_s <= merged[-1].end_s + _SLACK:
            merged[-1] = Episode(merged[-1].start_s, max(merged[-1].end_s, episode.end_s))
        else:
            merged.append(episode)
    return tuple(merged)
