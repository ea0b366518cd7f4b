"""② Logs as other locales and spreadsheets write them, and people's own tables."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiag.errors import UnreadableError
from gpudiag.timeline.load import Log
from gpudiag.timeline.localised import plain
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.read import read

LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "logs"
HEADER = "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]"


def _read(tmp_path: Path, text: str) -> Timeline:
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    return read(path)


def _spread(tmp_path: Path, sign: str, quote: str, point: str) -> Timeline:
    cells = [["timestamp", "index", "utilization.gpu [%]", "memory.used [MiB]", "power.draw [W]"]]
    cells += [
        [f"2026/12/01 10:00:0{i}.500", "0", f"{60 + i} %", "8000 MiB", f"250{point}5{i} W"]
        for i in range(5)
    ]
    rows = [sign.join(f"{quote}{cell}{quote}" for cell in row) for row in cells]
    return _read(tmp_path, "\n".join(rows) + "\n")


@pytest.mark.parametrize(
    ("sign", "quote", "point"),
    [(";", "", ","), ("; ", "", ","), ("\t", "", "."), (",", '"', ","), (";", '"', ",")],
)
def test_what_a_spreadsheet_saved(tmp_path: Path, sign: str, quote: str, point: str) -> None:
    """GIVEN cells between other signs, quoted or not, with decimal commas THEN the same figures."""
    run = _spread(tmp_path, sign, quote, point)
    assert run.frame["gpu0_power_w"].tolist() == [250.50, 250.51, 250.52, 250.53, 250.54]
    assert run.frame["gpu0_util_pct"].tolist() == [60, 61, 62, 63, 64]
    assert run.source.span_s == pytest.approx(4.0)
    assert run.source.unaccounted == 0


def test_decimal_commas_between_commas_are_told_by_units(tmp_path: Path) -> None:
    """GIVEN `250,5 W` in a row between commas THEN one figure; the note says so."""
    rows = [f"2026/12/01 10:00:0{i}, 0, 9{i} %, 8000 MiB, 25{i},5 W" for i in range(5)]
    run = _read(tmp_path, "\n".join([HEADER, *rows]) + "\n")
    assert run.frame["gpu0_power_w"].tolist() == [250.5, 251.5, 252.5, 253.5, 254.5]
    assert "Figures have decimal commas." in run.source.notes


def test_a_torn_row_is_not_taken_for_decimal_commas(tmp_path: Path) -> None:
    """GIVEN rows with a cell too many and no unit that tells why THEN they are dropped."""
    rows = [f"2026/12/01 10:00:0{i}, 0, 90, 8000, 25{i}" for i in range(5)]
    torn = "2026/12/01 10:00:09, 0, 90, 8000, 250, 5"
    run = _read(tmp_path, "\n".join([HEADER, *rows, torn]) + "\n")
    assert run.source.rows == 5
    assert [drop.line for drop in run.source.dropped] == [7]


@pytest.mark.parametrize(
    "date",
    [
        "2026年 12月 01日 星期二 22:00:0{} CST", "2026年12月1日 下午10:00:0{}",
        "2026年12月01日(火) 22:00:0{}", "Di 1. Dez 22:00:0{} CET 2026",
        "mar. 01 déc. 2026 22:00:0{} CET", "mar 1 dic 2026 22:00:0{} CET",
        "Вт 01 дек 2026 22:00:0{} MSK", "ter 1 dez 2026 22:00:0{} -03",
        "di 1 dec 2026 22:00:0{} CET", "Tue Dec  1 22:00:0{} CET 2026",
    ],
)  # fmt: skip
def test_dates_in_other_languages(tmp_path: Path, date: str) -> None:
    """GIVEN what `date` prints elsewhere, before each row THEN its moments."""
    lines = [f"{date.format(i)}\n{50 + i} %, 8000 MiB" for i in range(5)]
    run = _read(tmp_path, "utilization.gpu [%], memory.used [MiB]\n" + "\n".join(lines) + "\n")
    assert run.start["time"].startswith("2026-12-01T22:00:00")
    assert run.source.span_s == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("word", "month"),
    [("août", 8), ("juillet", 7), ("juin", 6), ("März", 3), ("Mai", 5), ("mag", 5), ("giu", 6),
     ("ene", 1), ("out", 10), ("févr", 2), ("Okt", 10), ("июл", 7), ("ago", 8), ("mrt", 3)],
)  # fmt: skip
def test_months_in_other_languages(tmp_path: Path, word: str, month: int) -> None:
    """GIVEN a month's name of another language THEN its number."""
    lines = [f"xx. 02 {word}. 2026 10:00:0{i} CET\n50 %, 8000 MiB" for i in range(3)]
    run = _read(tmp_path, "utilization.gpu [%], memory.used [MiB]\n" + "\n".join(lines) + "\n")
    assert run.start["time"].startswith(f"2026-{month:02}-02")


def test_a_date_that_does_not_tell_day_from_month_is_said(tmp_path: Path) -> None:
    """GIVEN 01/12/2026 alone THEN a note; GIVEN the day after it THEN the order is known."""
    head = "timestamp, index, utilization.gpu [%]\n"
    one = _read(tmp_path, head + "01/12/2026 23:59:59, 0, 5 %\n01/12/2026 23:59:59, 0, 6 %\n")
    assert any("do not tell day from month" in note for note in one.source.notes)
    two = _read(tmp_path, head + "11/12/2026 23:59:59, 0, 5 %\n12/12/2026 00:00:00, 0, 6 %\n")
    assert two.start["time"].startswith("2026-12-11")
    sure = _read(tmp_path, head + "13/12/2026 10:00:00, 0, 5 %\n13/12/2026 10:00:01, 0, 6 %\n")
    assert not any("day from month" in note for note in sure.source.notes)


def test_a_header_that_does_not_fit_its_rows_is_refused(tmp_path: Path) -> None:
    """GIVEN bare rows in another order than the header's THEN one line, not false figures."""
    rows = [f"2026/12/01 10:00:{i:02}, 0, 25{i % 3}.5, 90, 8000" for i in range(20)]
    with pytest.raises(UnreadableError, match="the header does not fit the rows") as told:
        _read(tmp_path, "\n".join([HEADER.replace(" [%]", ""), *rows]) + "\n")
    assert "\n" not in str(told.value)


def test_a_column_for_each_gpu() -> None:
    """GIVEN a script's table with a column a GPU THEN each GPU's figures; units said."""
    run = read(LOGS / "column-per-gpu.csv")
    assert [gpu["index"] for gpu in run.start["gpus"]] == [0, 1]
    assert run.frame["gpu1_util_pct"].iloc[1] == 45
    assert "gpu0_mem has no unit; its figures are taken for MiB." in run.source.notes
    assert run.source.unaccounted == 0


@pytest.mark.parametrize(
    "names",
    [
        ("GPU0 Util (%)", "GPU0 Mem (GiB)"), ("gpu_0_utilization", "gpu_0_memory_used_gb"),
        ("util_gpu0 [%]", "mem_gpu0 [GB]"), ("gpu0.load", "gpu0.vram.gib"),
    ],
)  # fmt: skip
def test_spellings_of_a_column_for_each_gpu(tmp_path: Path, names: tuple[str, str]) -> None:
    """GIVEN other spellings THEN the same columns, in the units of run.csv."""
    rows = "\n".join(f"{1796000000 + i},9{i},7.5" for i in range(5))
    run = _read(tmp_path, f"epoch,{names[0]},{names[1]}\n{rows}\n")
    assert run.frame["gpu0_util_pct"].tolist() == [90, 91, 92, 93, 94]
    assert run.frame["gpu0_mem_used_mib"].tolist() == [7680.0] * 5
    assert run.start["time"].endswith("+00:00")


def test_a_share_is_not_taken_for_a_size(tmp_path: Path) -> None:
    """GIVEN memory without a unit and never above 100 THEN it is left aside, and that is said."""
    rows = "\n".join(f"{i},90,{40 + i}" for i in range(5))
    run = _read(tmp_path, f"t,gpu0_util,gpu0_mem\n{rows}\n")
    assert "gpu0_mem_used_mib" not in run.frame
    assert any("may be a share or a size" in note for note in run.source.notes)


@given(st.text(alphabet=string.printable + "年月日火é;\t", max_size=300))
@settings(max_examples=200)
def test_no_text_breaks_it_and_lines_stay_lines(text: str) -> None:
    """GIVEN any text THEN as many lines as before."""
    log = Log("x", text.replace("\r", "").encode())
    assert plain(log).data.count(b"\n") == log.data.count(b"\n")
