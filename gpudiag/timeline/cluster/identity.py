"""② Whether recordings are of one run: the same job, the same program, other machines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from gpudiag.errors import UnreadableError
from gpudiag.timeline.model import Timeline

# what names a job; the first that both recordings hold decides
_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
_SIZES = ("WORLD_SIZE", "SLURM_NNODES", "PADDLE_TRAINERS_NUM", "PADDLE_NNODES")
_PLACES = ("RANK", "NODE_RANK", "GROUP_RANK", "SLURM_NODEID", "PADDLE_TRAINER_ID")
_OF_A_NODE = re.compile(
    r"--?(?:node|machine)[-_]?rank|--?master[-_]?addr|--?nodes?[-_]?id|--?host|--?rdzv[-_]endpoint",
    re.IGNORECASE,
)
_HINT = "if they are of one run all the same, add --one-run"


def check_one_run(timelines: Sequence[Timeline], names: Sequence[str]) -> None:
    """Raises UnreadableError, with what differs, unless all are of one run."""
    first = timelines[0]
    seen: dict[str, str] = {}
    for timeline, name in zip(timelines, names, strict=True):
        path = PurePath(timeline.source.path).name
        if name in seen:
            raise UnreadableError(
                f"{path} and {seen[name]} are both of the machine {name}: that is not one run on "
                "several machines",
                _HINT,
            )
        seen[name] = path
        why = _apart(first, timeline)
        if why:
            raise UnreadableError(
                f"{PurePath(first.source.path).name} and {path} are not of one run: {why}", _HINT
            )


def _apart(one: Timeline, two: Timeline) -> str:
    """What shows that they are of different runs; empty if nothing does."""
    if one is two:
        return ""
    ranks = _facts(one), _facts(two)
    for name in _JOBS:
        jobs = [rank.get(name) for rank in ranks]
        if all(jobs):
            if jobs[0] != jobs[1]:
                return f"{name} is {jobs[0]} and {jobs[1]}"
            return ""
    for name in _SIZES:
        sizes = [rank.get(name) for rank in ranks]
        if all(sizes) and sizes[0] != sizes[1]:
            return f"{name} is {sizes[0]} and {sizes[1]}"
    for name in _PLACES:
        places = [rank.get(name) for rank in ranks]
        if all(places) and places[0] == places[1]:
            return f"both have {name}={places[0]}"
    commands = _command(one), _command(two)
    if not all(commands):
        return "one of them does not hold its command, and no job number tells"
    if commands[0] != commands[1]:
        return "their commands differ"
    return ""


def _facts(timeline: Timeline) -> Mapping[str, str]:
    rank = timeline.start.get("rank")
    return rank if isinstance(rank, Mapping) else {}


def _command(timeline: Timeline) -> tuple[str, ...]:
    """The command without what differs from machine to machine."""
    command = timeline.start.get("command")
    if not isinstance(command, Sequence) or isinstance(command, str):
        return (str(command),) if command else ()
    kept, skip = [], False
    for word in map(str, command):
        if skip:
            skip = False
            continue
        if _OF_A_NODE.match(word):
            skip = "=" not in word
            continue
        kept.append(word)
    return tuple(kept)


def plain_name(name: str) -> str:
    """A name that can stand in any text: letters, digits, `.`, `_` and `-`."""
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name[:40]) or "_"


def node_names(timelines: Sequence[Timeline]) -> list[str]:
    """The host names; where one is not known, or with `--one-run` twice there, the file's name."""
    found = []
    for timeline in timelines:
        host = timeline.start.get("host")
        name = host.get("hostname") if isinstance(host, Mapping) else None
        found.append(plain_name(str(name) if name else PurePath(timeline.source.path).stem))
    return found
