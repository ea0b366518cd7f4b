"""What a scenario is, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpudiag.timeline.model import Timeline


@dataclass(frozen=True)
class Scenario:
    """One run with a known truth.

    `truth` are the rules of which one must be the top finding (empty: benign, nothing above
    information), `causes` those of which one must hold, `undecided` those that cannot be told apart
    from outside: none of them may hold or be ruled out. `hogs` programs fill cores beside the run,
    at the lowest priority where they are `niced`. `twin` is what changes in `spec` when the remedy
    is applied. A live scenario runs a `program` of programs/ with `spec` under the recorder; a made
    one has `make`, since hours or root would be needed. `light` ones use next to no CPU and may run
    beside each other.
    """

    name: str
    truth: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    twin: Mapping[str, Any] | None = None
    gpus: tuple[Mapping[str, Any], ...] = ({},)
    faults: tuple[Mapping[str, Any], ...] = ()
    undecided: tuple[str, ...] = ()
    hogs: int = 0
    niced: bool = False
    twin_hogs: int | None = None
    tenant_mib: int = 0
    light: bool = False
    fast: bool = False
    info: bool = False  # its finding is information
    short: bool = False  # meant to be too short for a verdict
    make: Callable[[], Timeline] | None = None
    program: str = "trainer.py"


@dataclass(frozen=True)
class Outcome:
    """What the diagnosis said. `rate` is batches a second, None where it was not measured."""

    scenario: Scenario
    twin: bool
    codes: tuple[str, ...]  # findings in order
    above_info: tuple[str, ...]
    held: tuple[str, ...]  # causes of the judged finding that hold
    bound: float | None
    rate: float | None
    sentence: str
    wall_s: float = 0.0  # of the recording
    failure: str = ""  # the run itself failed
    undecided: tuple[str, ...] = ()  # causes of it that are neither held nor ruled out

    @property
    def top(self) -> str:
        """The finding that counts: the first above information, or of all where that is meant."""
        said = self.codes if self.scenario.info and not self.above_info else self.above_info
        return said[0] if said else "-"

    @property
    def right(self) -> bool:
        """Whether the truth was said: the finding, the silence, or (twin) that it is gone."""
        if self.failure or ("Too short" in self.sentence and not self.scenario.short):
            return False
        truth = self.scenario.truth
        if self.twin:
            return not set(truth) & set(self.above_info)
        if not truth:
            return not self.above_info
        if self.scenario.info:
            return not self.above_info and bool(set(truth) & set(self.codes))
        causes = set(self.scenario.causes)
        return (
            self.top in truth
            and (not causes or bool(causes & set(self.held)))
            and set(self.scenario.undecided) <= set(self.undecided)
        )
