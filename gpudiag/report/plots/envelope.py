"""⑤ A long series in few points, so that a spike of one sample is still seen.

Each bucket of time keeps the lowest, the highest and the mean reading. Where no reading was taken
for longer than three sampling intervals the trace is interrupted: nothing is drawn across a gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Two pixels each on a sheet 776 wide: whole steps are short to write, finer ones are not seen.
BUCKETS = 388
_GAP_INTERVALS = 3.5  # one missed sample is common and means nothing; three in a row are a gap

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """Stretches without a gap: of readings as they are, or of buckets (`thinned`).

    Then `t_s` are the middles of the buckets; else `mean`, `low` and `high` are the same.
    """

    t_s: Array
    mean: Array
    low: Array
    high: Array
    starts: tuple[int, ...]  # where a new stretch begins, the first (0) included
    thinned: bool

    @property
    def stretches(self) -> list[slice]:
        """One slice a stretch."""
        ends = (*self.starts, len(self.t_s))[1:]
        return [slice(start, end) for start, end in zip(self.starts, ends, strict=True)]


def envelope(series: pd.Series[Any], start_s: float, end_s: float, buckets: int = BUCKETS) -> Trace:
    """The series between `start_s` and `end_s` in at most `buckets` buckets of equal time.

    Readings that are not finite are left out. The index is ascending seconds.
    """
    t_s = series.index.to_numpy(dtype=np.float64)
    value = series.to_numpy(dtype=np.float64)
    kept = np.isfinite(value) & np.isfinite(t_s)
    t_s, value = t_s[kept], value[kept]
    if len(t_s) == 0:
        return Trace(t_s, value, value, value, (), False)
    steps = np.diff(t_s)
    longest = _GAP_INTERVALS * float(np.median(steps)) if len(steps) else 0.0
    if len(t_s) <= 2 * buckets:
        breaks = np.flatnonzero(steps > longest) + 1
        return Trace(t_s, value, value, value, (0, *breaks.tolist()), False)
    span = max(end_s - start_s, 1e-9)
    bucket = np.clip(((t_s - start_s) / span * buckets).astype(np.int64), 0, buckets - 1)
    first = np.flatnonzero(np.diff(bucket, prepend=-1))
    count = np.diff(np.append(first, len(t_s)))
    silence = np.concatenate(([0.0], steps[first[1:] - 1]))
    apart = np.diff(bucket[first], prepend=-1) > 1
    breaks = np.flatnonzero(apart & (silence > longest) & (np.arange(len(first)) > 0))
    return Trace(
        t_s=start_s + (bucket[first] + 0.5) * span / buckets,
        mean=np.add.reduceat(value, first) / count,
        low=np.minimum.reduceat(value, first),
        high=np.maximum.reduceat(value, first),
        starts=(0, *breaks.tolist()),
        thinned=True,
    )
