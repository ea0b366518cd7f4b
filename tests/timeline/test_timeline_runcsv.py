"""run.csv, format 1: whole, cut anywhere, damaged, and from another version."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiag.errors import GpudiagError, UnreadableError
from gpudiag.timeline import runcsv
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.read import read

START = {
    "time": "2026-03-01T10:00:00+01:00",
    "command": ["python", "train.py"],
    "interval_s": 1.0,
    "gpus": [{"index": 0, "name": "NVIDIA A100", "mem_total_mib": 40960}],
}
HEADER = "t_s,skew_s,gpu_batch_s,gpu0_util_pct,gpu0_mem_used_mib,host_cpu_pct,workers"
RUN = f"""# gpudiag run, format 1
# start {json.dumps(START)}
{HEADER}
1.003,0.0009,0.0021,31,4120,12.5,2
2.004,0.0008,0.0020,,,13.0,2
# event {{"t_s": 2.5, "kind": "framework", "text": "PyTorch seen", "data": {{"name": "pytorch"}}}}
3.001,0.0011,0.0019,97,4122,11.25,2
# end {{"t_s": 3.6, "exit_code": 0, "samples": 3}}
"""


def of(text: str | bytes) -> Timeline:
    data = text.encode() if isinstance(text, str) else text
    return runcsv.read(Log("run.csv", data))


def account(timeline: Timeline) -> int:
    s = timeline.source
    return s.rows + s.header_rows + s.other_lines + len(s.dropped)


def test_a_whole_recording() -> None:
    """GIVEN a whole recording WHEN read THEN every row, fact and event is there, and no note."""
    run = of(RUN)
    assert list(run.frame.columns) == HEADER.split(",")[1:]
    assert run.frame.index.tolist() == [1.003, 2.004, 3.001]
    assert run.frame["gpu0_util_pct"].isna().tolist() == [False, True, False]
    assert run.gpus == (0,)
    assert run.gpu_facts(0)["mem_total_mib"] == 40960
    assert run.events[0].data["name"] == "pytorch"
    assert run.end is not None
    assert run.end["exit_code"] == 0
    source = run.source
    assert (source.rows, source.header_rows, source.lines, source.notes) == (3, 1, 8, ())
    assert source.span_s == pytest.approx(1.998)
    assert source.interval_s == pytest.approx(0.999)
    assert account(run) == source.lines


def test_the_frame_is_that_of_plain_pandas() -> None:
    """THEN `pd.read_csv(..., comment="#")` gives the same figures."""
    plain = pd.read_csv(io.StringIO(RUN), comment="#").set_index("t_s").astype("float64")
    pd.testing.assert_frame_equal(of(RUN).frame, plain, check_exact=True)


@settings(max_examples=120, deadline=None)
@given(st.integers(0, len(RUN.encode())))
def test_cut_at_any_byte(cut: int) -> None:
    """GIVEN a recording cut anywhere THEN all its whole rows are read, or one line is said."""
    data = RUN.encode()[:cut]
    whole_rows = [line for line in data.split(b"\n")[:-1] if line[:1].isdigit()]
    if not whole_rows:
        with pytest.raises(UnreadableError, match=r"\A[^\n]+\Z"):
            of(data)
        return
    run = of(data)
    assert run.frame.index.tolist() == [float(row.split(b",")[0]) for row in whole_rows]
    assert account(run) == run.source.lines
    assert (run.end is None) == (b"# end" not in data or not data.endswith(b"\n"))
    assert (run.end is None) == any("cut short" in note for note in run.source.notes)


_PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [*RUN.split("\n"), HEADER, "4,1,2,3,4,5,6", ",,,,,,", "9e999,,,,,,", "nan"]
        ),
        st.text("0123456789.,-eE#\r\0\n \"'x", max_size=30),
        st.text(max_size=20),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(_PIECES)
def test_no_damage_ends_in_a_traceback_and_every_line_is_accounted_for(pieces: list[str]) -> None:
    """GIVEN any lines behind a sound start THEN a Timeline or one line, nothing lost."""
    text = "\n".join([*RUN.split("\n")[:4], *pieces])
    try:
        run = of(text.encode("utf-8", "replace"))
    except GpudiagError:
        return
    assert account(run) == run.source.lines
    assert run.frame.index.is_monotonic_increasing
    assert run.frame.index.is_unique
    assert (run.frame.dtypes == "float64").all()
    assert not run.frame.isin([float("inf"), float("-inf")]).any(axis=None)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("2.5,0,0,31", "4 cells where the header has 7"),
        ("2.5,0,0,31,1,2,3,4", "8 cells where the header has 7"),
        ("2.5,0,0,3x,1,2,3", "a cell that is no figure: '3x'"),
        ("2.5,0,0,inf,1,2,3", "a cell that is no figure: 'inf'"),
        ("2.5,0,0,NA,1,2,3", "a cell that is no figure: 'NA'"),
        ("2.5,0,0,nan,1,2,3", "a cell that is no figure: 'nan'"),
        ("2.5,0,0,1e999,1,2,3", "a cell that is no figure: '1e999'"),
        (",0,0,31,1,2,3", "no time"),
        ("1.003,0,0,31,1,2,3", "its time 1.003 does not follow the row before"),
        ("2.5,0,0,31,1,2,3#x", "a cell that is no figure: '3#x'"),
    ],
)
def test_a_damaged_row_is_dropped_with_its_reason(bad: str, reason: str) -> None:
    """GIVEN one bad row in the middle THEN it alone is gone, with line number and reason."""
    lines = RUN.split("\n")
    lines.insert(5, bad)
    run = of("\n".join(lines))
    assert [(d.line, d.reason) for d in run.source.dropped] == [(6, reason)]
    assert run.source.rows == 3
    assert account(run) == run.source.lines


def test_a_short_row_hidden_by_a_long_one() -> None:
    """GIVEN one cell too few and one too many (same number of commas) THEN both rows go."""
    lines = RUN.split("\n")
    lines[3:3] = ["0.5,0,0,31,1,2,3,4", "0.6,0,0,31,1,2"]
    assert len(of("\n".join(lines)).source.dropped) == 2


def test_columns_that_the_format_does_not_know() -> None:
    """GIVEN unknown, doubled and oddly numbered columns THEN a note, and the rest is read."""
    text = RUN.replace(HEADER, "t_s,skew_s,note,gpu0_util_pct,gpu00_util_pct,host_cpu_pct,skew_s")
    run = of(text.replace("0.0021", "text"))
    assert list(run.frame.columns) == ["skew_s", "gpu0_util_pct", "host_cpu_pct"]
    assert any("left aside: note, gpu00_util_pct." in note for note in run.source.notes)
    assert any("Only the first of equal columns was taken: skew_s." in n for n in run.source.notes)


def test_a_newer_format_is_refused_clearly() -> None:
    with pytest.raises(UnreadableError, match="format 2; this gpudiag reads up to format 1"):
        of(RUN.replace("format 1", "format 2", 1))


@pytest.mark.parametrize(
    "text",
    ["# gpudiag run, format", "# gpudiag run, format x\n", "# gpudiag run, format 1\n", RUN[:300]],
)
def test_nothing_to_read_is_one_line(text: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        of(text)
    assert "\n" not in caught.value.message


def test_hostile_start_line() -> None:
    """GIVEN facts of the wrong kind THEN they are left aside and said, and the rows are read."""
    start = {"gpus": [{"index": -1}, {"index": True}, 7, {"index": 0}], "host": 3, "command": [1]}
    run = of(RUN.replace(json.dumps(START), json.dumps(start)))
    assert run.start["gpus"] == [{"index": 0}]
    assert run.start["command"] == ["1"]
    assert "host" not in run.start
    deep = "[" * 100_000
    run = of(RUN.replace(json.dumps(START), '{"a":' + deep))
    assert [d.reason for d in run.source.dropped] == ["a damaged start line"]


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_and_line_ends(tmp_path: Path, codec: str, end: str) -> None:
    """GIVEN the file as editors and PowerShell rewrite it THEN the same frame."""
    path = tmp_path / "run.csv"
    path.write_bytes(RUN.replace("\n", end).encode(codec))
    pd.testing.assert_frame_equal(read(path).frame, of(RUN).frame)


def test_compressed(tmp_path: Path) -> None:
    """GIVEN gzip, whole and cut short THEN what is in it is read, with a note for the cut."""
    path = tmp_path / "run.csv.gz"
    packed = gzip.compress((RUN * 1).encode())
    path.write_bytes(packed)
    assert read(path).source.rows == 3
    long = RUN + "".join(f"{10 + i},0,0,{i % 100},{i},1,1\n" for i in range(20_000))
    packed = gzip.compress(long.encode())
    path.write_bytes(packed[: len(packed) // 2])
    cut = read(path)
    assert 100 < cut.source.rows < 20_003
    assert any("cut short or damaged" in note for note in cut.source.notes)
