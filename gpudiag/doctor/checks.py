"""Before ① record: all checks, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable

from gpudiag.doctor import place, tool, visible
from gpudiag.doctor.machine import Machine
from gpudiag.doctor.result import Result

CHECKS: tuple[Callable[[Machine], Result | list[Result] | None], ...] = (
    tool.answering,
    place.access,
    tool.fields,
    tool.sample_time,
    tool.health,
    visible.visible_gpus,
    visible.mig,
    tool.persistence,
    visible.cuda,
    place.container,
    place.process_numbers,
    place.hidden_processes,
    place.shared_memory,
    place.cores,
    place.memory,
    place.python,
    place.output,
    place.surroundings,
)


def check(machine: Machine) -> list[Result]:
    """What every check says of the machine; those that do not apply there say nothing."""
    said: list[Result] = []
    for one in CHECKS:
        result = one(machine)
        if isinstance(result, Result):
            said.append(result)
        elif result is not None:
            said += result
    return said
