"""③ Does a memory series creep? Benign shapes against leak shapes, by BIC, on floors of the series.

A trend test alone calls 60 to 100 % of warm-ups, high-water marks and evaluation phases a leak. So
the minimum of each of 24 equal windows is taken (which removes sawtooths and short peaks), benign
and growing shapes are fitted to these, and growth is believed only if it explains them clearly
better, goes on in the last third, and does not rest on one jump. Regular steps (stairs.py) count,
too. Where the memory grew and neither can be said, the answer is that it cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from gpudiag.signals.stairs import Stairs, find_stairs

Array = npt.NDArray[np.float64]

WINDOWS = 24
NOISE_MIB = 4.0  # readings are whole MiB and allocators work in 2 MiB pages
MARGIN = 6.0  # BIC difference that counts as strong evidence (Kass and Raftery 1995)
GROWTH_MIB = 256.0
GROWTH_SHARE = 0.01  # of the capacity
NOTABLE_MIB = 512.0  # growth that is worth a word, …
NOTABLE_SHARE = 0.02  # … or this share of the capacity, if more
RECENT_SHARE = 0.5  # the last third must grow at half the overall slope
# Where the record begins on a logarithm, as a share of its length: a tenth is left out before.
LOG_OFFSETS = (0.02, 0.04, 0.07, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.23, 0.26)
TAUS = (0.03, 0.06, 0.12, 0.25, 0.50)  # of the length: how fast a warm-up levels off


@dataclass(frozen=True)
class Creep:
    """What the detector found. Slopes in MiB/s, the rest in MiB; `growing` is its verdict.

    `margin` is BIC(best benign) - BIC(best growing): positive favours growth. `low` and `high` are
    the 95 % interval of the slope. `jump` is the largest single rise of the floors. `late` is the
    rise in the last two thirds above all floors of the first. `stairs` are set where it grows in
    regular steps, which then give the slope.
    """

    growing: bool
    slope: float
    low: float
    high: float
    growth: float
    margin: float
    jump: float
    rises: int
    benign: str
    late: float
    stairs: Stairs | None = None

    def unclear(self, capacity_mib: float | None) -> str:
        """Why neither growth nor its absence can be said; empty if one of them can."""
        if self.growing or self.late <= notable(capacity_mib):
            return ""
        shape = {"logarithmic": "more and more slowly", "levelling off": "more and more slowly"}
        return (
            f"it rose by {self.late:.0f} MiB in the last two thirds of the time, "
            f"{shape.get(self.benign, 'but neither steadily nor in regular steps')}: "
            "whether it goes on cannot be told"
        )


def notable(capacity_mib: float | None) -> float:
    """512 MiB, or 2 % of the capacity if that is known and more."""
    return max(NOTABLE_MIB, NOTABLE_SHARE * (capacity_mib or 0.0))


def floors(t: Array, memory: Array) -> tuple[Array, Array]:
    """The minimum of `memory` in each of 24 windows of equal length: (their middles, minima)."""
    edges = np.linspace(t[0], t[-1], WINDOWS + 1)
    place = np.clip(np.searchsorted(edges, t, side="right") - 1, 0, WINDOWS - 1)
    middles, minima = [], []
    for window in range(WINDOWS):
        inside = memory[place == window]
        if len(inside):
            middles.append((edges[window] + edges[window + 1]) / 2)
            minima.append(float(inside.min()))
    return np.asarray(middles), np.asarray(minima)


def detect(t: Array, memory: Array, capacity_mib: float | None) -> Creep | None:
    """Judge a memory series in MiB over seconds; None where its windows are too empty."""
    x, f = floors(t, memory)
    if len(x) < WINDOWS - 4:
        return None
    length = float(t[-1] - t[0])
    u = (x - x[0]) / length
    benign = _benign(u, f)
    linear = _fit(f, np.ones_like(u), u)
    growing: list[tuple[float, float]] = [(_bic(linear[1], len(f), 2), linear[0][1])]
    for tau in TAUS:
        beta, rss = _fit(f, np.ones_like(u), u, np.exp(-u / tau))
        growing.append((_bic(rss, len(f), 4), beta[1]))
    best_benign = min(benign, key=lambda name: benign[name])
    best, rise = min(growing)
    slope = rise / length
    steps = np.diff(f)
    third = slice(-(len(f) // 3), None)
    recent, _, _ = theil_sen(x[third], f[third])
    middle, low, high = theil_sen(x[len(x) // 3 :], f[len(f) // 3 :])
    least = max(GROWTH_MIB, GROWTH_SHARE * (capacity_mib or 0.0))
    jump = float(max(steps.max(), 0.0))
    growth = float(f[-1] - f[0])
    margin = benign[best_benign] - best
    verdict = (
        margin >= MARGIN
        and slope > 0
        and rise >= least
        and recent >= RECENT_SHARE * slope
        and int((np.diff(f[third]) > 0).sum()) >= 2
        and (jump <= 0.5 * growth or growth - jump >= least)
    )
    stairs = find_stairs(t, memory)
    if stairs is not None and stairs.count * stairs.size < least:
        stairs = None
    late = max(growth_after_a_third(f), 0.0)
    if stairs is not None:
        return Creep(
            True, stairs.slope, stairs.low / stairs.latest, stairs.high / stairs.soonest,
            growth, float(margin), jump, int((steps > NOISE_MIB).sum()), best_benign, late, stairs,
        )  # fmt: skip
    stated = min(slope, recent) if verdict else middle
    return Creep(
        growing=bool(verdict),
        slope=float(stated),
        low=float(min(low, stated)),
        high=float(max(high, stated)),
        growth=growth,
        margin=float(margin),
        jump=jump,
        rises=int((steps > NOISE_MIB).sum()),
        benign=best_benign,
        late=late,
    )


def growth_after_a_third(f: Array) -> float:
    """The last floor less the highest of the first third."""
    return float(f[-1] - f[: len(f) // 3 + 1].max())


def _benign(u: Array, f: Array) -> dict[str, float]:
    """The BIC of each benign shape: flat, one or two steps, logarithmic, levelling off."""
    n = len(f)
    one = np.ones_like(u)
    shapes = {"flat": _bic(_fit(f, one)[1], n, 1)}
    shapes["one step"] = min(_bic(_stairs(f, (cut,)), n, 3) for cut in range(1, n))
    pairs = combinations(range(1, n), 2)
    shapes["two steps"] = min(_bic(_stairs(f, pair), n, 5) for pair in pairs)
    shapes["logarithmic"] = min(
        _bic(_fit(f, one, np.log(u + offset))[1], n, 3) for offset in LOG_OFFSETS
    )
    shapes["levelling off"] = min(_bic(_fit(f, one, np.exp(-u / tau))[1], n, 3) for tau in TAUS)
    return shapes


def _stairs(f: Array, cuts: Sequence[int]) -> float:
    """The squared error of the best constant between each two cuts."""
    edges = (0, *cuts, len(f))
    sums, squares = _sums(f)
    error = 0.0
    for low, high in pairwise(edges):
        total = sums[high] - sums[low]
        error += (squares[high] - squares[low]) - total * total / (high - low)
    return max(error, 0.0)


def _sums(f: Array) -> tuple[Array, Array]:
    centred = f - f.mean()  # keeps the difference of squares exact
    return (
        np.concatenate(([0.0], np.cumsum(centred))),
        np.concatenate(([0.0], np.cumsum(centred**2))),
    )


def _fit(f: Array, *basis: Array) -> tuple[Array, float]:
    """Least squares of `f` on `basis`: (coefficients, squared error)."""
    matrix = np.column_stack(basis)
    beta, _, _, _ = np.linalg.lstsq(matrix, f, rcond=None)
    return np.asarray(beta, dtype=np.float64), float(((f - matrix @ beta) ** 2).sum())


def _bic(rss: float, n: int, parameters: int) -> float:
    return float(n * np.log(max(rss / n, NOISE_MIB**2)) + parameters * np.log(n))


def theil_sen(x: Array, y: Array) -> tuple[float, float, float]:
    """Median slope of all pairs of points, and its 95 % interval (Sen 1968)."""
    first, second = np.triu_indices(len(x), k=1)
    slopes = np.sort((y[second] - y[first]) / (x[second] - x[first]))
    n = len(x)
    spread = 1.96 * np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = int(np.clip(np.floor((len(slopes) - spread) / 2), 0, len(slopes) - 1))
    high = int(np.clip(np.ceil((len(slopes) + spread) / 2), 0, len(slopes) - 1))
    return float(np.median(slopes)), float(slopes[low]), float(slopes[high])
