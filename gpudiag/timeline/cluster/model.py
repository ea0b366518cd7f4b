"""② A run on several machines: every machine's own timeline, and all GPUs on one clock."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiag.timeline.model import Timeline


@dataclass(frozen=True)
class Clock:
    """How far a machine's clock is ahead of the first one's, in seconds; by how much that may be
    off. None is not known: then the clocks are taken to agree."""

    ahead_s: float | None = None
    error_s: float | None = None


@dataclass(frozen=True)
class Node:
    """One machine: its name, its timeline with its own numbers of GPUs, and their numbers in the
    whole (`gpus`, in the order of `local`). Its time 0 is `begin_s` of the whole."""

    name: str
    timeline: Timeline
    local: tuple[int, ...]
    gpus: tuple[int, ...]
    clock: Clock
    begin_s: float

    @property
    def numbers(self) -> dict[int, int]:
        """The number in the whole of each of its GPUs."""
        return dict(zip(self.local, self.gpus, strict=True))

    @property
    def names(self) -> dict[int, str]:
        """What each of its GPUs is called."""
        return {local: f"{self.name}:{local}" for local in self.local}


@dataclass(frozen=True)
class ClusterTimeline(Timeline):
    """All GPUs on the clock of the first machine; what is of a machine alone stands in `nodes`."""

    nodes: tuple[Node, ...] = ()
