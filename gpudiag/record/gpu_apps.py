"""① Who computes on the GPUs: `nvidia-smi --query-compute-apps`, now and then.

The driver takes milliseconds for this list, and holds up others meanwhile, so it is asked every
20 s at most. A state machine like the stream's: told the time and what a helper printed, it waits
for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpudiag.record.gpu_query import unknown_field
from gpudiag.record.launch import Helper

FIELDS = ("gpu_uuid", "pid", "used_gpu_memory")
PERIOD_S = 20.0
_FIRST_S = 5.0  # after the driver has first answered: frameworks have made their contexts by then
_PATIENCE_S = 10.0
_KILL_AFTER_S = 2.0
_LONGEST_PAUSE_S = 600.0
_LARGEST = 1 << 20


class App(NamedTuple):
    """A process with a context on a GPU. None is what the driver does not tell."""

    uuid: str
    pid: int | None
    mem_mib: float | None


def parse(output: str) -> list[App] | None:
    """The processes in an answer; None if it is no answer (an error, another program)."""
    apps = []
    strange = False
    for line in output.replace("\r", "").split("\n"):
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(FIELDS) or not cells[0].startswith(("GPU-", "MIG-")):
            strange = strange or bool(line.strip())
            continue
        uuid, pid, memory = cells
        apps.append(App(uuid, _whole(pid), _whole(memory)))
    if not apps and strange and "no running processes" not in output.lower():
        return None
    return apps


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None


class AppsQuery:
    """`spawn(argv, number)` starts a helper whose output comes back to `receive` with its number.

    An empty `tool` is none: nothing is ever asked.
    """

    def __init__(
        self,
        tool: Sequence[str],
        only: Sequence[str],
        spawn: Callable[[Sequence[str], int], Helper],
    ) -> None:
        self._argv = [
            *tool,
            f"--query-compute-apps={','.join(FIELDS)}",
            "--format=csv,noheader,nounits",
            *(["-i", ",".join(only)] if only else []),
        ]
        self._spawn = spawn
        self._number = 0
        self._helper: Helper | None = None
        self._dying: Helper | None = None
        self._next = float("inf")
        self._can = bool(tool)
        self._deadline = float("inf")  # of the helper that runs or is dying
        self._answer = b""
        self._failures = 0

    def ready(self, now: float) -> None:
        """The driver answers: begin to ask soon."""
        if self._can and self._number == 0 and self._next == float("inf"):
            self._next = now + _FIRST_S

    def check(self, now: float) -> None:
        """Ask if it is time; give up a question that hangs."""
        if now >= self._deadline:
            self._deadline = float("inf")
            if self._helper is not None:
                self._helper.terminate()
                self._dying, self._helper = self._helper, None
                self._deadline = now + _KILL_AFTER_S
                self._put_off(now)
            elif self._dying is not None:
                self._dying.kill()
                self._dying = None
        if now >= self._next and self._helper is None and self._dying is None:
            self._ask(now)

    def deadline(self) -> float:
        """When `check` must be called at the latest."""
        idle = self._helper is None and self._dying is None
        return min(self._deadline, self._next if idle else float("inf"))

    def receive(self, number: int, now: float, data: bytes) -> list[App] | None:
        """What helper `number` printed; the processes, when the answer is complete."""
        if number != self._number or self._helper is None:
            return None
        self._answer += data
        if data and len(self._answer) < _LARGEST:
            return None
        self._helper.exit_code()
        self._helper = None
        self._deadline = float("inf")
        output = self._answer.decode("utf-8", "replace")
        apps = parse(output)
        if any(map(unknown_field, output.splitlines())):
            self._next = float("inf")  # a driver without this list
        elif apps is None:
            self._put_off(now)
        else:
            self._failures = 0
        return apps

    def stop(self) -> list[Helper]:
        """Ask the helper to end, if there is one."""
        left = [helper for helper in (self._helper, self._dying) if helper is not None]
        for helper in left:
            helper.terminate()
        self._helper = self._dying = None
        self._next = self._deadline = float("inf")
        return left

    def _ask(self, now: float) -> None:
        self._next = now + PERIOD_S
        self._number += 1
        self._answer = b""
        try:
            self._helper = self._spawn(self._argv, self._number)
            self._deadline = now + _PATIENCE_S
        except OSError:
            self._put_off(now)

    def _put_off(self, now: float) -> None:
        self._failures += 1
        self._next = now + min(PERIOD_S * 2**self._failures, _LONGEST_PAUSE_S)
