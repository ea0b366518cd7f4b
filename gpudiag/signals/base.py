"""③ What a signal is: a named quantity computed from a Timeline, or the reason why it is absent.

Signals say what was; rules (④) say what it means. `@signal` puts a function on the visible list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pandas as pd

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet


@dataclass(frozen=True)
class Missing:
    """A signal that cannot be computed, and why, as the end of "cannot be checked, because …"."""

    reason: str


Value = float | pd.Series | Missing
Kind = Literal["figure", "series"]
Scope = Literal["run", "gpu"]
Compute = Callable[["SignalSet", int | None], Value]


@dataclass(frozen=True)
class SignalSpec:
    """A signal: its name, unit, whether it is one figure or a series over the ticks, and its scope.

    `meaning` is one sentence for docs/signals.md: definition, formula, and its source.
    """

    name: str
    kind: Kind
    unit: str
    scope: Scope
    meaning: str
    compute: Compute


REGISTRY: dict[str, SignalSpec] = {}


def signal(
    name: str, kind: Kind, unit: str, scope: Scope, meaning: str
) -> Callable[[Compute], Compute]:
    """Register a function `(signals, gpu) -> float | Series | Missing` as signal `name`.

    `gpu` is None for scope "run". A series has the index of the frame; NaN is "not measured".
    Raises ValueError if the name is taken.
    """

    def register(compute: Compute) -> Compute:
        if name in REGISTRY:
            raise ValueError(f"signal {name!r} is registered twice")
        REGISTRY[name] = SignalSpec(name, kind, unit, scope, meaning, compute)
        return compute

    return register
