"""Real logs of other formats, if their folder stands beside the checkout: the expected figures.

The folder is found as in test_timeline_corpus.py; without it these tests are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gpudiag.errors import UnreadableError
from gpudiag.timeline.host.read import read_host
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.read import read

CORPUS = Path(
    os.environ.get("GPUDIAG_CORPUS", Path(__file__).parents[3] / "shared" / "corpus")
).resolve()
EXPECTED: dict[str, Any] = (
    json.loads((CORPUS / "expected.json").read_text())
    if (CORPUS / "expected.json").exists()
    else {}
)
pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not EXPECTED, reason="no folder of logs")]

FILES = sorted((CORPUS / "files").glob("[B-F]*")) if EXPECTED else []
COLUMNS = {
    "util": "util_pct",
    "memutil": "mem_util_pct",
    "mem": "mem_used_mib",
    "power": "power_w",
    "temp": "temp_c",
}

# The name expected is that of a process: its line was taken for the first line of a GPU.
NAMES = {"B8_cap_win2080s_load_table.txt": {"0": "NVIDIA GeForce RTX 2080 ..."}}


def files(*beginnings: str) -> list[Path]:
    return [path for path in FILES if path.name.startswith(beginnings)]


def named(path: Path) -> str:
    return path.name[:48]


def snippet(name: str) -> Timeline:
    return read(next((CORPUS / "files" / "snippets").glob(f"{name}_*")))


@pytest.mark.parametrize("path", files("B0", "B1", "B6", "B8"), ids=named)
def test_dmon_and_tables(path: Path) -> None:
    expected, timeline = EXPECTED[path.name], read(path)
    source = timeline.source
    assert len(timeline.gpus) == expected["gpu_count"]
    assert source.rows == expected["rows"]
    assert source.span_s == expected["span_s"]
    assert source.interval_s == expected.get("interval_median_s")
    assert source.header_rows == expected.get("header_rows", expected.get("tables"))
    assert (source.unaccounted, source.dropped) == (0, ())
    if "t_first" in expected:
        assert timeline.start["time"][:19] == expected["t_first"].replace(" ", "T")
    for key, column in COLUMNS.items():
        if key not in expected and key != "memutil":
            assert all(timeline.column(f"gpu{gpu}_{column}") is None for gpu in timeline.gpus)
        for gpu, figure in expected.get(key, {}).items():
            found = timeline.frame[f"gpu{gpu}_{column}"].dropna()
            assert len(found) == figure["n"], (key, gpu)
            assert (found.min(), found.max()) == (figure["min"], figure["max"])
            assert found.mean() == pytest.approx(figure["mean"], abs=0.0051)
            assert found.median() == pytest.approx(figure["median"], abs=0.0051)
    for gpu, name in NAMES.get(path.name, expected.get("names", {})).items():
        assert timeline.gpu_facts(int(gpu))["name"] == name
    if expected.get("driver"):
        assert timeline.gpu_facts(0)["driver"] == expected["driver"]
    for gpu, figure in expected.get("total", {}).items():
        assert timeline.gpu_facts(int(gpu))["mem_total_mib"] == figure["max"]


@pytest.mark.parametrize(
    ("name", "rows"),
    [("B5_cap_h100_load_pmon.txt", 15), ("B5_cap_h100mig_load_pmon.txt", 15),
     ("B5_cap_win2080s_load_pmon.txt", 105)],
)  # fmt: skip
def test_pmon(name: str, rows: int) -> None:
    timeline = read(CORPUS / "files" / name)
    assert timeline.source.lines_taken == rows
    assert len(timeline.frame) == 5
    assert timeline.gpus == (0,)
    assert timeline.source.unaccounted == 0


def test_snippets_of_dmon_pmon_and_tables() -> None:
    expected = EXPECTED["snippets"]
    dated = snippet("S14")
    assert (dated.source.rows, dated.source.span_s) == (3, 4)
    assert dated.frame.gpu0_util_pct.tolist() == expected["S14"]["sm"]
    assert dated.frame.gpu0_power_w.tolist() == expected["S14"]["pwr"]

    blank_line = snippet("S20")
    assert (blank_line.source.rows, blank_line.source.span_s) == (6, 5)
    assert blank_line.frame.gpu0_util_pct.max() == expected["S20"]["sm_max"]
    assert blank_line.frame.gpu0_mem_used_mib.max() == expected["S20"]["fb_max"]

    unified = snippet("S19")
    assert unified.frame.gpu0_power_w.tolist() == [3]
    assert unified.column("gpu0_mem_clock_mhz") is None

    processes = snippet("S23")
    assert processes.source.lines_taken == expected["S23"]["rows"]
    assert processes.frame.gpu0_util_pct.tolist() == expected["S23"]["sm"]
    assert set(processes.frame.gpu0_mem_used_mib) == {expected["S23"]["fb"]}

    unsupported = snippet("S02")
    assert unsupported.gpu_facts(0)["name"] == expected["S02"]["name"]
    assert unsupported.frame.gpu0_util_pct.tolist() == [expected["S02"]["util"]]
    assert unsupported.frame.gpu0_power_w.tolist() == [expected["S02"]["power"]]
    assert unsupported.column("gpu0_mem_used_mib") is None

    fault = snippet("S16")
    assert fault.frame.gpu0_mem_used_mib.tolist() == [58222]
    assert fault.gpu_facts(0)["mem_total_mib"] == 97887
    assert "ERR!" in fault.source.missing["gpu0_temp_c"]
    assert fault.events[0].kind == "gpu-lost"

    picked = snippet("S18")
    assert picked.frame.gpu0_mem_used_mib.tolist() == expected["S18"]["mem"]
    assert picked.frame.gpu0_util_pct.tolist() == expected["S18"]["util"]
    assert picked.gpu_facts(0)["mem_total_mib"] == expected["S18"]["total"]


@pytest.mark.parametrize("path", files("B2x", "B3x", "B4"), ids=named)
def test_xml(path: Path) -> None:
    expected, timeline = EXPECTED[path.name], read(path)
    assert len(timeline.gpus) == expected["gpu_count"]
    assert (timeline.source.rows, timeline.source.unaccounted) == (expected["gpu_count"], 0)
    if expected["timestamp"]:
        at = pd.to_datetime(expected["timestamp"], format="%a %b %d %H:%M:%S %Y")
        assert timeline.start["time"][:19] == at.isoformat()
    text = path.read_text()
    for number, gpu in enumerate(expected["gpus"]):
        facts = timeline.gpu_facts(number)
        assert (facts.get("name"), facts.get("driver")) == (gpu["name"], expected["driver"])
        assert facts["bus_id"] == gpu["id"]
        for key, column in (
            ("util", "util_pct"), ("mem_used", "mem_used_mib"), ("temp", "temp_c"),
            ("power", "power_w"),
        ):  # fmt: skip
            series = timeline.column(f"gpu{number}_{column}")
            word, _, unit = gpu[key].partition(" ")
            if unit not in ("%", "MiB", "C", "W"):
                assert series is None
                continue
            assert series is not None
            if key == "power" and "<average_power_draw>" in text:
                # Expected is the instant's draw; power.draw and run.csv are the 1 s average.
                drawn = series.iloc[0]
                assert f"power_draw>{drawn:.2f} W<" in text
                continue
            assert series.tolist() == [float(word)]
        lost = gpu["util"] == "GPU is lost"
        assert any(e.kind == "gpu-lost" for e in timeline.events if e.data["gpu"] == number) == lost
        bits = timeline.column(f"gpu{number}_throttle_bits")
        active = [word for word in gpu["throttle_active"] if "gpu_idle" in word]
        assert bits is None or bool(int(bits.iloc[0]) & 1) == bool(active)


@pytest.mark.parametrize("path", files("B7"), ids=named)
def test_full_query_text(path: Path) -> None:
    expected, timeline = EXPECTED[path.name], read(path)
    facts = timeline.gpu_facts(0)
    assert len(timeline.gpus) == expected["gpu_count"]
    assert facts["name"] == expected["name"]
    assert expected["driver"].startswith(facts["driver"])
    draws = [draw for _, draw in expected["power_all"] if draw != "N/A"]
    assert timeline.frame.gpu0_power_w.tolist() == [float(draws[0].split()[0])]
    total, used = expected["fb_all"][-1]
    assert facts["mem_total_mib"] == float(total.split()[0])
    assert timeline.frame.gpu0_mem_used_mib.tolist() == [float(used.split()[0])]
    if expected["util_gpu"] == "N/A":
        assert timeline.column("gpu0_util_pct") is None
    else:
        assert timeline.frame.gpu0_util_pct.tolist() == [float(expected["util_gpu"].split()[0])]


@pytest.mark.parametrize("path", files("C0", "C1"), ids=named)
def test_compute_apps(path: Path) -> None:
    expected = EXPECTED[path.name]
    if not expected["rows"]:
        with pytest.raises(UnreadableError, match="no process was listed"):
            read(path)
        return
    timeline = read(path)
    assert timeline.source.lines_taken == expected["rows"]
    assert timeline.source.unaccounted == 0
    memory = timeline.column("gpu0_mem_used_mib")
    if "steps" in expected:
        assert memory is not None
        assert sorted(set(memory)) == expected["steps"]
        assert memory.max() == expected["mem_max_MiB"]
    elif "[N/A]" in expected["mem"].values():
        assert memory is None
    else:
        assert memory is not None
        assert memory.tolist() == [sum(float(m.split()[0]) for m in expected["mem"].values())]


@pytest.mark.parametrize("path", files("BX"), ids=named)
def test_captures(path: Path) -> None:
    """THEN the snapshots of the table, -q and the CSV are there, idle and under load."""
    timeline = read(path)
    assert (timeline.gpus, timeline.source.unaccounted) == ((0,), 0)
    assert timeline.source.rows == 6
    short = {"h100-80gb": "h100", "h100-mig": "h100mig", "windows": "win2080s"}
    name = next(short[key] for key in short if key in path.name)
    power = EXPECTED[f"B8_cap_{name}_load_table.txt"]["power"]["0"]["max"]
    assert power in timeline.frame.gpu0_power_w.tolist()
    facts = timeline.gpu_facts(0)
    assert facts["name"] == EXPECTED[f"B7_cap_{name}_load_q.txt"]["name"]


def test_exporters_and_dcgmi() -> None:
    dcgmi = read(CORPUS / "files" / "E01_dcgmi_dmon_GRACT.txt")
    expected = EXPECTED["E01_dcgmi_dmon_GRACT.txt"]
    assert (len(dcgmi.gpus), dcgmi.source.rows) == (1, expected["samples"])
    assert dcgmi.frame.gpu0_util_pct.max() == pytest.approx(100 * expected["gr_active_max"])

    dcgm = read(CORPUS / "files" / "E02_dcgm_exporter_text.prom")
    assert dcgm.frame.gpu0_util_pct.tolist() == [80]  # not the MIG part's 60
    assert dcgm.frame.gpu0_mem_used_mib.tolist() == [1024]
    assert [e.text for e in dcgm.events] == ["GPU 0: Xid 31"]

    smi = read(CORPUS / "files" / "E04_nvidia_smi_exporter_h100_load.metrics").frame
    assert smi.gpu0_mem_used_mib.tolist() == [2.0780679168e10 / 2**20]
    assert (smi.gpu0_power_w.tolist(), smi.gpu0_util_pct.tolist()) == ([631.95], [100])

    matrix = snippet("S30")
    assert matrix.frame.gpu0_util_pct.tolist() == [0, 10]
    assert matrix.column("gpu1_util_pct") is None


def test_wandb_and_gpustat() -> None:
    expected = EXPECTED["F01_wandb_events.jsonl"]
    wandb = read(CORPUS / "files" / "F01_wandb_events.jsonl")
    frame = wandb.frame
    assert wandb.source.rows == expected["records"]
    assert (frame.gpu0_util_pct.min(), frame.gpu0_util_pct.max()) == (
        expected["gpu_util_min"],
        expected["gpu_util_max"],
    )
    assert frame.main_rss_mib.iloc[[0, -1]].tolist() == [
        expected["rss_first"],
        expected["rss_last"],
    ]
    span = wandb.source.span_s
    assert span == pytest.approx(expected["runtime_last"] - expected["runtime_first"], abs=1.5)

    expected = EXPECTED["F02_gpustat_text_linux.log"]
    text = read(CORPUS / "files" / "F02_gpustat_text_linux.log")
    assert (len(text.gpus), text.source.rows) == (expected["gpu_count"], expected["rows"])
    assert len(text.frame) == expected["blocks"]
    assert text.frame.filter(like="util_pct").max(axis=None) == expected["util_max"]
    assert text.frame.filter(like="mem_used").max(axis=None) == expected["mem_max_MB"]

    expected = EXPECTED["snippets"]["S24"]
    document = snippet("S24")
    assert document.frame.gpu0_util_pct.tolist() == [expected["util"]]
    assert document.frame.gpu0_mem_used_mib.tolist() == [expected["mem"]]
    assert document.gpu_facts(0)["mem_total_mib"] == expected["total"]


def test_logs_of_the_cpu_side() -> None:
    expected = EXPECTED["D01_sar_free_cron_linux.log"]
    sar = read_host(CORPUS / "files" / "D01_sar_free_cron_linux.log")
    # Expected counts the wait for disks as busy; host_cpu_pct, as psutil, does not.
    busy = pd.Series(sar.columns["host_cpu_pct"] + sar.columns["host_iowait_pct"]).dropna()
    assert len(busy) == expected["cpu_samples"]
    assert busy.mean() == pytest.approx(expected["cpu_busy_mean"], abs=0.005)
    assert busy.max() == pytest.approx(expected["cpu_busy_max"])
    assert sar.facts["cpus"] == expected["cpus"]

    expected = EXPECTED["D03_duct_usage.jsonl"]
    duct = read_host(CORPUS / "files" / "D03_duct_usage.jsonl")
    assert (duct.lines, len(duct.time)) == (expected["records"], expected["records"])
    assert duct.columns["main_rss_mib"].max() < expected["rss_max"] / 2**20  # not all processes'

    record = read_host(next((CORPUS / "files" / "snippets").glob("S27_*")))
    assert len(record.time) == 41
    assert record.columns["main_cpu_pct"].max() == 48
    assert record.time[-1] == pytest.approx(40.2, abs=0.05)


@pytest.mark.parametrize("path", files("D"), ids=named)
def test_logs_without_a_gpu_say_so(path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"\A[^\n]+\Z") as caught:
        read(path)
    assert caught.value.hint


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_line_is_accounted_for(path: Path) -> None:
    with contextlib.suppress(UnreadableError):  # these are tested one by one
        assert read(path).source.unaccounted == 0
