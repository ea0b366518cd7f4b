"""① Which GPUs the run uses, and how we know: from what was seen, without a process or a clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from gpudiag.record.gpu_apps import App

# a CUDA context and its libraries take 300 to 800 MiB; the memory of a display flickers by less
CONTEXT_MIB = 100.0


class Use(NamedTuple):
    """The numbers of the GPUs; `certainty` orders the ways to know it, the best is 3."""

    gpus: tuple[int, ...]
    reason: str
    certainty: int


def pids_mean(
    apps: Sequence[App], tree: Collection[int], visible: Collection[int], whole_machine: bool
) -> bool | None:
    """Whether the PIDs that the driver reports are those of our /proc.

    The driver knows nothing of containers and reports the host's. `whole_machine` is whether we
    see those (the first PID namespace). None is not known yet.
    """
    pids = {app.pid for app in apps if app.pid is not None}
    if any(app.pid is None for app in apps):
        return False
    if whole_machine or pids & set(tree):
        return True
    if not pids:
        return None
    return None if pids & set(visible) else False


def by_processes(apps: Sequence[App], tree: Collection[int], numbers: Mapping[str, int]) -> Use:
    """The GPUs on which processes of the run hold a context; `numbers` is by UUID."""
    found = {numbers[app.uuid] for app in apps if app.pid in tree and app.uuid in numbers}
    return Use(tuple(sorted(found)), "processes of the run hold a context on them", 3)


def by_variable(
    values: Sequence[tuple[str | None, str | None]],
    facts: Sequence[Mapping[str, Any]],
    complete: bool,
) -> Use | None:
    """The GPUs that CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER of the training processes name.

    `complete` is whether `facts` are those of all GPUs of the machine. None if one of the processes
    sees all GPUs, or a name cannot be resolved.
    """
    found: set[int] = set()
    for visible, order in values:
        listed = None if visible is None else _listed(visible, order, facts, complete)
        if listed is None:
            return None
        found |= listed
    if not found:
        return None
    return Use(tuple(sorted(found)), "CUDA_VISIBLE_DEVICES of its training processes", 2)


def by_memory(first: Mapping[int, float], last: Mapping[int, float]) -> Use | None:
    """The GPUs whose memory is higher than when the run began, in MiB by number."""
    risen = sorted(gpu for gpu in last if last[gpu] - first.get(gpu, last[gpu]) >= CONTEXT_MIB)
    if not risen:
        return None
    return Use(tuple(risen), "their memory has risen since the run began", 1)


def _listed(
    visible: str, order: str | None, facts: Sequence[Mapping[str, Any]], complete: bool
) -> set[int] | None:
    # CUDA counts GPUs of mixed models by speed, nvidia-smi by slot
    counted_alike = order == "PCI_BUS_ID" or len({gpu.get("name") for gpu in facts}) == 1
    known = {int(gpu["index"]) for gpu in facts}
    found: set[int] = set()
    for name in (part.strip() for part in visible.split(",")):
        if name.isascii() and name.isdigit() and len(name) <= 4:
            if not counted_alike:
                return None
            if int(name) in known:
                found.add(int(name))
            elif complete:
                break  # CUDA leaves out everything from the first invalid name on
        elif name.startswith(("GPU-", "MIG-")):
            gpu = _by_uuid(name, facts)
            if gpu is None:
                return None
            found.add(gpu)
        else:
            break
    return found


def _by_uuid(name: str, facts: Sequence[Mapping[str, Any]]) -> int | None:
    """A GPU by its UUID or the beginning of it; a MIG device by the GPU it is a part of."""
    if name.startswith("MIG-GPU-"):  # the older form names the GPU as well
        name = name.removeprefix("MIG-").split("/")[0]
    if name.startswith("GPU-"):
        matches = [gpu for gpu in facts if str(gpu.get("uuid", "")).startswith(name)]
    else:
        matches = [gpu for gpu in facts if gpu.get("mig") == "Enabled"]
    return int(matches[0]["index"]) if len(matches) == 1 else None
