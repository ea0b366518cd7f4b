"""nvidia-smi's lines, and the stream that is kept going, on a clock that is not real."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.record import gpu_facts, gpu_query
from gpudiag.record.gpu_query import FIELDS, parse_row
from gpudiag.record.gpu_stream import FIRST_ROW_S, GpuStream
from gpudiag.record.gpu_tool import Tool
from gpudiag.record.pacemaker import Pacemaker

TOOL = Tool("nvidia-smi", ("/usr/bin/nvidia-smi",))
LINE = "0, 31, 7, 4500, 71.61, 44, 1410, 2619, P0, 0x0000000000000004, 4, 16"


def test_a_row() -> None:
    """GIVEN a line THEN every figure stands under its column."""
    row = parse_row(LINE, FIELDS, 2.0)
    assert row is not None
    assert (row.gpu, row.lost, row.missing) == (0, "", {})
    assert row.figures == {
        "util_pct": 31, "mem_util_pct": 7, "mem_used_mib": 4500, "power_w": 71.61, "temp_c": 44,
        "sm_clock_mhz": 1410, "mem_clock_mhz": 2619, "pstate": 0, "throttle_bits": 4,
        "pcie_gen": 4, "pcie_lanes": 16,
    }  # fmt: skip


def test_units_are_taken_off() -> None:
    """GIVEN a tool that prints units all the same THEN the figures are the same."""
    line = "0, 31 %, 7 %, 4500 MiB, 71.61 W, 44, 1410 MHz, 2619 MHz, P0, 0x04, 4, 16"
    with_units, without = parse_row(line, FIELDS, 0.0), parse_row(LINE, FIELDS, 0.0)
    assert with_units is not None
    assert without is not None
    assert with_units.figures == without.figures


@pytest.mark.parametrize(
    "text",
    ["[N/A]", "N/A", "", "[Not Supported]", "[Unknown Error]", "ERR!", "[Function Not Found]",
     "[Requested functionality has been deprecated]", "[Insufficient Permissions]", "nan", "1e9"],
)  # fmt: skip
def test_what_is_no_figure_is_missing_with_its_reason(text: str) -> None:
    """GIVEN a cell without a figure THEN it is missing, never zero, and its text is kept."""
    row = parse_row(LINE.replace("71.61", text), FIELDS, 0.0)
    assert row is not None
    assert "power_w" not in row.figures
    assert row.missing == {"power_w": text or "(empty)"}
    assert row.figures["util_pct"] == 31


def test_lost() -> None:
    """GIVEN `[GPU is lost]` in the cells THEN the row says so and has no figures."""
    cells = ["1", *["[GPU is lost]"] * (len(FIELDS) - 1)]
    row = parse_row(", ".join(cells), FIELDS, 0.0)
    assert row is not None
    assert (row.lost, row.figures) == ("GPU is lost", {})


@pytest.mark.parametrize(
    "line",
    ["", "No devices were found", LINE + ", 5", LINE[:-4], LINE.replace("0,", "-1,", 1),
     LINE.replace("0,", "GPU,", 1), LINE.replace("0,", "99999,", 1), "+------+", "a,b"],
)  # fmt: skip
def test_no_row(line: str) -> None:
    """GIVEN any other line THEN it is no row."""
    assert parse_row(line, FIELDS, 0.0) is None


@given(st.text())
def test_any_line_is_a_row_or_none(line: str) -> None:
    """GIVEN any text at all THEN it is told apart without an error."""
    row = parse_row(line, FIELDS, 0.0)
    assert row is None or row.gpu >= 0


def test_an_unknown_field_is_asked_by_its_later_name_and_then_not_at_all() -> None:
    """GIVEN a driver that refuses a field THEN the next query has its later name, then none."""
    text = 'Field "clocks_throttle_reasons.active" is not a valid field to query.'
    refused = gpu_query.unknown_field(text)
    assert refused is not None
    second = gpu_query.without(FIELDS, refused)
    assert len(second) == len(FIELDS)
    assert "clocks_event_reasons.active" in second
    assert len(gpu_query.without(second, "clocks_event_reasons.active")) == len(FIELDS) - 1


def test_facts() -> None:
    """GIVEN the answer on what does not change THEN figures are figures and the rest is None."""
    asked = ("index", "name", "memory.total", "power.limit", "mig.mode.current", "uuid")
    output = (
        "1, B, 81559, 700.00, [N/A], GPU-2\r\nWARNING: infoROM\n0, A, [N/A], , Enabled, GPU-1\n"
    )
    assert gpu_facts.parse(output, asked) == [
        {"index": 0, "name": "A", "mem_total_mib": None, "power_limit_w": None, "mig": "Enabled",
         "uuid": "GPU-1"},
        {"index": 1, "name": "B", "mem_total_mib": 81559, "power_limit_w": 700, "mig": None,
         "uuid": "GPU-2"},
    ]  # fmt: skip


class FakeHelper:
    def __init__(self, argv: Sequence[str]) -> None:
        self.pid = 1
        self.argv = list(argv)
        self.code: int | None = None
        self.signals: list[str] = []

    def exit_code(self) -> int | None:
        return self.code

    def terminate(self) -> None:
        self.signals.append("TERM")

    def kill(self) -> None:
        self.signals.append("KILL")


class Bench:
    """A stream with fake helpers."""

    def __init__(self, interval_s: float = 1.0) -> None:
        self.helpers: list[FakeHelper] = []
        self.events: list[tuple[str, str]] = []
        self.stream = GpuStream(TOOL, interval_s, self._spawn, self._tell)
        self.stream.start(0.0)

    def _spawn(self, argv: Sequence[str], generation: int) -> FakeHelper:
        self.helpers.append(FakeHelper(argv))
        return self.helpers[-1]

    def _tell(self, kind: str, text: str, data: dict[str, Any]) -> None:
        self.events.append((kind, text))

    def prints(self, now: float, text: str) -> int:
        return len(self.stream.feed(now, text.encode(), self.stream.generation))

    def ends(self, now: float, code: int) -> None:
        self.helpers[-1].code = code
        self.stream.feed(now, b"", self.stream.generation)
        self.stream.check(now)

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events]


def test_the_stream_is_one_process() -> None:
    """GIVEN a healthy tool THEN it is started once, and its rows are read in any pieces."""
    bench = Bench(0.5)
    assert bench.helpers[0].argv[-2:] == ["-lms", "500"]
    assert bench.prints(0.1, LINE[:20]) == 0
    assert bench.prints(0.1, LINE[20:] + "\r\n" + LINE + "\n") == 2
    for second in range(1, 100):
        bench.prints(float(second), LINE + "\n")
        bench.stream.check(second + 0.5)
    assert len(bench.helpers) == 1
    assert (bench.stream.status, bench.kinds()) == ("ok", ["gpu-stream-started"])


def test_first_row_deadline() -> None:
    """GIVEN a driver that takes long to wake THEN it is waited for, but not for ever."""
    bench = Bench()
    bench.stream.check(FIRST_ROW_S - 1)
    assert bench.helpers[0].signals == []
    bench.stream.check(FIRST_ROW_S)
    assert bench.helpers[0].signals == ["TERM"]
    assert bench.kinds() == ["gpu-stream-silent"]
    bench.stream.check(FIRST_ROW_S + 2.0)
    assert bench.helpers[0].signals == ["TERM", "KILL"]
    assert len(bench.helpers) == 2


def test_a_helper_that_ends_when_asked_is_not_killed() -> None:
    """GIVEN a silent helper that ends on SIGTERM THEN no SIGKILL follows."""
    bench = Bench()
    bench.stream.check(FIRST_ROW_S)
    bench.helpers[0].code = -15
    bench.stream.check(FIRST_ROW_S + 3.0)
    assert bench.helpers[0].signals == ["TERM"]


def test_stall_then_one_call_a_sample() -> None:
    """GIVEN a stream that falls silent again THEN single calls take over, at the interval."""
    bench = Bench()
    bench.prints(0.0, LINE + "\n")
    bench.stream.check(6.0)
    bench.stream.check(7.0)
    assert "-lms" in bench.helpers[1].argv
    bench.prints(7.1, LINE + "\n")
    bench.stream.check(13.2)
    bench.stream.check(16.0)
    assert bench.stream.single
    assert "-lms" not in bench.helpers[2].argv
    assert bench.prints(16.1, LINE + "\n") == 1
    bench.ends(16.2, 0)
    bench.stream.check(16.5)
    assert len(bench.helpers) == 3
    bench.stream.check(17.1)
    assert len(bench.helpers) == 4
    assert bench.stream.status == "ok"


def test_back_off() -> None:
    """GIVEN a driver that is not there THEN it is asked ever more rarely, at last once a minute."""
    bench = Bench()
    starts = [0.0]
    now = 0.0
    while now < 400.0:
        if bench.helpers[-1].code is None:
            bench.prints(now, "NVIDIA-SMI has failed because of the driver.\n")
            bench.ends(now, 9)
        now += 0.5
        count = len(bench.helpers)
        bench.stream.check(now)
        if len(bench.helpers) > count:
            starts.append(now)
    pauses = [b - a for a, b in itertools.pairwise(starts)]
    assert pauses[:6] == [1, 2, 4, 8, 16, 32]
    assert set(pauses[6:]) == {60}
    assert bench.stream.status == "failed"
    assert "(exit code 9): NVIDIA-SMI has failed" in bench.stream.text


def test_unknown_field_is_dropped_at_once() -> None:
    """GIVEN a refused field THEN the query is repeated without it, with no pause."""
    bench = Bench()
    bench.prints(0.1, 'Field "pstate" is not a valid field to query.\n\n')
    bench.ends(0.1, 2)
    assert len(bench.helpers) == 2
    assert "pstate" not in bench.helpers[1].argv[1]
    assert bench.prints(0.2, LINE.replace(" P0,", "") + "\n") == 1


def test_impostor_is_given_up() -> None:
    """GIVEN a tool that prints a table and succeeds THEN it is asked three times, not for ever."""
    bench = Bench()
    for now in range(400):
        if bench.helpers[-1].code is None:
            bench.prints(float(now), "+-----+\n| NVIDIA-SMI |\n")
            bench.ends(float(now), 0)
        bench.stream.check(float(now))
    assert len(bench.helpers) == 3
    assert "does not answer a query" in bench.stream.text


def test_lines_between_rows_are_events() -> None:
    """GIVEN an Xid message between rows THEN it is kept; before the first row it is kept if rows
    follow; and a flood is cut off."""
    bench = Bench()
    bench.prints(0.0, "WARNING: infoROM is corrupted\n" + LINE + "\n")
    bench.prints(1.0, "Xid 79\n" + LINE + "\n" + "noise\n" * 500)
    texts = [text for kind, text in bench.events if kind == "gpu-text"]
    assert texts[:2] == ["WARNING: infoROM is corrupted", "Xid 79"]
    assert len(texts) == 50


def test_output_of_an_earlier_helper_is_ignored() -> None:
    """GIVEN a helper that was given up WHEN it prints after all THEN nothing is taken from it."""
    bench = Bench()
    bench.stream.check(FIRST_ROW_S)
    bench.stream.check(FIRST_ROW_S + 1)
    assert bench.stream.feed(FIRST_ROW_S + 2, (LINE + "\n").encode(), 1) == []


@given(st.lists(st.binary(max_size=40)))
def test_any_bytes(chunks: list[bytes]) -> None:
    """GIVEN any bytes in any pieces THEN the stream takes them without an error."""
    bench = Bench()
    for number, chunk in enumerate(chunks):
        bench.stream.feed(float(number), chunk or b"x", 1)


def row(gpu: int, arrived: float) -> gpu_query.GpuRow:
    return gpu_query.GpuRow(gpu, arrived, {}, {}, "")


def test_the_last_row_of_a_batch_sets_the_pace() -> None:
    """GIVEN two GPUs THEN a batch is complete with the second, and is given out once."""
    pace = Pacemaker(1.0, 0.0)
    pace.expect(2)
    pace.add(row(0, 0.5))
    assert pace.take(0.5) is None
    pace.add(row(1, 0.504))
    batch = pace.take(0.505)
    assert batch is not None
    assert (batch.first, batch.last, sorted(batch.rows)) == (0.5, 0.504, [0, 1])
    assert pace.take(0.506) is None
    assert not pace.timer_due(1.9)


def test_the_first_batch_ends_by_silence() -> None:
    """GIVEN an unknown number of GPUs THEN a short silence ends the first batch."""
    pace = Pacemaker(1.0, 0.0)
    pace.add(row(0, 0.1))
    pace.add(row(1, 0.11))
    assert pace.take(0.15) is None
    assert pace.deadline(0.15) < 0.4
    batch = pace.take(0.3)
    assert batch is not None
    assert len(batch.rows) == 2


def test_the_timer_steps_in() -> None:
    """GIVEN no batch within one and a half intervals THEN the timer gives a row each interval."""
    pace = Pacemaker(1.0, 0.0)
    pace.expect(1)
    pace.add(row(0, 1.0))
    pace.take(1.0)
    due = [now / 10 for now in range(10, 60) if pace.timer_due(now / 10)]
    assert due == [2.5, 3.5, 4.5, 5.5]


def test_a_lump_gives_one_row() -> None:
    """GIVEN three batches in one lump THEN the newest is used and the others count as lost."""
    pace = Pacemaker(1.0, 0.0)
    pace.expect(2)
    for _ in range(3):
        pace.add(row(0, 5.0))
        pace.add(row(1, 5.0))
    assert pace.take(5.0) is not None
    assert pace.take(5.0) is None
    assert pace.lost_rows == 4


def test_a_gpu_that_is_missing_from_a_batch() -> None:
    """GIVEN a batch without its last GPU THEN the next one closes it; WHEN the GPU stays away THEN
    it is no longer waited for."""
    pace = Pacemaker(1.0, 0.0)
    pace.expect(2)
    pace.add(row(0, 1.0))
    lasts = []
    for now in (2.0, 3.0, 4.0, 5.0):
        pace.add(row(0, now))
        batch = pace.take(now)
        assert batch is not None
        lasts.append(batch.last)
    assert lasts == [1.0, 2.0, 4.0, 5.0]
    assert pace.lost_rows == 1
