"""① The run's processes as columns: training process, data-loader workers, everything else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpudiag.record import frameworks, roles
from gpudiag.record.figures import median
from gpudiag.record.launch import Launcher
from gpudiag.record.rank_columns import RankColumns
from gpudiag.record.reading import process_reader
from gpudiag.record.roles import Facts, Roles
from gpudiag.record.shared import SharedMemory
from gpudiag.record.threads import Threads
from gpudiag.record.tree import Member, Tree

MIB = 1024.0 * 1024.0
_RANK_VARIABLES = ("RANK", "PADDLE_TRAINER_ID", "LOCAL_RANK", "SLURM_PROCID")
_SETTLED_S = 1.0
_ROLES_S = 5.0  # the busiest of several programs may be another one by then
_SHOWN = {
    "pytorch": "PyTorch",
    "paddle": "PaddlePaddle",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "lightning": "Lightning",
    "transformers": "Transformers",
}
_Key = tuple[int, float]
Columns = dict[str, float | int | None]


class Processes:
    """The columns of scope `tree`; frameworks are told as events."""

    def __init__(
        self, launcher: Launcher, tell: Callable[[str, str, dict[str, Any]], None], now: float
    ) -> None:
        self._reader = process_reader()
        self._tree = Tree(
            self._reader, os.getpid(), launcher.own_pids, now, top=launcher.attached_to
        )
        self._tell = tell
        self._roles: Roles = roles.NONE
        self._roles_state = (-1, -1)  # what they were told from
        self._roles_of: set[int] = set()
        self._roles_until = now
        self._ranks: dict[_Key, int | None] = {}
        self._looks = frameworks.Looks()
        self._users: set[_Key] = set()
        self._frameworks: set[str] = set()
        self._workers: set[_Key] = set()
        self._switches: dict[_Key, int] = {}
        self._threads = Threads(self._reader)
        self._shared = SharedMemory(self._reader, now)
        self._rank_columns = RankColumns(self._reader, self._threads, tell)
        self._last = now
        self._holders: frozenset[int] = frozenset()

    @property
    def gpu_holders(self) -> frozenset[int]:
        """The processes of the run that are known to hold a GPU context."""
        return self._holders

    @gpu_holders.setter
    def gpu_holders(self, pids: frozenset[int]) -> None:
        if pids != self._holders:
            self._holders = pids
            self._roles_until = float("-inf")

    def owned(self, pids: Iterable[int]) -> set[int]:
        """Those of `pids` that are of the run, those younger than the last tick included."""
        return {pid for pid in pids if self._tree.owns(pid)}

    def machine_pids(self) -> set[int]:
        """All processes that can be seen."""
        return self._reader.pids()

    def training_pids(self) -> tuple[int, ...]:
        """The processes that train."""
        main = () if self._roles.main is None else (self._roles.main,)
        return self._rank_columns.pids or main

    def variable(self, pid: int, name: str) -> str | None:
        """A variable that a process was started with."""
        return self._reader.variable(pid, name)

    def sample(self, now: float) -> Columns:
        """What the run did since the last sample."""
        self._tree.update(now)
        elapsed, self._last = now - self._last, now
        alive = {pid: m for pid, m in self._tree.members.items() if m.reading.state not in "ZX"}
        keys = {member.key for member in alive.values()}
        self._now = now
        self._forget(keys)
        self._look_for_frameworks(alive.values())
        self._assign_roles(alive, now)
        workers = [alive[pid] for pid in self._roles.workers]
        main = alive[self._roles.main] if self._roles.main is not None else None
        others = [m for pid, m in alive.items() if pid not in self._roles.workers and m is not main]
        return {
            **self._main_columns(main),
            **self._worker_columns(workers, elapsed),
            "others": len(others),
            "others_cpu_pct": _sum(member.rates.cpu_pct for member in others),
            "others_rss_mib": sum(member.reading.rss_bytes for member in others) / MIB,
            "tree_disk_read_mib_s": _mib_s(member.rates.disk_read for member in alive.values()),
            "tree_disk_write_mib_s": _mib_s(member.rates.disk_written for member in alive.values()),
            "tree_write_mib_s": _mib_s(member.rates.written for member in alive.values()),
            **self._rank_columns.sample(alive, now),
        }

    def _assign_roles(self, alive: Mapping[int, Member], now: float) -> None:
        """Tell who is who, when something has changed that could matter, and now and then."""
        state = (self._tree.changes, len(self._users), alive.keys() != self._roles_of)
        if state == (*self._roles_state, False) and now < self._roles_until:
            return
        facts = {pid: self._facts(member) for pid, member in alive.items()}
        self._roles = self._rank_columns.assign(alive, facts, roles.assign(facts, self._roles))
        self._roles_state = state[:2]
        self._roles_of = set(alive)
        # who holds workers is told by them, and not by CPU
        told = self._roles.main is not None and self._roles.workers
        self._roles_until = float("inf") if told else now + _ROLES_S

    def _main_columns(self, main: Member | None) -> Columns:
        if main is None:
            return {}
        threads = self._threads.look(main, self._now)
        return {
            "main_cpu_pct": main.rates.cpu_pct,
            "main_thread_cpu_pct": threads.busiest_pct,
            "main_cpu_wait_pct": threads.wait_pct,
            "main_threads": main.reading.threads,
            "main_rss_mib": main.reading.rss_bytes / MIB,
            "main_read_mib_s": _mib_s([main.rates.read]),
            "main_write_mib_s": _mib_s([main.rates.written]),
        }

    def _worker_columns(self, workers: Sequence[Member], elapsed: float) -> Columns:
        keys = {member.key for member in workers}
        columns: Columns = {
            "workers": len(workers),
            "workers_new": len(keys - self._workers),
            "workers_gone": len(self._workers - keys),
        }
        self._workers = keys
        switches = self._switch_rate(workers, elapsed)
        pss = self._shared.look({member.pid for member in workers}, self._now)
        if not workers:
            return columns
        waits = [self._threads.look(member, self._now).wait_pct for member in workers]
        states = [member.reading.state for member in workers]
        columns |= {
            "workers_running": states.count("R"),
            "workers_sleeping": states.count("S") + states.count("I"),
            "workers_blocked": states.count("D"),
            "workers_cpu_wait_pct": _total(waits),
            "workers_pss_mib": None if pss is None else pss / MIB,
            "workers_rss_mib": sum(member.reading.rss_bytes for member in workers) / MIB,
            "workers_read_mib_s": _mib_s(member.rates.read for member in workers),
            "workers_switches_per_s": switches,
        }
        cpu = [m.rates.cpu_pct for m in workers if m.rates.cpu_pct is not None]
        if cpu:
            columns |= {
                "workers_cpu_pct": sum(cpu),
                "workers_cpu_min_pct": min(cpu),
                "workers_cpu_median_pct": median(cpu),
                "workers_cpu_max_pct": max(cpu),
            }
        return columns

    def _switch_rate(self, workers: Sequence[Member], elapsed: float) -> float | None:
        before = self._switches
        counts = {m.key: self._reader.voluntary_switches(m.pid) for m in workers}
        self._switches = {key: count for key, count in counts.items() if count is not None}
        known = [key for key in self._switches if key in before]
        if not known or elapsed <= 0:
            return None
        return sum(self._switches[key] - before[key] for key in known) / elapsed

    def _facts(self, member: Member) -> Facts:
        reading = member.reading
        return Facts(
            pid=member.pid,
            parent=reading.parent,
            name=reading.name,
            command=member.command,
            age_s=member.age_s,
            cpu_s=reading.cpu_s,
            framework=member.key in self._users,
            rank=self._rank(member),
            gpu=member.pid in self._holders,
        )

    def _rank(self, member: Member) -> int | None:
        if member.key not in self._ranks:
            texts = (self._reader.variable(member.pid, name) for name in _RANK_VARIABLES)
            text = next((text for text in texts if text and text.isdigit()), None)
            rank = None if text is None else int(text)
            if member.age_s < _SETTLED_S:
                return rank  # before its exec it still has the environment of its parent
            self._ranks[member.key] = rank
        return self._ranks[member.key]

    def _look_for_frameworks(self, members: Iterable[Member]) -> None:
        for member in members:
            if member.pid in self._roles.workers or not self._looks.due(
                member.key, member.age_s, member.reading.cpu_s
            ):
                continue
            loaded = set(frameworks.loaded(self._reader.loaded(member.pid)))
            if loaded:
                self._users.add(member.key)
            for name in sorted((loaded | set(frameworks.named(member.command))) - self._frameworks):
                self._frameworks.add(name)
                text = f"{_SHOWN[name]} seen in process {member.pid}"
                self._tell("framework", text, {"name": name, "pid": member.pid})

    def _forget(self, alive: set[_Key]) -> None:
        self._looks.keep(alive)
        self._threads.keep(alive)
        self._users &= alive
        for gone in self._ranks.keys() - alive:
            del self._ranks[gone]


def _sum(values: Iterable[float | None]) -> float:
    return sum(value for value in values if value is not None)


def _total(values: Iterable[float | None]) -> float | None:
    """The sum, or None if not one of them is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mib_s(rates: Iterable[float | None]) -> float | None:
    """The sum in MiB/s, or None if not one of them is known."""
    total = _total(rates)
    return None if total is None else total / MIB
