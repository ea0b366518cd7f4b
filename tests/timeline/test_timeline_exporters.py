"""dcgmi, exporters and Prometheus, gpustat, nvitop and W&B."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpudiag.errors import UnreadableError
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.read import read

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def sound(name: str) -> Timeline:
    timeline = read(LOGS / name)
    assert timeline.source.unaccounted == 0
    return timeline


def test_dcgmi_dmon() -> None:
    """GIVEN a changed header, a MIG row and a short row THEN GRACT only fills in for GPUTL."""
    timeline = sound("dcgmi.log")
    frame = timeline.frame
    assert timeline.gpus == (0, 1)
    assert frame["gpu0_util_pct"].tolist() == [97, 98, 25]
    assert frame["gpu0_mem_used_mib"].tolist()[:2] == [30112, 30112]
    assert np.isnan(frame["gpu1_power_w"].iloc[0])
    assert frame["gpu0_temp_c"].iloc[2] == 61
    assert [d.line for d in timeline.source.dropped] == [11]
    assert any("GPU-I" in note for note in timeline.source.notes)


def test_scrapes_of_dcgm_exporter() -> None:
    timeline = sound("exporter-dcgm.prom")
    frame = timeline.frame
    assert frame.index.tolist() == [0, 15]
    assert timeline.start["time"] == "2026-02-03T08:00:00.000+00:00"
    assert frame["gpu0_util_pct"].tolist() == [88, 90]
    assert timeline.column("gpu1_util_pct") is None  # DCGM's "blank", and MIG parts left aside
    assert frame["gpu1_mem_used_mib"].tolist() == [4, 4]
    assert timeline.gpu_facts(0)["name"] == "NVIDIA L4"
    assert [e.text for e in timeline.events] == ["GPU 0: Xid 43"]


def test_ratios_bytes_and_hertz_are_scaled() -> None:
    frame = sound("exporter-smi.prom").frame
    assert frame["gpu0_util_pct"].tolist() == [25]
    assert frame["gpu0_mem_used_mib"].tolist() == [1000]
    assert frame["gpu0_sm_clock_mhz"].tolist() == [1980]


def test_an_answer_of_prometheus() -> None:
    """GIVEN two hosts with a GPU 0 each THEN they stay apart; NaN is missing."""
    timeline = sound("prometheus-range.json")
    frame = timeline.frame
    assert frame.index.tolist() == [0, 15, 30]
    assert frame["gpu0_util_pct"].tolist()[::2] == [88, 90]
    assert np.isnan(frame["gpu0_util_pct"].iloc[1])
    assert frame["gpu1_util_pct"].iloc[0] == 7
    notes = " ".join(timeline.source.notes)
    assert "several hosts (n1, n2)" in notes
    assert "without a sound time" in notes
    assert "a series without a name" in notes


def test_gpustat_text() -> None:
    """GIVEN fan, encoder and power beside the utilisation THEN it is not mistaken for them."""
    timeline = sound("gpustat.log")
    frame = timeline.frame
    assert frame.index.tolist() == [0, 5]
    assert frame["gpu0_util_pct"].tolist() == [88, 90]
    assert frame["gpu1_util_pct"].iloc[0] == 0
    assert np.isnan(frame["gpu1_util_pct"].iloc[1])
    assert frame["gpu0_power_w"].tolist() == [312, 310]
    assert frame["gpu1_temp_c"].iloc[0] == 31
    assert timeline.gpu_facts(0)["driver"] == "580.65.06"
    assert [d.line for d in timeline.source.dropped] == [7]


def test_gpustat_json_on_one_line_and_on_many() -> None:
    timeline = sound("gpustat.jsonl")
    frame = timeline.frame
    assert frame.index.tolist() == [0, 5]
    assert frame["gpu0_util_pct"].tolist() == [88, 90]
    assert timeline.column("gpu1_util_pct") is None
    assert (timeline.source.rows, timeline.source.lines_taken) == (4, 2)
    assert [d.reason for d in timeline.source.dropped] == ["a damaged JSON document"]


def test_nvitop_takes_means_and_the_physical_index() -> None:
    timeline = sound("nvitop.csv")
    frame = timeline.frame
    assert timeline.gpus == (3,)
    assert frame["gpu3_util_pct"].tolist() == [88, 89, 90]
    assert frame["gpu3_mem_used_mib"].tolist() == [9000] * 3
    assert frame["host_cpu_pct"].tolist() == [50, 51, 52]
    assert frame["host_mem_used_mib"].tolist() == [16 * 1024] * 3
    assert timeline.gpu_facts(3)["mem_total_mib"] == 23034
    assert len(timeline.source.dropped) == 1


def test_wandb_events() -> None:
    """GIVEN two GPUs a line, a row of the history and a torn line THEN shares of memory go."""
    timeline = sound("wandb.jsonl")
    frame = timeline.frame
    assert frame.index.tolist() == [0, 15, 30, 45]
    assert frame["gpu0_util_pct"].tolist() == [80, 81, 82, 83]
    assert frame["gpu0_mem_used_mib"].tolist() == [9000] * 4
    assert frame["gpu1_util_pct"].tolist() == [0] * 4
    assert frame["main_rss_mib"].tolist() == [1775.5, 1776.5, 1777.5, 1778.5]
    assert "host_cpu_pct" not in frame
    assert any("system.cpu" in note for note in timeline.source.notes)
    assert (timeline.source.rows, timeline.source.lines_taken) == (8, 4)


def test_a_chart_exported_from_wandb() -> None:
    timeline = sound("wandb-chart.csv")
    assert timeline.frame["gpu0_util_pct"].tolist()[:2] == [81, 82]
    assert timeline.source.span_s == 30
    assert "time" not in timeline.start


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"status":"success","data":{"resultType":"matrix","result":[]}}', "without a metric"),
        ('{"status":"success","data":' + "[" * 50_000, "damaged"),
        ("# HELP a b\n# TYPE a gauge\na_total 1\n", "none of them a reading of a GPU"),
        ("#Entity   NVLTX\nID\nGPU 0     1\n", "without a reading of a GPU"),
        ('{"query_time": "x", "gpus": [{"index": 999}]}\n', "without a reading"),
        ("GPU 0: NVIDIA L4 (UUID: GPU-a)\n", "nvidia-smi -L"),
        ("+---\n| npu-smi 23.0.rc3   Version: 23.0.rc3 |\n", "Ascend"),
    ],
)
def test_nothing_of_a_gpu_in_it(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(UnreadableError, match=message) as caught:
        read(path)
    assert caught.value.hint
