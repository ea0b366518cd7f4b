"""④ What an expression is made of: names that have a meaning, and checked nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpudiag.errors import RuleError
from gpudiag.signals.base import SignalSpec
from gpudiag.timeline.columns import COLUMNS

Kind = Literal["figure", "series", "condition", "series condition"]


class ExpressionError(RuleError):
    """What is wrong with an expression or a text with holes, and at which column (from 1)."""

    def __init__(self, problem: str, column: int) -> None:
        super().__init__(f"column {column}: {problem}")
        self.problem = problem
        self.column = column


@dataclass(frozen=True)
class Symbol:
    """What a name stands for: one figure or a series over the ticks, of the run or of each GPU."""

    kind: Literal["figure", "series"]
    per_gpu: bool


@dataclass(frozen=True)
class Node:
    """A checked part of an expression.

    `op` is `number`, `name`, `cost`, an operator, or a function's name; `per_gpu` says that its
    value differs from GPU to GPU, `uses_cost` that it depends on the cost of the finding.
    """

    op: str
    kind: Kind
    args: tuple[Node, ...] = ()
    name: str = ""
    number: float = 0.0
    per_gpu: bool = False
    uses_cost: bool = False
    text: str = field(default="", compare=False)
    column: int = field(default=1, compare=False)


@dataclass(frozen=True)
class Context:
    """What an expression may name: symbols, a rule's thresholds, perhaps `cost`, and GPUs.

    `per_gpu` is true where a GPU is given (scope "gpu"); elsewhere what is measured for each GPU
    must stand inside `gpus_…()`.
    """

    symbols: Mapping[str, Symbol]
    thresholds: Mapping[str, float] = field(default_factory=dict)
    cost: bool = False
    per_gpu: bool = False


def vocabulary(registry: Mapping[str, SignalSpec]) -> dict[str, Symbol]:
    """Every name that rules may use: the columns of run.csv as series, and the signals."""
    symbols = {
        f"gpu_{column.name}" if column.scope == "gpu" else column.name: Symbol(
            "series", column.scope == "gpu"
        )
        for column in COLUMNS
        if column.scope != "rank" and column.name != "t_s"
    }
    for name, spec in registry.items():
        symbols[name] = Symbol(spec.kind, spec.scope == "gpu")
    return symbols
