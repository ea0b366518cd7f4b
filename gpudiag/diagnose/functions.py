"""④ The functions of the expression language: what each takes, and how it is reckoned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Statistic = Callable[[Array], float]


@dataclass(frozen=True)
class Function:
    """A function: what it reckons over, the kind and number of its arguments, and the figure.

    `over` is `active` (the samples of the active window), `whole` (all samples), `gpus` (one figure
    for each GPU) or `figures` (its arguments). `reckon` gets the known values only, at least one.
    For conditions these are 1 and 0.
    """

    over: Literal["active", "whole", "gpus", "figures"]
    argument: Literal["figure", "series", "condition", "series condition"]
    reckon: Statistic
    fewest: int = 1
    most: int = 1

    @property
    def takes(self) -> str:
        """Its arguments in words."""
        each = " for each GPU" if self.over == "gpus" else ""
        if self.most > 1:
            return f"{self.fewest} or more {self.argument}s"
        return f"one {self.argument}{each}"


def _mean(values: Array) -> float:
    return float(np.mean(values))


def _percentile(percent: float) -> Statistic:
    return lambda values: float(np.percentile(values, percent))


_STATISTICS: Mapping[str, Statistic] = {
    "mean": _mean,
    "median": lambda values: float(np.median(values)),
    "min": lambda values: float(np.min(values)),
    "max": lambda values: float(np.max(values)),
}

FUNCTIONS: Mapping[str, Function] = {
    **{name: Function("active", "series", reckon) for name, reckon in _STATISTICS.items()},
    "p5": Function("active", "series", _percentile(5)),
    "p95": Function("active", "series", _percentile(95)),
    "std": Function("active", "series", lambda values: float(np.std(values))),
    "share": Function("active", "series condition", _mean),
    **{f"whole_{name}": Function("whole", "series", fn) for name, fn in _STATISTICS.items()},
    "whole_share": Function("whole", "series condition", _mean),
    **{f"gpus_{name}": Function("gpus", "figure", fn) for name, fn in _STATISTICS.items()},
    "gpus_count": Function("gpus", "condition", lambda values: float(np.sum(values))),
    "abs": Function("figures", "figure", lambda values: float(abs(values[0]))),
    "least": Function("figures", "figure", lambda values: float(np.min(values)), 2, 20),
    "most": Function("figures", "figure", lambda values: float(np.max(values)), 2, 20),
}
