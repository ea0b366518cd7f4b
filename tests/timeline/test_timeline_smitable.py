"""Plain tables of nvidia-smi: two layouts, three banners, watch, grep, faults and torn ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpudiag.errors import UnreadableError
from gpudiag.timeline.read import read

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def test_a_loop_over_two_gpus_of_which_one_fails() -> None:
    """GIVEN three tables and the first line of a fourth THEN the fault is told, not read as 0."""
    timeline = read(LOGS / "tables-two-gpus.log")
    source, frame = timeline.source, timeline.frame
    assert source.format == "nvidia-smi tables"
    assert frame.index.tolist() == [0, 10, 20]
    assert timeline.start["time"] == "2026-02-03T08:00:00.000"
    assert frame["gpu0_util_pct"].tolist()[:2] == [88, 91]
    assert np.isnan(frame["gpu0_util_pct"].iloc[2])
    assert "ERR!" in source.missing["gpu0_mem_used_mib"]
    assert [e.kind for e in timeline.events] == ["gpu-lost"]
    facts = timeline.gpu_facts(0)
    assert facts["name"] == "NVIDIA GeForce RTX 4090"
    assert (facts["mem_total_mib"], facts["power_limit_w"]) == (24564, 450)
    assert (facts["persistence"], facts["driver"]) == ("Disabled", "580.65.06")
    assert [d.reason for d in source.dropped] == ["the file ends before its second line"]
    assert source.unaccounted == 0


def test_watch_draws_over_the_screen() -> None:
    timeline = read(LOGS / "tables-watch.log")
    assert timeline.frame["gpu0_util_pct"].tolist() == [40, 50]
    assert timeline.frame.index.tolist() == [0, 2]
    assert timeline.gpu_facts(0)["name"] == "NVIDIA A10"


def test_an_old_table_on_windows() -> None:
    timeline = read(LOGS / "tables-2014-windows.log")
    assert [timeline.gpu_facts(g)["name"] for g in (0, 1)] == ["Tesla K20c", "Quadro K600"]
    assert timeline.frame["gpu0_util_pct"].tolist() == [97]
    assert timeline.column("gpu1_util_pct") is None
    assert timeline.frame["gpu1_mem_used_mib"].tolist() == [380]
    assert timeline.start["time"].startswith("2014-11-06T09:10:11")


def test_rows_that_grep_picked_out() -> None:
    """GIVEN second lines alone under date lines THEN GPUs are told by their place there."""
    timeline = read(LOGS / "tables-grep.log")
    assert timeline.frame["gpu0_util_pct"].tolist() == [88, 90]
    assert timeline.frame["gpu1_util_pct"].tolist() == [0, 0]
    assert timeline.frame.index.tolist() == [0, 5]
    assert len(timeline.source.dropped) == 1
    assert any("numbered by their place" in note for note in timeline.source.notes)


def test_a_table_in_front_of_rows_is_no_log_of_tables() -> None:
    assert read(LOGS / "table-in-front.csv").source.format == "nvidia-smi --query-gpu CSV"


def test_a_table_without_gpus(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("| NVIDIA-SMI 580.65.06  Driver Version: 580.65.06 |\nNo devices were found\n")
    with pytest.raises(UnreadableError, match="sees no GPU") as caught:
        read(path)
    assert caught.value.hint


def test_cards_of_one_model_in_turn_are_one_gpu(tmp_path: Path) -> None:
    """GIVEN one job after another in one file THEN the slot is one GPU; side by side, two."""
    table = (LOGS / "tables-watch.log").read_text().split("\x1b[?1049h")[1]
    other = table.replace("00000000:17:00.0", "00000000:65:00.0")
    path = tmp_path / "log"
    path.write_text("\n".join([table] * 6 + [other] * 6))
    timeline = read(path)
    assert timeline.gpus == (0,)
    assert any("2 cards of one model in turn" in note for note in timeline.source.notes)
    path.write_text("\n".join([table, other] * 6))
    assert read(path).gpus == (0, 1)
