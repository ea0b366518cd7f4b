"""① The run's share of the GPUs: own and foreign processes as columns, the GPUs it uses as events.

It joins what the GPU side and the process side know, and what the driver says of processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from gpudiag.record import gpus_used
from gpudiag.record.gpu_apps import PERIOD_S, App, AppsQuery
from gpudiag.record.gpus import Gpus
from gpudiag.record.gpus_used import Use
from gpudiag.record.launch import Helper

Cells = dict[str, float | int | None]
# the inode that Linux gives the first PID namespace; in a container it is another one
_FIRST_NAMESPACE = "pid:[4026531836]"
_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


class Run(Protocol):
    """What must be known of the run's processes."""

    gpu_holders: frozenset[int]

    def owned(self, pids: Iterable[int]) -> set[int]:
        """Those of `pids` that are of the run."""

    def training_pids(self) -> tuple[int, ...]:
        """Those that train."""

    def machine_pids(self) -> set[int]:
        """All processes that can be seen."""

    def variable(self, pid: int, name: str) -> str | None:
        """A variable that a process was started with."""


def sees_the_whole_machine(link: str = "/proc/self/ns/pid") -> bool:
    """Whether PIDs here are those of the machine, and not of a container."""
    try:
        return os.readlink(link) == _FIRST_NAMESPACE  # noqa: PTH115 (a link to no path)
    except OSError:
        return False


class GpuUse:
    """`run` is None for a recording of the machine alone, and then no GPU is the run's.

    `rises` is whether memory that rises is the run's: not so if it was running already.
    """

    def __init__(
        self,
        gpus: Gpus,
        run: Run | None,
        spawn: Callable[[Sequence[str], int], Helper],
        tell: Callable[[str, str, dict[str, Any]], None],
        rises: bool,
    ) -> None:
        self._gpus = gpus
        self._run = run
        self._tell = tell
        self._rises = rises
        self._query = AppsQuery(gpus.tool.argv if gpus.tool else (), gpus.only, spawn)
        self._whole_machine = sees_the_whole_machine()
        self._mean: bool | None = None
        self._cells: Cells = {}
        self._first: dict[int, float] = {}
        self._last: dict[int, float] = {}
        self._values: list[tuple[str | None, str | None]] = []
        self._told: Use | None = None
        self._look_at = float("inf")

    def check(self, now: float) -> None:
        """Ask the driver if it is time, and look at what is known without it."""
        if self._gpus.facts and self._look_at == float("inf"):
            self._query.ready(now)
            self._look_at = now + PERIOD_S / 2
        self._query.check(now)
        if now >= self._look_at:
            self._look_at = now + PERIOD_S
            self._look_at_variables()
            self.judge()

    def deadline(self) -> float:
        """When `check` must be called at the latest."""
        return min(self._query.deadline(), self._look_at)

    def receive(self, number: int, now: float, data: bytes) -> None:
        """What a helper printed."""
        apps = self._query.receive(number, now, data)
        if apps is not None:
            self._learn(apps)

    def row(self, cells: Cells) -> Cells:
        """Take note of a row's readings; the columns to add to it, once for every answer."""
        for gpu in self._gpus.numbers.values():
            value = cells.get(f"gpu{gpu}_mem_used_mib")
            if value is not None:
                self._first.setdefault(gpu, value)
                self._last[gpu] = value
        fresh, self._cells = self._cells, {}
        return fresh

    def judge(self) -> None:
        """Say which GPUs the run uses, if that is known better than before or has changed."""
        if self._run is None:
            return
        complete = not self._gpus.only
        found = gpus_used.by_variable(self._values, self._gpus.facts, complete)
        if found is None and self._rises and not self._mean:
            found = gpus_used.by_memory(self._first, self._last)
        if found is not None:
            self._say(found)

    def stop(self) -> list[Helper]:
        """Ask the helper to end, if there is one."""
        return self._query.stop()

    def _learn(self, apps: Sequence[App]) -> None:
        run = self._run
        reported = {app.pid for app in apps if app.pid is not None}
        tree = run.owned(reported) if run is not None else set()
        visible = run.machine_pids() if run is not None else set()
        mean = gpus_used.pids_mean(apps, tree, visible, self._whole_machine)
        if mean is False and self._mean is None and not self._whole_machine:
            text = (
                "whose processes are on the GPUs cannot be told: the driver reports "
                "PIDs of the host, which mean nothing in this container"
            )
            self._tell("note", text, {"reported": len(apps)})
        self._mean = mean if mean is not None and not self._mean else self._mean
        if not self._mean:
            return
        numbers = self._gpus.numbers
        for uuid, gpu in numbers.items():
            here = [app for app in apps if app.uuid == uuid]
            foreign = [app for app in here if app.pid not in tree]
            sizes = [app.mem_mib for app in foreign if app.mem_mib is not None]
            self._cells[f"gpu{gpu}_own_procs"] = len(here) - len(foreign)
            self._cells[f"gpu{gpu}_foreign_procs"] = len(foreign)
            self._cells[f"gpu{gpu}_foreign_mem_mib"] = (
                sum(sizes) if len(sizes) == len(foreign) else None
            )
        if run is not None:
            run.gpu_holders = frozenset(tree)
            use = gpus_used.by_processes(apps, tree, numbers)
            if use.gpus:
                # a process that has ended had its GPU all the same
                before = self._told.gpus if self._told and self._told.certainty == 3 else ()
                self._say(use._replace(gpus=tuple(sorted({*use.gpus, *before}))))

    def _look_at_variables(self) -> None:
        if self._run is None:
            return
        run = self._run
        values = [
            (run.variable(pid, _VARIABLES[0]), run.variable(pid, _VARIABLES[1]))
            for pid in run.training_pids()
        ]
        self._values = values or self._values

    def _say(self, use: Use) -> None:
        told = self._told
        if told is not None and (use.certainty < told.certainty or use == told):
            return
        self._told = use
        names = ", ".join(map(str, use.gpus))
        text = f"the run uses GPU{'s' if len(use.gpus) > 1 else ''} {names}: {use.reason}"
        self._tell("gpus-used", text, {"gpus": list(use.gpus), "reason": use.reason})
