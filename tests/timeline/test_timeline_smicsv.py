"""CSV logs of nvidia-smi with every kind of trouble, in small files written for these tests."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from gpudiag.errors import UnreadableError, UsageError
from gpudiag.timeline import clock, smicsv
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.read import read

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
TUTORIAL = Path(__file__).parents[1] / "fixtures" / "tutorial"


def of(text: str, interval_s: float | None = None) -> Timeline:
    return smicsv.read(Log("log.csv", text.encode()), interval_s)


def noted(timeline: Timeline, words: str) -> bool:
    return any(words in note for note in timeline.source.notes)


# File, GPUs, rows, ticks, span, maximum memory (None: not in the log), lines dropped.
WHOLE: list[tuple[str, int, int, int, float | None, float | None, list[int]]] = [
    ("loop-header-every-row.csv", 1, 3, 3, 2.06, 3010, []),
    ("header-changes.csv", 1, 4, 4, 3601, 5001, []),
    ("lost-gpu.csv", 2, 6, 3, 2.024, 30010, []),
    ("device-handle.csv", 3, 6, 2, None, 910, []),
    ("gpu-id-long.csv", 2, 6, 3, 1, 3072, []),
    ("uuid-only.csv", 2, 4, 2, 1.003, 200, []),
    ("bus-only.csv", 2, 4, 2, None, None, []),
    ("shell-loop-4gpu.log", 4, 11, 3, 20, 20020, []),
    ("date-blocks.log", 2, 10, 5, 9000, 3002, [10]),
    ("header-every-block.csv", 3, 9, 3, None, 300, []),
    ("in-turn.csv", 2, 8, 4, None, 30000, []),
    ("service.log", 1, 3, 3, 120, 8508, []),
    ("table-in-front.csv", 1, 3, 3, None, 9000, []),
    ("windows-batch.log", 2, 4, 2, 600, 600, []),
    ("quoted-newline.csv", 1, 3, 3, 0.5, 520, []),
    ("torn.csv", 1, 4, 4, 6, 3005, [5, 6]),
    ("clock-back.csv", 1, 4, 4, 3, None, []),
    ("pause.csv", 1, 4, 4, 5401, None, []),
    ("two-cards-one-index.csv", 2, 4, 2, None, 8000, []),
    ("no-header-units.csv", 1, 3, 3, 10, 9100, []),
    ("throttle-words.csv", 1, 3, 3, 2, None, []),
    ("throttle-mask.csv", 1, 2, 2, 1, None, []),
    ("missing-words.csv", 1, 2, 2, 5, None, []),
]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case[0])
def test_what_is_in_it(case: tuple[Any, ...]) -> None:
    """THEN GPUs, rows, ticks, span and memory are right, and each line is accounted for."""
    name, gpus, rows, ticks, span, memory, dropped = case
    timeline = read(LOGS / name)
    source = timeline.source
    assert timeline.gpus == tuple(range(gpus))
    assert (source.rows, len(timeline.frame)) == (rows, ticks)
    assert source.span_s == (None if span is None else pytest.approx(span))
    assert source.time_known == (span is not None)
    highest = timeline.frame.filter(regex="mem_used_mib$").max().max()
    assert highest == memory if memory is not None else not highest > 0
    assert [d.line for d in source.dropped] == dropped
    assert source.rows + source.header_rows + source.other_lines + len(dropped) == source.lines
    assert timeline.frame.index.is_monotonic_increasing
    assert timeline.frame.index.is_unique
    assert not any(column.startswith(("host", "main", "worker")) for column in timeline.frame)


@pytest.mark.parametrize(
    ("name", "gpus", "rows"),
    [("gpu_log_1gpu.csv", 1, 60), ("gpu_log_4gpu.csv", 4, 240), ("gpu_usage_1gpu.log", 1, 12),
     ("gpu_usage_4gpu.log", 4, 48), ("snapshot_1gpu.csv", 1, 1)],
)  # fmt: skip
def test_the_commands_of_tutorials(name: str, gpus: int, rows: int) -> None:
    timeline = read(TUTORIAL / name)
    assert (len(timeline.gpus), timeline.source.rows) == (gpus, rows)
    assert {"gpu0_util_pct", "gpu0_mem_used_mib"} <= set(timeline.frame)


def test_a_snapshot_of_four_gpus_may_be_four_samples_of_one() -> None:
    """GIVEN four rows under one header and nothing else THEN the doubt is said."""
    timeline = read(TUTORIAL / "snapshot_4gpu.csv")
    assert noted(timeline, "how many GPUs it holds cannot be told")
    assert noted(timeline, "4 rows may be as many GPUs at one moment")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("only-error.log", "Driver/library version mismatch"),
        ("bad-field.log", "device_minor"),
        ("no-header-ambiguous.csv", "what their 3 columns are cannot be told"),
    ],
)
def test_nothing_to_read_is_one_clear_line(name: str, message: str) -> None:
    with pytest.raises(UnreadableError, match=message) as caught:
        read(LOGS / name)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_gpu_that_is_lost() -> None:
    """THEN its cells are empty with the reason, the loss is an event, and so is the Xid line."""
    timeline = read(LOGS / "lost-gpu.csv")
    lost, xid = timeline.events
    assert (lost.kind, lost.t_s, lost.data["gpu"]) == ("gpu-lost", 1.01, 1)
    assert "Xid" in xid.text
    assert timeline.frame["gpu1_util_pct"].isna().tolist() == [False, True, True]
    assert "[GPU is lost] in 2 of 3 rows" in timeline.source.missing["gpu1_util_pct"]


def test_places_do_not_shift_when_a_gpu_is_lost() -> None:
    timeline = read(LOGS / "device-handle.csv")
    assert timeline.frame["gpu2_util_pct"].tolist() == [14, 15]
    assert timeline.column("gpu1_util_pct") is None


def test_one_unknown_error_does_not_make_a_gpu_lost() -> None:
    """GIVEN an unknown error in one cell of a row with other figures THEN no GPU is called lost."""
    timeline = read(LOGS / "missing-words.csv")
    assert timeline.events == ()
    assert timeline.frame["gpu0_power_w"].iloc[1] == 31.2
    assert "[Not Supported]" in timeline.source.missing["gpu0_mem_util_pct"]


def test_facts_of_the_gpus() -> None:
    header = "timestamp, index, name, uuid, driver_version, memory.total [MiB], power.limit [W], "
    row = "2026/02/03 08:00:00.000, 3, NVIDIA A30, GPU-abc, 550.54.15, 24576 MiB, 165.00 W, "
    timeline = of(f"{header}utilization.gpu [%]\n{row}5 %\n")
    assert timeline.start["gpus"] == [
        {"index": 3, "uuid": "GPU-abc", "name": "NVIDIA A30", "driver": "550.54.15",
         "mem_total_mib": 24576.0, "power_limit_w": 165.0}
    ]  # fmt: skip
    assert timeline.start["time"] == "2026-02-03T08:00:00.000"
    assert timeline.gpus == (3,)


def test_throttle_reasons_as_words_and_as_mask() -> None:
    assert read(LOGS / "throttle-words.csv").frame["gpu0_throttle_bits"].tolist() == [4, 68, 0]
    mask = read(LOGS / "throttle-mask.csv")
    assert mask.frame["gpu0_throttle_bits"].tolist() == [4, 0]
    assert mask.frame[["gpu0_pcie_gen", "gpu0_pcie_lanes"]].iloc[0].tolist() == [4, 16]


def test_cells_out_of_range_and_a_torn_end() -> None:
    missing = read(LOGS / "torn.csv").source.missing
    assert "250 % is outside 0 to 100 % in 1 of 4 rows, first in line 4" in missing["gpu0_util_pct"]
    assert "the file ends within this cell" in missing["gpu0_mem_used_mib"]


def test_a_clock_that_goes_back() -> None:
    timeline = read(LOGS / "clock-back.csv")
    assert timeline.frame.index.tolist() == [0, 1, 2, 3]
    assert noted(timeline, "goes back by 59 min 59 s at line 4 (the end of summer time?)")


def test_a_pause_stays_a_pause() -> None:
    assert read(LOGS / "pause.csv").frame.index.tolist() == [0, 1, 5400, 5401]


def test_an_incomplete_block_is_not_guessed() -> None:
    assert noted(read(LOGS / "date-blocks.log"), "2 rows belong to each date line")
    assert "cannot be told" in read(LOGS / "date-blocks.log").source.dropped[0].reason


def test_an_interval_given_by_hand() -> None:
    """GIVEN a log without times WHEN the interval is given THEN there is a clock, and a note."""
    text = "utilization.gpu [%]\n" + "50 %\n" * 5
    assert of(text).source.time_known is False
    timeline = of(text, interval_s=2.0)
    assert timeline.source.time_known
    assert timeline.frame.index.tolist() == [0, 2, 4, 6, 8]
    assert noted(timeline, "interval of 2 s that was given")
    with pytest.raises(UsageError):
        read(LOGS / "bus-only.csv", interval_s=0)


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ("55, 12000", {"util_pct": 55, "mem_used_mib": 12000}),
        ("98, 8, 12000, 24576", {"util_pct": 98, "mem_util_pct": 8, "mem_used_mib": 12000}),
        # 40 may be a temperature or a share, 55 a temperature or the load.
        ("98, 40, 12000, 24576", {"util_pct": 98, "mem_used_mib": 12000}),
        ("55, 40, 12000, 24576", {"mem_used_mib": 12000}),
        ("55 %, 12000 MiB", {"util_pct": 55, "mem_used_mib": 12000}),
        ("55 %, 12000 MiB, 24576 MiB, 61", {"util_pct": 55, "mem_used_mib": 12000, "temp_c": 61}),
        # Three shares: fan, load or memory in any order.
        ("30 %, 55 %, 20 %, 12000 MiB", {"mem_used_mib": 12000}),
        ("1410 MHz, 55 %", {"util_pct": 55}),
    ],
)
def test_columns_without_a_header(row: str, columns: dict[str, float]) -> None:
    """THEN what admits one reading is named and said, and the rest is left out."""
    timeline = of(f"{row}\n" * 4)
    assert timeline.frame.iloc[0].to_dict() == {f"gpu0_{c}": v for c, v in columns.items()}
    assert noted(timeline, "no header")


@pytest.mark.parametrize(
    ("header", "cell", "column", "value"),
    [
        ("memory.used [MiB]", "2 GiB", "mem_used_mib", 2048),
        ("memory_used_gb", "1.5", "mem_used_mib", 1536),
        ("memory_used_bytes", "1048576", "mem_used_mib", 1),
        ("gpu_utilization_ratio", "0.25", "util_pct", 25),
        ("GPU Utilization (%)", "25", "util_pct", 25),
        ("Power Draw (W)", "99.5", "power_w", 99.5),
        ("gpu_temp", "71", "temp_c", 71),
        ("clocks.gr [MHz]", "1410 MHz", "sm_clock_mhz", 1410),
    ],
)
def test_names_and_units(header: str, cell: str, column: str, value: float) -> None:
    timeline = of(f"timestamp,{header}\n2026-02-03 08:00:00,{cell}\n")
    assert timeline.frame[f"gpu0_{column}"].tolist() == [value]


@pytest.mark.parametrize("damage", ["", "console text\n"])
def test_times_of_whole_seconds_without_blanks(damage: str) -> None:
    """GIVEN `08:00:00,551` THEN the comma parts cells; in `08:00:00,551 - x` it is a fraction."""
    rows = "2026-02-03 08:00:00,551\n2026-02-03 08:00:01,552\n"
    timeline = of(f"timestamp,memory.used [MiB]\n{damage}{rows}")
    assert timeline.frame["gpu0_mem_used_mib"].tolist() == [551, 552]
    logged = clock.stamp("2026-02-03 08:00:00,250 - gpu: 5 %")
    assert logged == ("2026-02-03 08:00:00,250", "gpu: 5 %")


@pytest.mark.parametrize(
    "second",
    [
        "timestamp, memory.used [MiB], utilization.gpu [%]",
        "memory.used [MiB], timestamp, utilization.gpu [%]",
    ],
)
def test_a_later_header_of_the_same_width_in_another_order(second: str) -> None:
    """GIVEN a header that moves its columns without changing their number THEN figures follow."""
    first = "timestamp, utilization.gpu [%], memory.used [MiB]"
    cells = {"timestamp": "2026/02/03 09:00:00.000", "memory.used [MiB]": "90",
             "utilization.gpu [%]": "7"}  # fmt: skip
    row = ", ".join(cells[name] for name in second.split(", "))
    timeline = of(f"{first}\n2026/02/03 08:00:00.000, 5, 80\n{second}\n{row}\n")
    assert timeline.frame["gpu0_util_pct"].tolist() == [5, 7]
    assert timeline.frame["gpu0_mem_used_mib"].tolist() == [80, 90]


def test_a_header_and_then_rows_behind_dates() -> None:
    text = "utilization.gpu [%], memory.used [MiB]\n"
    text += "2026-02-03 08:00:00: 5, 80\n2026-02-03 08:00:10: 7, 90\n"
    timeline = of(text)
    assert timeline.frame["gpu0_util_pct"].tolist() == [5, 7]
    assert timeline.source.span_s == 10


def test_how_full_is_not_how_busy() -> None:
    """GIVEN a share of memory under a home-made name THEN it is neither figure of run.csv."""
    timeline = of("timestamp,gpu_utilization,memory_usage_percent\n2026-02-03 08:00:00,50,91\n")
    assert list(timeline.frame) == ["gpu0_util_pct"]


def test_home_made_host_columns_are_left_aside() -> None:
    timeline = of("timestamp,gpu_util,cpu_percent\n2026-02-03 08:00:00,50,91\n")
    assert list(timeline.frame) == ["gpu0_util_pct"]
    assert noted(timeline, "cpu_percent")


def test_samples_within_one_second_of_a_coarse_clock() -> None:
    """GIVEN four samples a second under times of whole seconds THEN they are spread, and said."""
    rows = "".join(f"2026-02-03 08:00:0{s},0,{u}\n" for s in range(3) for u in (10, 20, 30, 40))
    timeline = of("timestamp,index,gpu_util\n" + rows)
    assert timeline.frame.index.tolist() == [i / 4 for i in range(12)]
    assert noted(timeline, "spread over the second")


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings(tmp_path: Path, codec: str) -> None:
    text = (LOGS / "lost-gpu.csv").read_text().replace("\n", "\r\n")
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode(codec))
    assert read(path).frame.equals(read(LOGS / "lost-gpu.csv").frame)


def test_latin_1_gzip_and_colours(tmp_path: Path) -> None:
    text = "temp \xb0C\n\x1b[1mutilization.gpu [%]\x1b[0m\n5 %\n6 %\n"
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(text.encode("latin-1")))
    timeline = read(path)
    assert timeline.frame["gpu0_util_pct"].tolist() == [5, 6]
    assert noted(timeline, "Latin-1")


def test_nul_holes_are_not_utf_16(tmp_path: Path) -> None:
    """GIVEN two writers of one file THEN the holes are taken out and said, and no row is lost."""
    head = b"index, utilization.gpu [%], memory.used [MiB]\n"
    rows = b"0, 5 %, 10 MiB\n" + b"\0" * 500 + b"0, 6 %, 11 MiB" + b"\0" * 40 + b"0, 7 %, 12 MiB\n"
    path = tmp_path / "log"
    path.write_bytes(head + rows)
    timeline = read(path)
    assert timeline.frame["gpu0_util_pct"].tolist() == [5, 6, 7]
    assert noted(timeline, "540 NUL bytes in 2 holes")
