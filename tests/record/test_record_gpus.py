"""Which GPU is which, and what is told of it, without a process or a clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gpudiag.record import gpus as gpus_module
from gpudiag.record.gpu_query import FIELDS
from gpudiag.record.gpu_tool import Tool
from gpudiag.record.gpus import Gpus

REST = "31, 7, 4500, 71.61, 44, 1410, 2619, P0, 0x0, 4, 16"


class FakeHelper:
    pid = 1

    def __init__(self) -> None:
        self.code: int | None = None

    def exit_code(self) -> int | None:
        return self.code

    def terminate(self) -> None:
        self.code = -15

    def kill(self) -> None:
        self.code = -9


class Bench:
    """The GPU side with helpers that say what the test says."""

    def __init__(self) -> None:
        self.started: list[tuple[str, int, list[str]]] = []
        self.helpers: list[FakeHelper] = []
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.gpus = Gpus(1.0, 0.0, self._spawn, lambda *event: self.events.append(event))

    def _spawn(self, argv: Sequence[str], purpose: str, generation: int) -> FakeHelper:
        self.started.append((purpose, generation, list(argv)))
        self.helpers.append(FakeHelper())
        return self.helpers[-1]

    def stream(self, now: float, *lines: str) -> None:
        generation = [g for purpose, g, _ in self.started if purpose == "stream"][-1]
        self.gpus.receive("stream", generation, now, "".join(f"{x}\n" for x in lines).encode())

    def facts(self, now: float, *lines: str) -> None:
        """The answer to the newest question on facts; the fields after the name are left out."""
        generation = [g for purpose, g, _ in self.started if purpose == "facts"][-1]
        rest = ", [N/A]" * (len(self.gpus._ask) - 3)
        text = "".join(f"{line}{rest}\n" for line in lines)
        self.gpus.receive("facts", generation, now, text.encode())
        self.gpus.receive("facts", generation, now, b"")

    def restart(self, now: float) -> None:
        """The stream dies and is started anew."""
        generation = [g for purpose, g, _ in self.started if purpose == "stream"][-1]
        for helper in self.helpers:
            helper.code = 255
        self.gpus.receive("stream", generation, now, b"")
        self.gpus.check(now)
        self.gpus.check(now + 2.0)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(
        gpus_module, "find_tool", lambda nvml: (Tool("nvidia-smi", ("/usr/bin/nvidia-smi",)), "")
    )
    return Bench()


def test_facts_are_asked_once_and_after_the_first_row(bench: Bench) -> None:
    """GIVEN a stream THEN what does not change is asked when it has woken the driver, once."""
    assert [purpose for purpose, _, _ in bench.started] == ["stream"]
    for second in range(1, 9):
        bench.stream(float(second), f"0, {REST}")
        bench.facts(second + 0.1, "0, GPU-a, A") if second == 1 else None
        assert bench.gpus.take(second + 0.2) is not None
    assert [purpose for purpose, _, _ in bench.started] == ["stream", "facts"]
    assert [gpu["uuid"] for gpu in bench.gpus.facts] == ["GPU-a"]
    assert bench.gpus.source["status"] == "ok"


def test_a_field_that_the_facts_do_not_know(bench: Bench) -> None:
    """GIVEN a driver that refuses a field THEN the question is asked again without it."""
    bench.stream(1.0, f"0, {REST}")
    text = b'Field "vbios_version" is not a valid field to query.\n\n'
    bench.gpus.receive("facts", 1, 1.1, text)
    bench.gpus.receive("facts", 1, 1.1, b"")
    assert "vbios_version" not in bench.started[-1][2][1]
    bench.facts(1.2, "0, GPU-a, A")
    assert bench.gpus.facts[0]["name"] == "A"
    assert "vbios" not in bench.gpus.facts[0]


def test_a_gpu_keeps_its_number_when_the_driver_counts_anew(bench: Bench) -> None:
    """GIVEN GPU 0 lost and a new stream that calls GPU 1 now 0 THEN its readings stay in its own
    columns; what came before that was known is counted as lost, not written under a wrong name."""
    bench.stream(1.0, f"0, {REST}", f"1, {REST}")
    bench.facts(1.1, "0, GPU-a, A", "1, GPU-b, B")
    first = bench.gpus.take(1.2)
    assert first is not None
    assert {"gpu0_util_pct", "gpu1_util_pct"} <= first.cells.keys()
    bench.restart(5.0)
    bench.stream(7.5, f"0, {REST}")
    bench.gpus.pacemaker.flush()
    assert bench.gpus.take(7.9) is None
    bench.facts(8.0, "0, GPU-b, B")
    bench.stream(8.5, f"0, {REST}")
    later = bench.gpus.take(8.6)
    assert later is not None
    assert "gpu1_util_pct" in later.cells
    assert "gpu0_util_pct" not in later.cells
    assert bench.gpus.rows_lost == 1
    assert [gpu["index"] for gpu in bench.gpus.facts] == [0, 1]


def test_reasons_are_told_once(bench: Bench) -> None:
    """GIVEN cells that are never figures THEN each column's reason is one event."""
    for second in range(1, 6):
        bench.stream(float(second), f"0, {REST.replace('71.61', '[N/A]')}")
        taken = bench.gpus.take(second + 0.2)
        assert taken is not None
        assert taken.cells["gpu0_power_w"] is None
    notes = [event for event in bench.events if event[0] == "note"]
    assert [note[2] for note in notes] == [{"column": "gpu0_power_w", "reason": "[N/A]"}]


def test_lost_and_back(bench: Bench) -> None:
    """GIVEN a GPU that is lost, back, and lost again THEN that is two events."""
    lost = ", ".join(["0", *["[GPU is lost]"] * (len(FIELDS) - 1)])
    for second, line in enumerate([f"0, {REST}", lost, lost, f"0, {REST}", lost], 1):
        bench.stream(float(second), line)
        bench.gpus.take(second + 0.2)
    assert [event[0] for event in bench.events].count("gpu-lost") == 2
    assert [event[0] for event in bench.events].count("note") == 0


def test_without_an_answer_on_facts(bench: Bench) -> None:
    """GIVEN a question on facts that hangs THEN it is given up, and readings are not held up."""
    for second in range(1, 70):
        bench.stream(float(second), f"0, {REST}")
        bench.gpus.check(float(second))
        assert bench.gpus.take(second + 0.2) is not None
    assert bench.helpers[1].code == -15
    assert bench.gpus.facts == []


def test_no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN no nvidia-smi THEN nothing is started, and why there are no GPUs is said."""
    monkeypatch.setattr(gpus_module, "find_tool", lambda nvml: (None, "not there"))
    bench = Bench()
    bench.gpus.check(100.0)
    assert bench.started == []
    assert bench.gpus.source["status"] == "missing"
    assert bench.gpus.stop() == []
