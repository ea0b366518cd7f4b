"""Who computes on which GPU, and which GPUs the run uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.record import gpu_use
from gpudiag.record.gpu_apps import App, AppsQuery, parse
from gpudiag.record.gpu_tool import Tool
from gpudiag.record.gpu_use import GpuUse
from gpudiag.record.gpus_used import by_memory, by_variable, pids_mean

A, B = "GPU-aaaa1111", "GPU-bbbb2222"
FACTS = [
    {"index": 0, "uuid": A, "name": "H100", "mig": "Disabled"},
    {"index": 1, "uuid": B, "name": "H100", "mig": "Enabled"},
]


def test_answers() -> None:
    """GIVEN what drivers answer THEN processes, none, or no answer are told apart."""
    assert parse(f"{A}, 123, 4096\r\n{B}, 7, [N/A]\n") == [App(A, 123, 4096), App(B, 7, None)]
    assert parse(f"{A}, [Insufficient Permissions], 5\n") == [App(A, None, 5)]
    assert parse("") == []
    assert parse("No running processes found\n") == []
    assert parse("Failed to initialize NVML: Unknown Error\n") is None
    assert parse("+-----+\n| H100, 1, 2 |\n") is None


@given(st.text())
def test_any_answer(text: str) -> None:
    """GIVEN any text at all THEN nothing is raised."""
    parse(text)


class FakeHelper:
    pid = 1

    def __init__(self) -> None:
        self.said: list[str] = []

    def exit_code(self) -> int | None:
        return None

    def terminate(self) -> None:
        self.said.append("terminate")

    def kill(self) -> None:
        self.said.append("kill")


class Asked:
    """A query with helpers that say nothing by themselves."""

    def __init__(self, tool: Sequence[str] = ("/usr/bin/nvidia-smi",)) -> None:
        self.times: list[float] = []
        self.helpers: list[FakeHelper] = []
        self.now = 0.0
        self.query = AppsQuery(tool, (), self._spawn)

    def _spawn(self, argv: Sequence[str], number: int) -> FakeHelper:
        assert argv[1].startswith("--query-compute-apps=")
        self.times.append(self.now)
        self.helpers.append(FakeHelper())
        return self.helpers[-1]

    def run(self, until: int, answer: bytes | None) -> None:
        while self.now < until:
            self.now += 1.0
            before = len(self.helpers)
            self.query.check(self.now)
            if answer is not None and len(self.helpers) > before:
                self.query.receive(len(self.helpers), self.now, answer)
                self.query.receive(len(self.helpers), self.now, b"")


def test_it_is_asked_every_20_s() -> None:
    """GIVEN a driver that answers THEN it is asked after 5 s and then every 20 s."""
    asked = Asked()
    asked.run(30, b"")
    assert asked.times == []  # nobody has said that the driver is awake
    asked.query.ready(30.0)
    asked.run(100, b"")
    assert asked.times == [35, 55, 75, 95]


def test_an_answer_that_does_not_come() -> None:
    """GIVEN a question that hangs THEN it is ended, killed if that does not help, and asked more
    and more rarely; nothing waits for it."""
    asked = Asked()
    asked.query.ready(0.0)
    asked.run(1500, None)
    assert asked.helpers[0].said == ["terminate", "kill"]
    pauses = [b - a for a, b in zip(asked.times, asked.times[1:], strict=False)]
    assert pauses[0] == 50
    assert pauses[-1] >= 600
    assert asked.query.receive(1, 99.0, b"late") is None


def test_a_driver_that_does_not_know_the_list() -> None:
    """GIVEN a field that is refused THEN it is not asked again."""
    asked = Asked()
    asked.query.ready(0.0)
    asked.run(2000, b'Field "gpu_uuid" is not a valid field to query.\n\n')
    assert len(asked.times) == 1
    assert asked.query.deadline() == float("inf")


def test_without_the_tool() -> None:
    """GIVEN no nvidia-smi THEN nothing is started."""
    asked = Asked(())
    asked.query.ready(0.0)
    asked.run(100, b"")
    assert asked.times == []


@pytest.mark.parametrize(
    ("pids", "tree", "visible", "whole", "expected"),
    [
        ([10, 99], {10}, {10, 99}, True, True),
        ([], set(), {10}, True, True),
        ([98, 99], set(), {10}, True, True),  # /proc may hide the processes of others
        ([10, 99], {10}, {10}, False, True),  # a container that shares the host's PIDs
        ([98, 99], set(), {10}, False, False),
        ([10], set(), {10}, False, None),
        ([], set(), {10}, False, None),
        ([None], {10}, {10}, True, False),
    ],
)
def test_what_pids_mean(
    pids: list[int | None], tree: set[int], visible: set[int], whole: bool, expected: bool | None
) -> None:
    """GIVEN PIDs of the driver THEN they are believed where they can be ours."""
    assert pids_mean([App(A, pid, 1) for pid in pids], tree, visible, whole) is expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([("0", None), ("1", None)], (0, 1)),
        ([("1", None)], (1,)),
        ([(A[:8], None)], (0,)),
        ([("1,7,0", None)], (1,)),  # CUDA stops at the first name that it does not know
        ([("-1", None)], None),
        ([("", None)], None),
        ([(None, None), ("0", None)], None),  # one of them sees all
        ([("GPU-", None)], None),  # fits both
        ([("MIG-GPU-bbbb2222/1/0", None)], (1,)),
        ([("MIG-3f1c", None)], (1,)),
        ([("all", None)], None),
    ],
)
def test_visible_devices(
    values: list[tuple[str | None, str | None]], expected: tuple[int, ...] | None
) -> None:
    """GIVEN CUDA_VISIBLE_DEVICES of the training processes THEN the GPUs it names, if any."""
    use = by_variable(values, FACTS, complete=True)
    assert (None if use is None else use.gpus) == expected


def test_mixed_models() -> None:
    """GIVEN two models THEN an index is believed only where CUDA counts as nvidia-smi does."""
    mixed = [FACTS[0], {**FACTS[1], "name": "T4"}]
    assert by_variable([("0", None)], mixed, complete=True) is None
    use = by_variable([("0", "PCI_BUS_ID")], mixed, complete=True)
    assert use is not None
    assert use.gpus == (0,)
    assert by_variable([(B, None)], mixed, complete=True) is not None


def test_some_gpus_of_the_machine() -> None:
    """GIVEN a recording of GPU 1 alone THEN a list that begins with GPU 0 does not end there."""
    use = by_variable([("0,1", None)], FACTS[1:], complete=False)
    assert use is not None
    assert use.gpus == (1,)


def test_memory() -> None:
    """GIVEN memory that rises by a context THEN these GPUs, and not one that was full before."""
    use = by_memory({0: 10.0, 1: 9000.0, 2: 0.0}, {0: 500.0, 1: 9050.0, 2: 99.0})
    assert use is not None
    assert use.gpus == (0,)
    assert by_memory({}, {0: 500.0}) is None


class FakeRun:
    def __init__(self) -> None:
        self.gpu_holders: frozenset[int] = frozenset()
        self.tree = {10}
        self.visible = {1, 10, 99}
        self.environ: dict[str, str] = {}

    def owned(self, pids: Iterable[int]) -> set[int]:
        return self.tree & set(pids)

    def training_pids(self) -> tuple[int, ...]:
        return (10,)

    def machine_pids(self) -> set[int]:
        return self.visible

    def variable(self, pid: int, name: str) -> str | None:
        return self.environ.get(name)


class FakeGpus:
    tool = Tool("nvidia-smi", ("/usr/bin/nvidia-smi",))
    only: tuple[str, ...] = ()
    facts = FACTS
    numbers = {A: 0, B: 1}  # noqa: RUF012


class Bench:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, whole: bool = True) -> None:
        monkeypatch.setattr(gpu_use, "sees_the_whole_machine", lambda: whole)
        self.run = FakeRun()
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.asked = 0
        self.use = GpuUse(
            FakeGpus(),  # type: ignore[arg-type]
            self.run,
            self._spawn,
            lambda *event: self.events.append(event),
            rises=True,
        )
        self.use.check(0.0)

    def _spawn(self, argv: Sequence[str], number: int) -> FakeHelper:
        self.asked = number
        return FakeHelper()

    def answer(self, now: float, text: str) -> None:
        self.use.check(now)
        self.use.receive(self.asked, now, text.encode())
        self.use.receive(self.asked, now, b"")


def test_own_and_foreign_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a foreign process beside the run's THEN both are counted, in one row; the GPU of the
    run is told, and stays told when its process ends."""
    bench = Bench(monkeypatch)
    bench.answer(5.0, f"{A}, 10, 4000\n{A}, 99, 500\n{B}, 99, [N/A]\n")
    cells = bench.use.row({})
    assert cells == {
        "gpu0_own_procs": 1,
        "gpu0_foreign_procs": 1,
        "gpu0_foreign_mem_mib": 500,
        "gpu1_own_procs": 0,
        "gpu1_foreign_procs": 1,
        "gpu1_foreign_mem_mib": None,
    }
    assert bench.use.row({}) == {}
    assert bench.run.gpu_holders == {10}
    bench.answer(25.0, f"{B}, 10, 4000\n")
    told = [event[2]["gpus"] for event in bench.events if event[0] == "gpus-used"]
    assert told == [[0], [0, 1]]
    bench.answer(45.0, "")
    assert bench.use.row({})["gpu0_own_procs"] == 0
    assert len(bench.events) == 2


def test_in_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN PIDs of the host THEN it is said once, cells stay empty, and the memory tells."""
    bench = Bench(monkeypatch, whole=False)
    bench.use.row({"gpu0_mem_used_mib": 10.0, "gpu1_mem_used_mib": 10.0})
    for second in (5.0, 25.0, 45.0):
        bench.answer(second, f"{A}, 54321, 4000\n")
        assert bench.use.row({"gpu0_mem_used_mib": 4010.0, "gpu1_mem_used_mib": 10.0}) == {}
    bench.use.judge()
    assert [event[0] for event in bench.events] == ["note", "gpus-used"]
    assert bench.events[1][2] == {
        "gpus": [0],
        "reason": "their memory has risen since the run began",
    }


def test_better_knowledge_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a variable, then contexts THEN each is told, and never a worse one after a better."""
    bench = Bench(monkeypatch)
    bench.run.environ = {"CUDA_VISIBLE_DEVICES": "0,1"}
    bench.use.check(10.0)
    bench.answer(11.0, f"{A}, 10, 4000\n")
    bench.use.check(60.0)
    told = [(event[2]["gpus"], event[2]["reason"][:4]) for event in bench.events]
    assert told == [([0, 1], "CUDA"), ([0], "proc")]


def test_nobody_of_the_run_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN PIDs that can be told, none of them the run's THEN rising memory is not put down to
    it."""
    bench = Bench(monkeypatch)
    bench.use.row({"gpu0_mem_used_mib": 10.0})
    bench.answer(5.0, f"{A}, 99, 4000\n")
    bench.use.row({"gpu0_mem_used_mib": 4010.0})
    bench.use.judge()
    assert bench.events == []
