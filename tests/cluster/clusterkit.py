"""What the tests of runs on several machines share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudiag.timeline.model import Timeline
from tests.scenarios.machines import machine

SECONDS, NODES, GPUS = 600, 8, 8


def machines(kind: str = "healthy", count: int = NODES, gpus: int = GPUS) -> list[Timeline]:
    """The recordings of a run on so many machines."""
    return [machine(kind, place, SECONDS, count, gpus) for place in range(count)]


def with_start(timeline: Timeline, **facts: Any) -> Timeline:
    """The recording with other facts in its start line."""
    return replace(timeline, start={**timeline.start, **facts})
