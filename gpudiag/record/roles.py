"""① Who is who in the run: the training process, its data-loader workers, everything else.

PyTorch names its processes since 2.6 (`pt_main_thread`, `pt_data_worker`). For the rest: a worker
that was forked has its parent's command line; one that was spawned shows multiprocessing's. A
shell or launcher is never the training process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_MAIN_NAME, _WORKER_NAME, _ELASTIC_NAME = "pt_main_thread", "pt_data_worker", "pt_elastic"
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:-\S+)?(?:\.exe)?", re.ASCII)
_SHELLS = {"sh", "bash", "dash", "zsh", "ash", "ksh", "fish", "busybox", "cmd.exe", "tini"}
_LAUNCHERS = _SHELLS | {
    *("torchrun", "accelerate", "deepspeed", "horovodrun", "fleetrun", "colossalai", "composer"),
    *("mpirun", "mpiexec", "orterun", "srun", "conda", "mamba", "micromamba", "uv", "poetry"),
    *("pipenv", "hatch", "env", "nohup", "time", "timeout", "nice", "sudo", "numactl", "taskset"),
    *("make", "xargs", "tee", "tail", "sleep"),
}
_LAUNCHER_MODULES = re.compile(
    r"torch\.distributed\.(?:run|launch)|paddle\.distributed\.(?:fleet\.)?launch"
    r"|accelerate\.commands\.launch|deepspeed\.launcher\.\w+|horovod\.run\w*"
)
_NEITHER = (
    *("resource_tracker", "semaphore_tracker", "compile_worker", "_inductor", "wandb"),
    *("tensorboard", "visualdl", "mlflow"),
)
_SPAWNED = ("multiprocessing.spawn", "--multiprocessing-fork")
_FORKSERVER = "multiprocessing.forkserver"
_WORKER_AGE_S = 1.0  # a process that only forks on its way to exec is gone or renamed by then


class Facts(NamedTuple):
    """What the roles are told from.

    `framework` is whether it has loaded one, `gpu` whether it is known to hold a GPU context.
    """

    pid: int
    parent: int
    name: str
    command: tuple[str, ...]
    age_s: float
    cpu_s: float
    framework: bool
    rank: int | None
    gpu: bool = False


class Roles(NamedTuple):
    """`main` is the training process (of several ranks the first), None if there is none to tell.

    `mains` are all ranks in order; `loaders` the processes that hold workers, or held some before.
    """

    main: int | None
    mains: tuple[int, ...]
    workers: frozenset[int]
    loaders: frozenset[int]


NONE = Roles(None, (), frozenset(), frozenset())


def assign(processes: Mapping[int, Facts], before: Roles = NONE) -> Roles:
    """The roles of all processes of the run; `before` are those of the last tick."""
    named = any(facts.name == _WORKER_NAME for facts in processes.values())
    likely = {
        pid for pid, facts in processes.items() if _worker_like(facts, processes, before, named)
    }
    held: dict[int, set[int]] = {}
    for pid in likely:
        holder = _holder(processes[pid], processes)
        if holder is not None:
            held.setdefault(holder, set()).add(pid)
    # between two epochs a rank may be without workers: it stays the rank that it was
    loaders = frozenset(held.keys() | (before.loaders & processes.keys()))
    ranks = {
        pid
        for pid in loaders - likely
        if not any(len(held.get(child, ())) > 1 for child in held.get(pid, ()))
    } | {pid for pid in likely if len(held.get(pid, ())) > 1}
    evidence = {
        pid: _evidence(facts, pid in ranks, pid in likely)
        for pid, facts in processes.items()
        if not is_launcher(facts)
    }
    best = max(evidence.values(), default=_NOTHING)
    equals = [processes[pid] for pid, found in evidence.items() if found == best]
    if not best.candidate or not equals:
        return Roles(None, (), frozenset(likely), loaders)
    if best.strong:
        mains = tuple(facts.pid for facts in sorted(equals, key=_order))
    else:
        mains = (_busiest(equals, before.main),)
    return Roles(mains[0], mains, frozenset(likely - set(mains)), loaders)


def is_python(facts: Facts) -> bool:
    """Whether it runs Python, by its name or its command."""
    first = _base(facts.command[0]) if facts.command else ""
    return facts.name.startswith("pt_") or any(
        _PYTHON.fullmatch(name) for name in (facts.name, first)
    )


def is_launcher(facts: Facts) -> bool:
    """Whether it is a shell or a program that only starts others."""
    if facts.name == _ELASTIC_NAME:
        return True
    if not facts.command:
        return facts.name in _SHELLS
    first, *rest = facts.command
    if not _PYTHON.fullmatch(_base(first)):
        return _base(first).lstrip("-") in _LAUNCHERS
    for at, word in enumerate(rest):
        if word == "-m":
            return at + 1 < len(rest) and bool(_LAUNCHER_MODULES.fullmatch(rest[at + 1]))
        if not word.startswith("-"):
            return _base(word) in _LAUNCHERS
    return False


def is_neither(facts: Facts) -> bool:
    """Whether it is a known companion of a training, and no part of it."""
    line = " ".join(facts.command)
    return any(word in line for word in _NEITHER) or _FORKSERVER in line


def is_named_main(facts: Facts) -> bool:
    """Whether it bears PyTorch's name of a training process; what it forks does so at first."""
    return facts.name == _MAIN_NAME


def _worker_like(facts: Facts, processes: Mapping[int, Facts], before: Roles, named: bool) -> bool:
    """`named` is whether any process bears PyTorch's name of a worker."""
    if facts.name == _WORKER_NAME:
        return True
    parent = processes.get(facts.parent)
    if facts.gpu and parent is not None and not parent.gpu:
        return False  # a rank that was spawned: a loader's worker would not be alone on a GPU
    line = " ".join(facts.command)
    if (
        parent is None
        or not is_python(parent)
        or is_launcher(parent)
        or facts.name.startswith("pt_")
    ):
        return False
    if not line or any(word in line for word in _NEITHER) or is_launcher(facts):
        return False
    # once a process has had workers, those that replace them are known at once
    if facts.age_s < _WORKER_AGE_S and parent.pid not in before.loaders:
        return False
    if named:
        return False  # where workers have names, a process without one is something else
    if any(mark in line for mark in _SPAWNED):
        return True
    if _FORKSERVER in line:
        return _FORKSERVER in " ".join(parent.command)  # the server itself serves nobody
    return facts.command == parent.command


def _holder(worker: Facts, processes: Mapping[int, Facts]) -> int | None:
    """The process that it works for: its parent, or whoever started the forkserver."""
    parent = processes.get(worker.parent)
    if parent is not None and _FORKSERVER in " ".join(parent.command):
        parent = processes.get(parent.parent)
    return None if parent is None else parent.pid


class _Evidence(NamedTuple):
    """What speaks for a training process, most telling first."""

    candidate: bool
    holds_workers: bool
    gpu: bool
    named: bool
    framework: bool
    python: bool

    @property
    def strong(self) -> bool:
        return self.holds_workers or self.gpu or self.named or self.framework


_NOTHING = _Evidence(False, False, False, False, False, False)


def _evidence(facts: Facts, rank: bool, likely_worker: bool) -> _Evidence:
    return _Evidence(
        candidate=not is_neither(facts)
        and (rank or not likely_worker)
        and facts.name != _WORKER_NAME,
        holds_workers=rank,
        gpu=facts.gpu,
        named=facts.name == _MAIN_NAME,
        framework=facts.framework,
        python=is_python(facts),
    )


def _order(facts: Facts) -> tuple[float, int]:
    return (float("inf") if facts.rank is None else facts.rank, facts.pid)


def _busiest(equals: Iterable[Facts], before: int | None) -> int:
    """The process that has used most CPU; the one chosen before unless another is well ahead."""
    busiest = max(equals, key=lambda facts: facts.cpu_s)
    kept = next((facts for facts in equals if facts.pid == before), None)
    if kept is not None and busiest.cpu_s < 1.5 * kept.cpu_s + 1.0:
        return kept.pid
    return busiest.pid


def _base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]
