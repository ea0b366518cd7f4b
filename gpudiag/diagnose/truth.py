"""④ Three values: true, false, and not known, for one condition and for one at every tick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudiag.signals.clock import Mask


@dataclass(frozen=True)
class Unknown:
    """A value that cannot be told, and why (each reason once, in the order met)."""

    reasons: tuple[str, ...]

    @staticmethod
    def of(*values: object) -> Unknown:
        """All reasons of those of `values` that are Unknown."""
        reasons = (r for value in values if isinstance(value, Unknown) for r in value.reasons)
        return Unknown(tuple(dict.fromkeys(reasons)))


@dataclass(frozen=True)
class Truth:
    """A condition over the ticks: where it is true, where false, and where a reading lacks.

    A tick in none of the three is not known because a whole signal is missing (`unknown`).
    """

    true: Mask
    false: Mask
    gap: Mask
    unknown: Unknown = Unknown(())

    @property
    def open(self) -> Mask:
        """The ticks that a missing signal would have decided."""
        undecided: Mask = ~(self.true | self.false | self.gap)
        return undecided


Figure = float | Unknown
Condition = bool | Unknown


def kleene(op: str, values: list[Condition]) -> Condition:
    """`and` or `or` of conditions: one that decides is enough, whatever is unknown."""
    decides = op == "or"
    if any(value is decides for value in values):
        return decides
    unknown = Unknown.of(*values)
    return unknown if any(isinstance(value, Unknown) for value in values) else not decides


def join(op: str, parts: list[Truth]) -> Truth:
    """`and` or `or` of conditions over the ticks."""
    any_of, all_of = np.logical_or.reduce, np.logical_and.reduce
    trues, falses = [part.true for part in parts], [part.false for part in parts]
    if op == "and":
        true, false = all_of(trues), any_of(falses)
    else:
        true, false = any_of(trues), all_of(falses)
    # a tick with a missing reading counts neither way in a share, but Kleene's truth stands
    gap = any_of([part.gap for part in parts])
    return Truth(true, false, gap, Unknown.of(*(part.unknown for part in parts)))
