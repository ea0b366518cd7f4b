"""run.csv as it grows."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.timeline.columns import COLUMNS, MAGIC
from gpudiag.timeline.writer import RunFile, cell

HOST = ["t_s", "skew_s", "host_cpu_pct"]


def made(folder: Path, columns: list[str] | None = None) -> RunFile:
    return RunFile(folder / "run.csv", {"gpus": []}, columns or HOST)


def text(folder: Path) -> list[str]:
    return (folder / "run.csv").read_text().splitlines()


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (None, 1, ""), (float("nan"), 0, ""), (float("inf"), 2, ""), (0, 2, "0"), (0.0, 3, "0"),
        (-0.001, 2, "0"), (31.4159, 1, "31.4"), (31.96, 1, "32"), (100, 0, "100"),
        (2.0004, 3, "2"), (1e6, 0, "1000000"), (1200, 0, "1200"), (-1.25, 1, "-1.2"),
    ],
)  # fmt: skip
def test_cell(value: float | None, digits: int, expected: str) -> None:
    """GIVEN a figure THEN it has no more digits than it is worth; what is not measured is empty."""
    assert cell(value, digits) == expected


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(0, 4))
def test_a_cell_is_a_figure_near_the_value(value: float, digits: int) -> None:
    """GIVEN any figure THEN its cell reads back as that figure to the digits kept."""
    assert float(cell(value, digits)) == pytest.approx(value, abs=0.51 * 10**-digits, rel=1e-12)


def test_the_file_is_whole_from_the_first_moment(tmp_path: Path) -> None:
    """GIVEN a new file THEN format, start and header stand in it before any row."""
    made(tmp_path)
    assert text(tmp_path) == [MAGIC, '# start {"gpus":[]}', ",".join(HOST)]
    assert [path.name for path in tmp_path.iterdir()] == ["run.csv"]


def test_an_existing_file_is_not_touched(tmp_path: Path) -> None:
    """GIVEN a file of that name THEN it stays as it is."""
    (tmp_path / "run.csv").write_text("mine")
    with pytest.raises(FileExistsError):
        made(tmp_path)
    assert text(tmp_path) == ["mine"]
    assert len(list(tmp_path.iterdir())) == 1


def test_rows_events_and_the_end(tmp_path: Path) -> None:
    """GIVEN rows and events THEN each is one line, in order."""
    file = made(tmp_path)
    file.row({"t_s": 1.0, "host_cpu_pct": 12.34})
    file.event(1.5, "mark", "epoch 1\nnot a line", {"epoch": 1})
    file.row({"t_s": 2.0, "skew_s": 0.00123})
    file.close({"exit_code": 0})
    assert text(tmp_path)[3:] == [
        "1,,12.3",
        '# event {"t_s":1.5,"kind":"mark","text":"epoch 1\\nnot a line","data":{"epoch":1}}',
        "2,0.0012,",
        '# end {"exit_code":0}',
    ]


def test_widening_keeps_every_line(tmp_path: Path) -> None:
    """GIVEN columns that appear later THEN there is one header, and old rows have empty cells."""
    file = made(tmp_path)
    file.row({"t_s": 1.0})
    file.event(1.0, "note", "x", {})
    file.row({"t_s": 2.0, "gpu0_util_pct": 31, "gpu0_mem_used_mib": 412})
    file.row({"t_s": 3.0, "host_cpu_pct": 5.0})
    file.close(None)
    lines = text(tmp_path)
    assert lines[2] == ",".join([*HOST, "gpu0_util_pct", "gpu0_mem_used_mib"])
    assert [line for line in lines[3:] if not line.startswith("#")] == [
        "1,,,,", "2,,,31,412", "3,,5,,"
    ]  # fmt: skip
    assert sum(line.startswith("t_s,") for line in lines) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_the_start_line_learns(tmp_path: Path) -> None:
    """GIVEN facts that come later THEN they are in the one start line."""
    file = made(tmp_path)
    file.row({"t_s": 1.0})
    file.restart({"gpus": [{"index": 0, "name": "A"}]})
    file.row({"t_s": 2.0})
    file.close(None)
    starts = [line for line in text(tmp_path) if line.startswith("# start ")]
    assert len(starts) == 1
    assert json.loads(starts[0][8:]) == {"gpus": [{"index": 0, "name": "A"}]}
    assert text(tmp_path)[3:] == ["1,,", "2,,"]


def test_permissions_survive_widening(tmp_path: Path) -> None:
    """GIVEN a file made readable for others THEN it stays so."""
    file = made(tmp_path)
    (tmp_path / "run.csv").chmod(0o604)
    file.widen(["gpu0_util_pct"])
    assert (tmp_path / "run.csv").stat().st_mode & 0o777 == 0o604


def test_a_file_moved_away_is_not_brought_back(tmp_path: Path) -> None:
    """GIVEN a recording that was renamed, and another file in its place THEN that one is left
    alone, and the rows go on to the recording."""
    file = made(tmp_path)
    (tmp_path / "run.csv").rename(tmp_path / "kept.csv")
    (tmp_path / "run.csv").write_text("mine")
    file.row({"t_s": 1.0, "gpu0_util_pct": 5})
    file.close(None)
    assert text(tmp_path) == ["mine"]
    assert (tmp_path / "kept.csv").read_text().endswith("\n1,,\n")
    assert "moved or replaced" in file.trouble


def test_a_removed_folder(tmp_path: Path) -> None:
    """GIVEN a folder that is gone THEN nothing is raised, and it is said."""
    folder = tmp_path / "out"
    folder.mkdir()
    file = made(folder)
    (folder / "run.csv").unlink()
    folder.rmdir()
    file.row({"t_s": 1.0})
    file.close({"samples": 1})
    assert "was removed" in file.trouble


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a disk that takes half a line, then nothing, then all THEN no half line is left, the
    lost rows are counted, and later rows are there."""
    file = made(tmp_path)
    real = os.write
    moods = ["half", "none", "all"]

    def write(descriptor: int, data: bytes) -> int:
        mood = moods.pop(0) if moods else "all"
        if mood == "none":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[: len(data) // 2] if mood == "half" else data)

    monkeypatch.setattr(os, "write", write)
    for second in (1.0, 2.0, 3.0):
        file.row({"t_s": second})
    file.close(None)
    assert text(tmp_path)[3:] == ["3,,"]
    assert file.lost_rows == 2
    assert "No space left on device" in file.trouble


def test_a_broken_line_that_cannot_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN half a line that cannot be cut off THEN the next row begins on a line of its own."""
    file = made(tmp_path)
    real = os.write
    monkeypatch.setattr(os, "write", lambda d, data: real(d, data[:2]))
    monkeypatch.setattr(os, "ftruncate", lambda *_: (_ for _ in ()).throw(OSError(5, "no")))
    file.row({"t_s": 11.0})
    monkeypatch.setattr(os, "write", real)
    file.row({"t_s": 12.0})
    file.close(None)
    assert text(tmp_path)[3:] == ["11", "12,,"]


def test_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a file system without hard links THEN the file is made all the same."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os, "link", refuse)
    made(tmp_path).row({"t_s": 1.0})
    assert text(tmp_path)[3:] == ["1,,"]
    with pytest.raises(FileExistsError):
        made(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


def test_an_unknown_column_is_a_mistake(tmp_path: Path) -> None:
    """GIVEN a name that the format does not have THEN the file is not made."""
    with pytest.raises(ValueError, match="no column"):
        made(tmp_path, ["t_s", "gpu0_speed"])


def test_text_that_is_no_unicode(tmp_path: Path) -> None:
    """GIVEN a command line with bytes that are no UTF-8 THEN the start line is ASCII."""
    RunFile(tmp_path / "run.csv", {"command": [os.fsdecode(b"\xff"), "ä"]}, HOST)
    assert (tmp_path / "run.csv").read_bytes().isascii()


def test_a_day_is_small(tmp_path: Path) -> None:
    """GIVEN 8 GPUs and every column full THEN a row is short enough for 60 MB a day at 1 Hz."""
    gpus = [c.in_file(n) for n in range(8) for c in COLUMNS if c.scope == "gpu"]
    rest = [c.name for c in COLUMNS if c.scope not in ("gpu", "rank")]
    file = made(tmp_path, [*rest, *gpus])
    before = (tmp_path / "run.csv").stat().st_size
    values: dict[str, float | None] = dict.fromkeys(rest, 12.345)
    typical = {"mem_used_mib": 64512, "power_w": 612.3, "sm_clock_mhz": 1980, "mem_clock_mhz": 2619}
    values |= {name: typical.get(name.split("_", 1)[1], 31) for name in gpus}
    values |= {"t_s": 86399.123, "host_mem_used_mib": 1031234, "host_mem_avail_mib": 1031234}
    file.row(values)
    assert 86400 * ((tmp_path / "run.csv").stat().st_size - before) <= 60e6


def test_pandas_reads_it_as_it_stands(tmp_path: Path) -> None:
    """GIVEN a finished file THEN `pd.read_csv(path, comment="#")` is enough."""
    import pandas as pd

    file = made(tmp_path)
    file.row({"t_s": 1.0, "host_cpu_pct": 7})
    file.row({"t_s": 2.0, "gpu3_util_pct": 9})
    file.close({"samples": 2})
    frame = pd.read_csv(tmp_path / "run.csv", comment="#")
    assert list(frame["t_s"]) == [1.0, 2.0]
    assert list(frame["gpu3_util_pct"].isna()) == [True, False]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX descriptors")
def test_the_descriptor_is_not_inherited(tmp_path: Path) -> None:
    """GIVEN the file THEN no program that is started gets its descriptor."""
    file = made(tmp_path)
    assert not os.get_inheritable(file._file)
    file.widen(["gpu0_util_pct"])
    assert not os.get_inheritable(file._file)
