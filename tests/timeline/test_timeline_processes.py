"""--query-compute-apps CSV, and captures of several commands in one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpudiag.errors import UnreadableError
from gpudiag.timeline.read import read

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def test_memory_of_processes_is_added_up_by_gpu() -> None:
    """GIVEN two processes on one GPU, a name with a comma, an unknown figure and a torn row."""
    timeline = read(LOGS / "compute-apps.csv")
    source, frame = timeline.source, timeline.frame
    assert source.format == "nvidia-smi --query-compute-apps CSV"
    assert frame.index.tolist() == [0, 5]
    assert frame["gpu0_mem_used_mib"].tolist() == [9100, 9100]
    assert frame["gpu1_mem_used_mib"].iloc[0] == 500
    assert np.isnan(frame["gpu1_mem_used_mib"].iloc[1])
    assert "not told" in source.missing["gpu1_mem_used_mib"]
    assert (source.rows, source.lines_taken, source.unaccounted) == (4, 5, 0)
    assert [d.line for d in source.dropped] == [7]
    assert any("driver's own part" in note for note in source.notes)
    assert any("python, a tool, with a comma" in note for note in source.notes)


def test_one_column_of_memory_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("used_gpu_memory [MiB]\n98 MiB\n598 MiB\n")
    timeline = read(path, interval_s=0.5)
    assert timeline.frame["gpu0_mem_used_mib"].tolist() == [98, 598]
    assert any("a sample of one process" in note for note in timeline.source.notes)


def test_no_process_is_an_answer_but_no_figure(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n")
    with pytest.raises(UnreadableError, match="no process was listed") as caught:
        read(path)
    assert caught.value.hint


def test_a_capture_puts_what_is_dated_on_one_clock() -> None:
    timeline = read(LOGS / "capture.txt")
    source, frame = timeline.source, timeline.frame
    assert source.format.startswith("capture")
    assert frame.index.tolist() == [0, 2.5]
    assert frame["gpu0_util_pct"].tolist() == [88, 93]
    assert timeline.gpu_facts(0)["mem_total_mib"] == 24564
    assert any("nvidia-smi dmon -c 2 (line" in note for note in source.notes)
    assert source.unaccounted == 0
    lines = (LOGS / "capture.txt").read_text().splitlines()
    (lost,) = timeline.events
    assert "Unknown Error" in lines[lost.data["line"] - 1]
    assert f"in line {lost.data['line']}" in source.missing["gpu1_util_pct"]
