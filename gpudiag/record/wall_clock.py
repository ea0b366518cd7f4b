"""① Whether the clock on the wall was set while the run was recorded.

The times of a recording are those of the monotonic clock, which nobody can set. But what is laid
beside it (logs, marks of other programs) bears the time on the wall, and there a step matters.
"""

from __future__ import annotations

STEP_S = 1.0  # NTP corrects less by running slower or faster (500 ppm), which is no step


class WallClock:
    """`now` and `monotonic` are both in seconds, read one after the other."""

    def __init__(self, now: float, monotonic: float) -> None:
        self._ahead = now - monotonic

    def step(self, now: float, monotonic: float) -> float | None:
        """By how much it was set since the last look; None if by less than a second."""
        ahead = now - monotonic
        step, self._ahead = ahead - self._ahead, ahead
        return step if abs(step) >= STEP_S else None
