"""nvidia-smi dmon and pmon: columns by name, times, damaged rows, processes put together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpudiag.errors import UnreadableError
from gpudiag.timeline.read import read

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def test_dmon_with_dates_two_gpus_and_a_changed_header() -> None:
    """GIVEN dmon -o DT appended to by another, an Xid line, a short row and a torn end."""
    timeline = read(LOGS / "dmon-dt-two-gpus.log")
    source = timeline.source
    assert source.format == "nvidia-smi dmon"
    assert timeline.gpus == (0, 1)
    assert timeline.start["time"] == "2026-03-01T23:59:58.000"
    assert (source.span_s, source.interval_s) == (4.0, 1.0)
    assert timeline.frame["gpu0_util_pct"].tolist() == [97, 98, 97, 12, 99]
    assert timeline.frame["gpu0_mem_used_mib"].tolist()[:3] == [30112] * 3
    assert np.isnan(timeline.frame["gpu1_util_pct"].iloc[0])  # a dash is no zero
    # the last cell of a file without a last line end may be cut short
    assert timeline.frame["gpu0_mem_util_pct"].tolist()[:4] == [41, 42, 41, 3]
    assert np.isnan(timeline.frame["gpu0_mem_util_pct"].iloc[4])
    assert [d.line for d in source.dropped] == [10, 14]
    assert [e.kind for e in timeline.events] == ["gpu-text"]
    assert source.unaccounted == 0


def test_dmon_as_csv_with_the_time_of_day_alone() -> None:
    """GIVEN -o T --format csv over midnight THEN time runs on, and no date is made up."""
    timeline = read(LOGS / "dmon-time-over-midnight.csv")
    assert timeline.frame.index.tolist() == [0, 1, 2]
    assert timeline.source.time_known
    assert "time" not in timeline.start
    assert timeline.frame["gpu0_mem_used_mib"].tolist() == [400, 410, 420]


def test_dmon_without_times_counts_samples() -> None:
    source = read(LOGS / "dmon.log", interval_s=2).source
    assert source.time_known
    assert not read(LOGS / "dmon.log").source.time_known


def test_dmon_without_a_row(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("# gpu    pwr\n# Idx      W\n")
    with pytest.raises(UnreadableError, match="without a reading"):
        read(path)


def test_pmon_gives_a_figure_only_where_processes_do_not_mix() -> None:
    """GIVEN one process that works, then two THEN utilisation is told for the first moment only."""
    timeline = read(LOGS / "pmon.log")
    source = timeline.source
    frame = timeline.frame
    assert timeline.gpus == (0, 1)
    assert frame["gpu0_util_pct"].iloc[0] == 88
    assert np.isnan(frame["gpu0_util_pct"].iloc[1])
    assert "cannot be added" in source.missing["gpu0_util_pct"]
    assert frame["gpu0_mem_used_mib"].tolist() == [9120, 9130]
    assert timeline.column("gpu1_util_pct") is None
    assert any("not all that the GPU holds" in note for note in source.notes)
    assert any("python, Xorg, Web Content" in note for note in source.notes)
    assert (source.rows, source.lines_taken) == (4, 6)
    assert [d.line for d in source.dropped] == [9]
    assert source.unaccounted == 0
