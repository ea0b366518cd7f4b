"""④ What a comparison says: frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpudiag.diagnose.model import Diagnosis
from gpudiag.timeline.model import Timeline

Outcome = Literal["faster", "slower", "no difference", "cannot tell"]
Basis = Literal["marks", "run time", "GPU work", ""]
# less, more: the finding is in both, and its cost changed; unchecked: it could not be checked in
# one of the two; covered: in one of the two a more specific finding says the same
Kind = Literal["gone", "new", "less", "more", "same", "unchecked", "covered"]


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    name: str
    timeline: Timeline
    diagnosis: Diagnosis


@dataclass(frozen=True)
class Estimate:
    """A figure and its interval of 95 %; without one where nothing says how it varies."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Quantity:
    """One figure of both runs in `unit`; `change` is after minus before. None is not known."""

    name: str
    unit: str
    before: float | None
    after: float | None
    change: Estimate | None


@dataclass(frozen=True)
class PartPair:
    """A part of the time ledger in both runs: seconds of one GPU, and shares of all of it.

    None where that run's GPU time cannot be split.
    """

    name: str
    title: str
    before_s: float | None
    after_s: float | None
    before_share: float | None
    after_share: float | None


@dataclass(frozen=True)
class Change:
    """What became of one finding; `reason` is why it could not be checked in one of the runs."""

    code: str
    name: str
    title: str
    kind: Kind
    before_cost: float | None
    after_cost: float | None
    summary: str
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """`after` against `before`. `speed` is how many times as fast: above 1 is faster."""

    before: Side
    after: Side
    outcome: Outcome
    basis: Basis
    speed: Estimate | None
    sentence: str
    notes: tuple[str, ...]
    parts: tuple[PartPair, ...]
    changes: tuple[Change, ...]
    quantities: tuple[Quantity, ...]
