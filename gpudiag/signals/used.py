"""③ Which GPUs the run uses, and how we know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudiag.timeline.model import Timeline

# Below this the driver's figure is noise of a desktop or of the query itself.
NEVER_BUSY_PCT = 5.0
# A CUDA context and its libraries take 300 to 800 MiB; 100 MiB is above any display's flicker.
CONTEXT_MIB = 100.0
# A framework takes longer than this to import and to make a context.
EARLY_S = 5.0


@dataclass(frozen=True)
class UsedGpus:
    """The GPUs of the run, those of them that ever worked, and how the choice was made.

    `meant` is true where the run itself says which GPUs it was given, so that an idle one among
    them is certainly lost. `others` are GPUs of the recording that are not counted to the run.
    """

    gpus: tuple[int, ...]
    working: tuple[int, ...]
    others: tuple[int, ...]
    meant: bool
    reason: str


def used_gpus(timeline: Timeline) -> UsedGpus:
    """The GPUs that the run of `timeline` uses.

    CUDA_VISIBLE_DEVICES decides where it can be read: by UUID, or by index where all GPUs are of
    one model (CUDA orders mixed models by speed, the driver by slot) or the order is set to
    PCI_BUS_ID. Else what the recorder last said counts (an event gpus-used: it sees which
    processes hold a context, and the environment of every rank). Else a recorded command uses the
    GPUs on which a process of it was seen, or whose memory rose after its start, and a log the GPUs
    that were ever above 5 %. A recording in which others' GPUs alone worked uses none: `reason`
    says so.
    """
    every = timeline.gpus
    seen = tuple(gpu for gpu in every if _peak(timeline, gpu, "own_procs") >= 1)
    busy = tuple(gpu for gpu in every if _peak(timeline, gpu, "util_pct") > NEVER_BUSY_PCT)
    risen = tuple(gpu for gpu in every if _rise(timeline, gpu) >= CONTEXT_MIB)
    env = timeline.start.get("env")
    visible = env.get("CUDA_VISIBLE_DEVICES") if isinstance(env, Mapping) else None
    if isinstance(visible, str):
        listed = visible_gpus(visible, timeline, env if isinstance(env, Mapping) else {})
        if listed:
            given = tuple(sorted(set(listed)))
            return _choice(timeline, given, busy, True, f"CUDA_VISIBLE_DEVICES={visible}")
    told = _told(timeline)
    if told is not None:
        gpus, reason = told
        return _choice(timeline, gpus, busy, "CUDA_VISIBLE_DEVICES" in reason, reason)
    if seen:
        return _choice(timeline, seen, busy, False, "processes of the run were seen on them")
    if timeline.start.get("command") and risen:
        reason = "their memory rose after the command was started"
        return _choice(timeline, risen, busy, False, reason)
    if busy and timeline.start.get("command") and _held_throughout(timeline, busy):
        return UsedGpus((), (), every, False, _whose(busy))
    if busy:
        return _choice(timeline, busy, busy, False, "their utilisation was ever above 5 %")
    if risen:
        return _choice(timeline, risen, busy, False, "their memory rose during the recording")
    return _choice(timeline, every, busy, False, "no GPU did anything, so all are listed")


def _held_throughout(timeline: Timeline, gpus: tuple[int, ...]) -> bool:
    """Whether memory was in use on all of `gpus` at the first reading, and never rose after.

    A recording begins before its command: a program that uses a GPU must first take memory there.
    """
    columns = [timeline.column(f"gpu{gpu}_mem_used_mib") for gpu in gpus]
    return all(
        column is not None and float(column.dropna().index[0]) <= EARLY_S for column in columns
    )


def _whose(busy: tuple[int, ...]) -> str:
    who = "GPU" if len(busy) == 1 else "GPUs"
    names = ", ".join(map(str, busy))
    verb = "is" if len(busy) == 1 else "are"
    return (
        f"{who} {names} {verb} not known to be the run's: something worked there, but the memory "
        "never rose after the command was started, and no process of the run was seen there"
    )


def _told(timeline: Timeline) -> tuple[tuple[int, ...], str] | None:
    """The GPUs of the last event gpus-used that names any of the recording, and its reason."""
    for event in reversed(timeline.events):
        listed = event.data.get("gpus")
        if event.kind == "gpus-used" and isinstance(listed, list | tuple):
            gpus = tuple(sorted({gpu for gpu in listed if gpu in timeline.gpus}))
            if gpus:
                return gpus, str(event.data.get("reason") or "the recorder saw the run on them")
    return None


def _choice(
    timeline: Timeline, gpus: tuple[int, ...], busy: tuple[int, ...], meant: bool, reason: str
) -> UsedGpus:
    measured = {gpu for gpu in gpus if timeline.column(f"gpu{gpu}_util_pct") is not None}
    # Where a GPU has no utilisation (MIG), memory is the only sign that it takes part.
    working = tuple(
        gpu
        for gpu in gpus
        if gpu in busy or (gpu not in measured and _rise(timeline, gpu) >= CONTEXT_MIB)
    )
    others = tuple(gpu for gpu in timeline.gpus if gpu not in gpus)
    return UsedGpus(gpus, working, others, meant, reason)


def visible_gpus(
    visible: str, timeline: Timeline, env: Mapping[str, Any]
) -> tuple[int, ...] | None:
    """The GPUs that CUDA_VISIBLE_DEVICES names, in its order; None if it cannot be told."""
    names = {str(facts.get("name")) for facts in timeline.start.get("gpus", ())}
    ordered = env.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len(names) <= 1
    found: list[int] = []
    for part in (piece.strip() for piece in visible.split(",")):
        if part.startswith("GPU-"):
            matches = [
                int(facts["index"])
                for facts in timeline.start.get("gpus", ())
                if str(facts.get("uuid", "")).startswith(part) and "index" in facts
            ]
            if len(matches) != 1:
                return None
            found.append(matches[0])
        elif part.isascii() and part.isdigit() and len(part) <= 4:
            if not ordered:
                return None
            if int(part) not in timeline.gpus:
                break  # CUDA ignores everything from the first invalid entry on
            found.append(int(part))
        elif part in ("", "-1", "NoDevFiles"):
            break
        else:
            return None
    return tuple(found) or None


def _peak(timeline: Timeline, gpu: int, name: str) -> float:
    series = timeline.column(f"gpu{gpu}_{name}")
    return float(series.max()) if series is not None else -np.inf


def _rise(timeline: Timeline, gpu: int) -> float:
    series = timeline.column(f"gpu{gpu}_mem_used_mib")
    if series is None:
        return -np.inf
    known = series.dropna()
    return float(known.max() - known.iloc[0])
