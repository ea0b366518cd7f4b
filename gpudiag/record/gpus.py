"""① The GPU side of a recording: the stream, the static facts, and which GPU is which.

A GPU keeps its number in the file for the whole run, although nvidia-smi may count anew after a
GPU was lost: numbers are tied to UUIDs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpudiag.record import gpu_facts, gpu_query
from gpudiag.record.gpu_stream import GpuStream, Tell
from gpudiag.record.gpu_tool import find_tool
from gpudiag.record.launch import Helper
from gpudiag.record.pacemaker import Batch, Pacemaker

_FACTS_S = 60.0

SpawnFor = Callable[[Sequence[str], str, int], Helper]


class Readings(NamedTuple):
    """The GPU cells of a row, and when their first and last line arrived."""

    cells: dict[str, float | None]
    first: float
    last: float


class Gpus:
    """`spawn(argv, purpose, generation)` starts a helper; its output comes back to `receive`.

    `only` are the indices or UUIDs of the GPUs to record; all if it is empty. `nvml` is to ask the
    library even where there is an nvidia-smi.
    """

    def __init__(
        self,
        interval_s: float,
        now: float,
        spawn: SpawnFor,
        tell: Tell,
        only: Sequence[str] = (),
        nvml: bool = False,
    ) -> None:
        self.pacemaker = Pacemaker(interval_s, now)
        self.facts: list[dict[str, Any]] = []
        self.version = 0  # grows with every change of `facts`
        self._spawn = spawn
        self._tell = tell
        self.only = only
        self.tool, self._why_not = find_tool(nvml)
        self.numbers: dict[str, int] = {}  # UUID → number in the file
        self._number_of: dict[int, int] | None = None  # index of nvidia-smi → number in the file
        self._told: set[tuple[str, str]] = set()
        self._lost: set[int] = set()
        self._rows_lost = 0
        self._ask = gpu_facts.fields()
        self._asking: Helper | None = None
        self._ask_number = 0
        self._asked_at = 0.0
        self._answer = b""
        self._asked_for = 0  # generation of the stream that the facts were asked for
        self.stream: GpuStream | None = None
        if self.tool is not None:
            self.stream = GpuStream(self.tool, interval_s, self._spawn_stream, tell, only)
            self.stream.start(now)

    @property
    def source(self) -> dict[str, str]:
        """The `gpu_source` of the start line."""
        if self.stream is None or self.tool is None:
            return {"tool": "nvidia-smi", "status": "missing", "text": self._why_not}
        return {"tool": self.tool.name, "status": self.stream.status, "text": self.stream.text}

    @property
    def changes(self) -> int:
        """Grows when `facts` or `source` have changed."""
        return self.version + (self.stream.version if self.stream else 0)

    @property
    def rows_lost(self) -> int:
        """Readings that came but are in no row of the file."""
        return self._rows_lost + self.pacemaker.lost_rows

    def receive(self, purpose: str, generation: int, arrived: float, data: bytes) -> None:
        """What a helper printed."""
        if purpose == "facts":
            if generation == self._ask_number:
                self._receive_facts(arrived, data)
            return
        assert self.stream is not None
        for row in self.stream.feed(arrived, data, generation):
            self.pacemaker.add(row)
            if self._asked_for == 0 or (self._asked_for != generation and not self.stream.single):
                self._ask_facts(arrived)
        if not data:
            self.pacemaker.flush()

    def check(self, now: float) -> None:
        """Act on the deadlines that have passed."""
        if self.stream is not None:
            self.stream.check(now)
        if self._asking is not None and now >= self._asked_at + _FACTS_S:
            self._asking.terminate()
            self._asking = None
            self._number_by_index()

    def deadline(self, now: float) -> float:
        """When to look again at the latest."""
        times = [self.pacemaker.deadline(now)]
        if self.stream is not None:
            times.append(self.stream.deadline())
        if self._asking is not None:
            times.append(self._asked_at + _FACTS_S)
        return min(times)

    def take(self, now: float) -> Readings | None:
        """The readings of the newest complete batch, once."""
        batch = self.pacemaker.take(now)
        if batch is None:
            return None
        if self._number_of is None or not batch.rows.keys() <= self._number_of.keys():
            if self._asking is not None and self._asked_for != 1:
                self._rows_lost += len(batch.rows)  # which GPU is which is not known yet
                return None
            self._number_by_index(batch.rows)
        return Readings(self._cells(batch), batch.first, batch.last)

    def stop(self) -> list[Helper]:
        """Ask all helpers to end; those that were running."""
        helpers = [] if self._asking is None else [self._asking]
        if self._asking is not None:
            self._asking.terminate()
        last = self.stream.stop() if self.stream is not None else None
        return helpers if last is None else [*helpers, last]

    def _cells(self, batch: Batch) -> dict[str, float | None]:
        cells: dict[str, float | None] = {}
        assert self._number_of is not None
        for row in batch.rows.values():
            number = self._number_of[row.gpu]
            if row.lost and number not in self._lost:
                self._tell("gpu-lost", f"GPU {number}: {row.lost}", {"gpu": number})
            (self._lost.add if row.lost else self._lost.discard)(number)
            for column in gpu_query.COLUMNS:
                name = f"gpu{number}_{column}"
                reason = row.missing.get(column)
                if reason is not None and not row.lost and (name, reason) not in self._told:
                    self._told.add((name, reason))
                    text = f"{name} is not measured: the driver says {reason}"
                    self._tell("note", text[:300], {"column": name, "reason": reason[:100]})
                cells[name] = row.figures.get(column)
        return cells

    def _number_by_index(self, rows: Sequence[int] | Any = ()) -> None:
        known = self._number_of or {}
        self._number_of = known | {index: index for index in rows if index not in known}

    def _spawn_stream(self, argv: Sequence[str], generation: int) -> Helper:
        return self._spawn(argv, "stream", generation)

    def _ask_facts(self, now: float) -> None:
        assert self.stream is not None
        assert self.tool is not None
        if self._asked_for != self.stream.generation:
            self._asked_for = self.stream.generation
            self._number_of = None
        self._ask_number += 1
        self._answer = b""
        self._asked_at = now
        argv = gpu_query.arguments(self.tool.argv, self._ask, None, self.only)
        try:
            self._asking = self._spawn(argv, "facts", self._ask_number)
        except OSError:
            self._asking = None

    def _receive_facts(self, now: float, data: bytes) -> None:
        self._answer += data
        if data and len(self._answer) < 1 << 20:
            return
        self._asking = None
        output = self._answer.decode("utf-8", "replace")
        refused = gpu_facts.refused(output)
        if refused in self._ask:
            self._ask = gpu_query.without(self._ask, str(refused))
            self._ask_facts(now)
            return
        found = gpu_facts.parse(output, self._ask)
        if found:
            self._learn(found)

    def _learn(self, found: list[dict[str, Any]]) -> None:
        """Tie the indices of nvidia-smi to the numbers in the file."""
        numbers: dict[int, int] = {}
        taken = set(self.numbers.values())
        for gpu in found:
            index = gpu["index"]
            uuid = gpu.get("uuid") or f"index {index}"
            if uuid not in self.numbers:
                free = index if index not in taken else max(taken) + 1
                self.numbers[uuid] = free
                taken.add(free)
                self.facts.append({**gpu, "index": free})
                self.version += 1
            numbers[index] = self.numbers[uuid]
        self.facts.sort(key=lambda gpu: int(gpu["index"]))
        self._number_of = numbers
        self.pacemaker.expect(len(numbers))
