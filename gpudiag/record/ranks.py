"""① The ranks of a run on this machine: which processes train, and which columns are whose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpudiag.record.roles import Facts, Roles, is_launcher, is_named_main, is_neither, is_python

Key = tuple[int, float]
_MOST_SLOTS = 64
_HIGHEST = 9999


def training_processes(processes: Mapping[int, Facts], roles: Roles) -> list[Facts]:
    """Every process that trains, in the order of ranks.

    It holds a GPU context, bears PyTorch's name, has a rank in its environment, or is a training
    process by its role. What it started inherits its environment and perhaps its name, and does not
    count; nor does what only started it (a parent without a context whose children have one).
    """
    strong = set(roles.mains) if len(roles.mains) > 1 or roles.loaders else set()
    pool = {
        pid: facts
        for pid, facts in processes.items()
        if pid not in roles.workers
        and not is_launcher(facts)
        and not is_neither(facts)
        and (
            facts.gpu
            or pid in strong
            or is_named_main(facts)
            or (facts.rank is not None and is_python(facts))
        )
    }

    def strength(facts: Facts) -> tuple[bool, bool]:
        return facts.gpu, facts.pid in strong

    for pid in sorted(pool, key=lambda pid: len(list(ancestors(pid, processes)))):
        facts = pool[pid]
        for above in ancestors(pid, processes):
            if above not in pool or pool[above].rank != facts.rank:
                continue
            weaker = above if strength(facts) > strength(pool[above]) else pid
            del pool[weaker]
            if weaker == pid:
                break
    chosen: dict[object, Facts] = {}
    for facts in pool.values():
        # of several with one rank (a monitor beside the training) the likeliest is it
        key = ("rank", facts.rank) if facts.rank is not None else ("pid", facts.pid)
        other = chosen.get(key)
        if other is None or (strength(facts), facts.cpu_s) > (strength(other), other.cpu_s):
            chosen[key] = facts
    return sorted(
        chosen.values(),
        key=lambda facts: (facts.rank if facts.rank is not None else float("inf"), facts.pid),
    )


def ancestors(pid: int, processes: Mapping[int, Facts]) -> Iterator[int]:
    """The processes of the run above `pid`, nearest first."""
    seen = {pid}
    above = processes[pid].parent
    while above in processes and above not in seen:
        yield above
        seen.add(above)
        above = processes[above].parent


def owners(
    workers: frozenset[int], holders: set[int], processes: Mapping[int, Facts]
) -> dict[int, int]:
    """Worker → the nearest of `holders` above it; a worker whose rank has ended has none."""
    found = {}
    for worker in workers:
        owner = next((pid for pid in ancestors(worker, processes) if pid in holders), None)
        if owner is not None:
            found[worker] = owner
    return found


class Slot(NamedTuple):
    """A slot of columns: its number in the file, and the process that has it."""

    number: int
    key: Key


class Slots:
    """A process keeps its slot: its rank if that is free, otherwise the lowest free number.

    One training process needs none (it is the `main` of the columns); slots begin with the second,
    and then go on until the end.
    """

    def __init__(self) -> None:
        self._of: dict[Key, int] = {}
        self._begun = False

    def update(self, found: Sequence[tuple[Key, int | None]]) -> tuple[list[Slot], list[Slot]]:
        """The slots of the processes `found`, given with their ranks; and those that are new."""
        self._begun = self._begun or len(found) > 1
        if not self._begun:
            return [], []
        keys = {key for key, _ in found}
        self._of = {key: number for key, number in self._of.items() if key in keys}
        fresh = []
        taken = set(self._of.values())
        for key, rank in found:
            if key in self._of or len(self._of) >= _MOST_SLOTS:
                continue
            if rank is None or rank > _HIGHEST or rank in taken:
                rank = next(n for n in range(_HIGHEST) if n not in taken)
            taken.add(rank)
            self._of[key] = rank
            fresh.append(Slot(rank, key))
        return [Slot(self._of[key], key) for key, _ in found if key in self._of], fresh
