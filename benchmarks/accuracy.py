"""How right the diagnosis is: `python benchmarks/accuracy.py [--kind made] [--repeat 3]`.

Runs the scenarios of tests/scenarios, each with one known cause or benign, and prints the
confusion table, precision, recall, and for each fixed twin the predicted bound against the realised
speed-up. Live scenarios use real processes and real CPU, so a machine that does other work shows
foreign load, as it should: run it alone. The memory detector is tried apart, on seeded generators
that it was not tuned on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gpudiag.signals.creep import detect  # noqa: E402
from tests.scenarios.__main__ import main as run_scenarios  # noqa: E402

SERIES = 60
CAPACITY = 81_559.0
Curve = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _warm_up(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Levels off, as slowly as in seven minutes."""
    return 8000 + rng.uniform(500, 6000) * (1 - np.exp(-t / rng.uniform(20, 400)))


def _fragments(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A logarithm in pieces of 20 MiB."""
    grown = rng.uniform(100, 800) * np.log1p(t / rng.uniform(10, 120))
    return 8000 + 20 * np.floor(grown / 20)


def _highest(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The largest batch so far, of lengths with a long tail."""
    return 6000 + np.maximum.accumulate(rng.lognormal(5, rng.uniform(0.3, 0.8), len(t)))


def _steps(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Up to three new phases."""
    values = np.full(len(t), 6000.0)
    for _ in range(rng.integers(1, 4)):
        values += np.where(t > rng.uniform(0, t[-1]), rng.uniform(300, 4000), 0)
    return values


def _evaluation(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Phases with more memory, kept by the allocator or not."""
    period = rng.uniform(120, 500)
    more = ((t + period * rng.random()) % period) > 0.8 * period
    values = 6000 + rng.uniform(500, 6000) * more
    return np.maximum.accumulate(values) if rng.random() < 0.5 else values


def _sawtooth(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 5000 + rng.uniform(500, 6000) * ((t / rng.uniform(40, 400) + rng.random()) % 1)


BENIGN = {
    "warm-up": _warm_up, "fragments": _fragments, "highest so far": _highest, "new phases": _steps,
    "evaluation": _evaluation, "sawtooth": _sawtooth,
}  # fmt: skip


def _settled(curve: Curve, minutes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    t = np.arange(minutes * 60.0)
    keep = t >= max(30.0, 0.1 * t[-1])
    return t[keep], np.round(curve(t, np.random.default_rng(seed)))[keep]


def _share(curve: Curve, minutes: int) -> float:
    found = [detect(*_settled(curve, minutes, seed), CAPACITY) for seed in range(SERIES)]
    return sum(creep is not None and creep.growing for creep in found) / SERIES


def _leak(rate: float) -> Curve:
    """A warm-up, then steps of 2 to 400 MiB, in a third of the series under a sawtooth."""

    def curve(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        step = rng.choice([2, 20, 64, 400])
        warm = rng.uniform(200, 3000) * (1 - np.exp(-t / rng.uniform(10, 120)))
        saw = rng.uniform(100, 800) * ((t / rng.uniform(40, 200)) % 1) * (rng.random() < 1 / 3)
        return 5000 + warm + saw + step * np.floor(rate * t / 60 / step)

    return curve


def _time_to_full(rate: float, minutes: int) -> float:
    """Share of linear leaks whose time to a full GPU is within 20 % of the truth."""
    good = 0
    for seed in range(SERIES):
        t, memory = _settled(_leak(rate), minutes, seed)
        found = detect(t, memory, CAPACITY)
        if found is not None and found.growing:
            said = (CAPACITY - memory[-1]) / found.slope
            good += abs(said / ((CAPACITY - memory[-1]) / (rate / 60)) - 1) <= 0.2
    return good / SERIES


def memory_detector() -> None:
    """Print false and true positives by length."""
    print(f"memory detector, {SERIES} seeded series each: share called growing")
    print(f"{'':18}" + "".join(f"{minutes:>6} min" for minutes in (10, 20, 30)))
    for name, curve in BENIGN.items():
        shares = [_share(curve, minutes) for minutes in (10, 20, 30)]
        print(f"  {name:16}" + "".join(f"{share:>10.0%}" for share in shares))
    for rate in (60, 200, 1000):
        shares = [_share(_leak(rate), minutes) for minutes in (10, 20, 30)]
        print(f"  {rate:4} MiB/min    " + "".join(f"{share:>10.0%}" for share in shares))
    print(f"time to full within 20 % (200 MiB/min, 20 min): {_time_to_full(200, 20):.0%}\n")


if __name__ == "__main__":
    memory_detector()
    sys.exit(run_scenarios())
