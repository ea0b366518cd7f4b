"""① The columns of scope `rank`, and an event that says which process each slot stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpudiag.masking import masked
from gpudiag.record.ranks import Slot, Slots, owners, training_processes
from gpudiag.record.reading import ProcessReader
from gpudiag.record.roles import Facts, Roles
from gpudiag.record.threads import Threads
from gpudiag.record.tree import Member

MIB = 1024.0 * 1024.0
# in the environment that the process was started with; what it sets itself is not seen
_TOLD = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "PADDLE_TRAINER_ID", "CUDA_VISIBLE_DEVICES")


class RankColumns:
    """`assign` when roles have changed, `sample` on every tick."""

    def __init__(
        self,
        reader: ProcessReader,
        threads: Threads,
        tell: Callable[[str, str, dict[str, Any]], None],
    ) -> None:
        self._reader = reader
        self._threads = threads
        self._tell = tell
        self._slots = Slots()
        self._taken: list[Slot] = []
        self._workers: dict[int, list[int]] = {}  # by the PID of their rank
        self.pids: tuple[int, ...] = ()  # of all training processes, one alone included

    def assign(
        self, alive: Mapping[int, Member], facts: Mapping[int, Facts], roles: Roles
    ) -> Roles:
        """Give out the slots; the roles, with the lowest rank as the training process."""
        found = training_processes(facts, roles)
        self.pids = tuple(f.pid for f in found)
        keys = [(alive[f.pid].key, f.rank) for f in found]
        self._taken, fresh = self._slots.update(keys)
        for slot in fresh:
            self._announce(slot)
        held = owners(roles.workers, {slot.key[0] for slot in self._taken}, facts)
        self._workers = {}
        for worker, owner in held.items():
            self._workers.setdefault(owner, []).append(worker)
        return roles._replace(main=self._taken[0].key[0]) if self._taken else roles

    def sample(self, alive: Mapping[int, Member], now: float) -> dict[str, float | int | None]:
        """The columns of every rank that is alive; none while there is one training process."""
        columns: dict[str, float | int | None] = {}
        for slot in self._taken:
            member = alive[slot.key[0]]
            workers = [alive[pid] for pid in self._workers.get(member.pid, ())]
            threads = self._threads.look(member, now)
            cpu = [w.rates.cpu_pct for w in workers if w.rates.cpu_pct is not None]
            read = member.rates.read
            values = {
                "cpu_pct": member.rates.cpu_pct,
                "thread_cpu_pct": threads.busiest_pct,
                "cpu_wait_pct": threads.wait_pct,
                "rss_mib": member.reading.rss_bytes / MIB,
                "read_mib_s": None if read is None else read / MIB,
                "workers": len(workers),
                "workers_cpu_pct": sum(cpu) if cpu else None,
            }
            columns |= {f"rank{slot.number}_{name}": value for name, value in values.items()}
        return columns

    def _announce(self, slot: Slot) -> None:
        pid = slot.key[0]
        told = {name: self._reader.variable(pid, name) for name in _TOLD}
        known = {name: masked(value) for name, value in told.items() if value is not None}
        settings = "".join(f", {name}={value}" for name, value in known.items())
        self._tell(
            "rank",
            f"rank{slot.number} is process {pid}{settings}",
            {"rank": slot.number, "pid": pid, **known},
        )
