"""Impossible cells of a recording are empty, and said to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpudiag.errors import UnreadableError
from gpudiag.timeline.read import read

HEAD = (
    "# gpudiag run, format 1\n"
    '# start {"gpus": [{"index": 0, "mem_total_mib": 1000}]}\n'
    "t_s,gpu0_util_pct,gpu0_mem_used_mib,gpu0_temp_c,host_cpu_pct,main_cpu_pct\n"
)


def recording(tmp_path: Path, *rows: str) -> str:
    path = tmp_path / "run.csv"
    path.write_text(HEAD + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("2,500,10,40,50,100", "gpu0_util_pct"),
        ("2,-1,10,40,50,100", "gpu0_util_pct"),
        ("2,50,1e300,40,50,100", "gpu0_mem_used_mib"),
        ("2,50,4860,40,50,100", "gpu0_mem_used_mib"),
        ("2,50,10,4000,50,100", "gpu0_temp_c"),
        ("2,50,10,40,101.5,100", "host_cpu_pct"),
        ("2,50,10,40,50,-3", "main_cpu_pct"),
    ],
)
def test_an_impossible_cell_is_empty(tmp_path: Path, row: str, column: str) -> None:
    """GIVEN a figure that cannot be WHEN read THEN that cell alone is empty, and a note says so."""
    timeline = read(recording(tmp_path, "1,50,10,40,50,100", row))
    assert np.isnan(timeline.frame[column].iloc[1])
    assert int(timeline.frame.isna().sum().sum()) == 1
    assert [note for note in timeline.source.notes if column in note and "left out" in note]


def test_what_is_possible_stays(tmp_path: Path) -> None:
    """GIVEN figures at the edge of what can be WHEN read THEN all are there."""
    timeline = read(
        recording(tmp_path, "1,0,0,-20,0,0", "2,100,1000,95,100,25600", "3,100,1030,95,100.5,1")
    )
    assert not timeline.frame.isna().any(axis=None)
    assert not [note for note in timeline.source.notes if "left out" in note]


def test_an_impossible_time_is_no_sample(tmp_path: Path) -> None:
    """GIVEN a time beyond all machines WHEN read THEN its row is dropped, with the reason."""
    timeline = read(recording(tmp_path, "1,50,10,40,50,100", "1e12,50,10,40,50,100"))
    assert len(timeline.frame) == 1
    assert "not possible" in timeline.source.dropped[0].reason


def test_a_recording_of_damaged_rows_says_what_is_damaged(tmp_path: Path) -> None:
    """GIVEN rows that are all damaged WHEN read THEN the error names a line and its reason."""
    with pytest.raises(UnreadableError, match="line 4: a cell that is no figure: 'nan'"):
        read(recording(tmp_path, "1,nan,10,40,50,100"))
