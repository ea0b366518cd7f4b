"""④ Expressions over the signals of one run, in three values: true, false, and not known.

A missing signal is `Unknown`, with the reason; so is a division by zero. `false and unknown` is
false, `true or unknown` is true, every other mixture is unknown (Kleene). In a series a NaN makes
no condition true.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd

from gpudiag.diagnose.functions import FUNCTIONS, Array
from gpudiag.diagnose.nodes import Node
from gpudiag.diagnose.truth import Condition, Figure, Truth, Unknown, join, kleene
from gpudiag.signals.base import Missing, Value
from gpudiag.signals.clock import Mask
from gpudiag.timeline.model import Timeline

_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


class Signals(Protocol):
    """What the engine needs of `signals.compute.SignalSet`."""

    @property
    def timeline(self) -> Timeline: ...

    @property
    def gpus(self) -> tuple[int, ...]: ...

    @property
    def why_no_gpus(self) -> str: ...

    @property
    def active(self) -> pd.Series | Missing: ...

    def get(self, name: str, gpu: int | None = None) -> Value: ...


class Evaluator:
    """Computes Nodes over one run; functions of one GPU are reckoned once."""

    def __init__(self, signals: Signals) -> None:
        self.signals = signals
        self._figures: dict[tuple[Node, int | None], Figure] = {}
        self._length = len(signals.timeline.frame)
        active = signals.active
        self._active: Mask | Unknown = (
            Unknown((active.reason,))
            if isinstance(active, Missing)
            else active.to_numpy(dtype=bool, na_value=False)
        )

    def figure(self, node: Node, gpu: int | None = None, cost: Figure | None = None) -> Figure:
        """The figure of a node of kind `figure`, finite; `cost` is what that name stands for."""
        if node.op == "number":
            return node.number
        if node.op == "cost":
            return Unknown(("no cost can be given",)) if cost is None else cost
        if node.op == "name":
            return self._signal_figure(node, gpu)
        if node.op not in FUNCTIONS:
            return _reckon(node.op, [self.figure(arg, gpu, cost) for arg in node.args])
        key = (node, gpu if node.per_gpu else None)
        if node.uses_cost:
            return self._call(node, gpu, cost)
        if key not in self._figures:
            self._figures[key] = self._call(node, gpu, cost)
        return self._figures[key]

    def condition(
        self, node: Node, gpu: int | None = None, cost: Figure | None = None
    ) -> Condition:
        """Whether a node of kind `condition` holds."""
        if node.op in ("and", "or"):
            return kleene(node.op, [self.condition(arg, gpu, cost) for arg in node.args])
        left, right = (self.figure(arg, gpu, cost) for arg in node.args)
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return Unknown.of(left, right)
        return bool(_COMPARE[node.op](left, right))

    def series(
        self, node: Node, gpu: int | None = None, cost: Figure | None = None
    ) -> Array | Unknown:
        """One value a tick, NaN where nothing was measured."""
        if node.op == "name":
            value = self.signals.get(node.name, gpu if node.per_gpu else None)
            if isinstance(value, Missing):
                return Unknown((value.reason,))
            return cast(pd.Series, value).to_numpy(dtype=np.float64, na_value=np.nan)
        sides = [self._side(arg, gpu, cost) for arg in node.args]
        if any(isinstance(side, Unknown) for side in sides):
            return Unknown.of(*sides)
        with np.errstate(all="ignore"):
            known = [cast(Array, side) for side in sides]
            if node.op == "negative":
                result = -known[0]
            elif node.op == "/":
                result = np.asarray(known[0] / np.where(known[1] == 0, np.nan, known[1]))
            else:
                result = np.asarray(_ARITHMETIC[node.op](known[0], known[1]))
        return np.where(np.isfinite(result), result, np.nan)

    def truth(self, node: Node, gpu: int | None = None, cost: Figure | None = None) -> Truth:
        """A node of kind `series condition` (or `condition`, the same at every tick)."""
        if node.kind == "condition":
            return self._constant(self.condition(node, gpu, cost))
        if node.op in ("and", "or"):
            return join(node.op, [self.truth(arg, gpu, cost) for arg in node.args])
        sides = [self._side(arg, gpu, cost) for arg in node.args]
        if any(isinstance(side, Unknown) for side in sides):
            return self._constant(Unknown.of(*sides))
        left, right = (np.broadcast_to(cast(Array, side), (self._length,)) for side in sides)
        gap = np.isnan(left) | np.isnan(right)
        true = np.asarray(_COMPARE[node.op](left, right)) & ~gap
        return Truth(true, ~true & ~gap, gap)

    def _side(self, node: Node, gpu: int | None, cost: Figure | None) -> Array | Unknown:
        """A series, or a figure as an array that broadcasts."""
        if node.kind == "series":
            return self.series(node, gpu, cost)
        figure = self.figure(node, gpu, cost)
        return figure if isinstance(figure, Unknown) else np.asarray(figure)

    def _constant(self, value: Condition) -> Truth:
        none = np.zeros(self._length, dtype=bool)
        if isinstance(value, Unknown):
            return Truth(none, none, none, value)
        return Truth(~none, none, none) if value else Truth(none, ~none, none)

    def _signal_figure(self, node: Node, gpu: int | None) -> Figure:
        value = self.signals.get(node.name, gpu if node.per_gpu else None)
        if isinstance(value, Missing):
            return Unknown((value.reason,))
        figure = float(cast(float, value))
        return figure if math.isfinite(figure) else Unknown((f"{node.name} is not a figure",))

    def _call(self, node: Node, gpu: int | None, cost: Figure | None) -> Figure:
        over = FUNCTIONS[node.op].over
        if over == "gpus":
            return self._over_gpus(node, cost)
        if over == "figures":
            return _known(node, [self.figure(arg, gpu, cost) for arg in node.args])
        return self._over_time(node, gpu, cost, self._active if over == "active" else None)

    def _over_gpus(self, node: Node, cost: Figure | None) -> Figure:
        if not self.signals.gpus:
            return Unknown((self.signals.why_no_gpus,))
        (argument,) = node.args
        if argument.kind == "condition":
            held = [self.condition(argument, gpu, cost) for gpu in self.signals.gpus]
            return _known(node, held)
        figures = [self.figure(argument, gpu, cost) for gpu in self.signals.gpus]
        # as a mean over time leaves out what was not measured; only conditions must all be known
        known = [figure for figure in figures if not isinstance(figure, Unknown)]
        return _known(node, known) if known else Unknown.of(*figures)

    def _over_time(
        self, node: Node, gpu: int | None, cost: Figure | None, window: Mask | Unknown | None
    ) -> Figure:
        if isinstance(window, Unknown):
            return window
        (argument,) = node.args
        if argument.kind == "series":
            values = self.series(argument, gpu, cost)
            if isinstance(values, Unknown):
                return values
            chosen = values if window is None else values[window]
            return _statistic(node, chosen[~np.isnan(chosen)])
        truth = self.truth(argument, gpu, cost)
        rows = ~truth.gap if window is None else ~truth.gap & window
        if (truth.open & rows).any():
            return truth.unknown
        return _statistic(node, truth.true[rows].astype(np.float64))


def _known(node: Node, values: Sequence[Figure | Condition]) -> Figure:
    if any(isinstance(value, Unknown) for value in values):
        return Unknown.of(*values)
    return _statistic(node, np.array(values, dtype=np.float64))


def _statistic(node: Node, values: Array) -> Figure:
    if not values.size:
        where = "while the run was active" if FUNCTIONS[node.op].over == "active" else "at all"
        return Unknown((f"{node.args[0].text} has no reading {where}",))
    with np.errstate(all="ignore"):
        result = FUNCTIONS[node.op].reckon(values)
    return result if math.isfinite(result) else Unknown((f"{node.text} is not a figure",))


def _reckon(op: str, sides: list[Figure]) -> Figure:
    """Arithmetic on figures, without its exceptions."""
    if any(isinstance(side, Unknown) for side in sides):
        return Unknown.of(*sides)
    known = [cast(float, side) for side in sides]
    if op == "negative":
        return -known[0]
    if op == "/" and known[1] == 0:
        return Unknown(("a figure to divide by is zero",))
    result = known[0] / known[1] if op == "/" else _ARITHMETIC[op](known[0], known[1])
    return result if math.isfinite(result) else Unknown(("a figure is too large",))
