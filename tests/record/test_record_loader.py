"""A training with two busy data-loader workers, recorded and compared with what it knows."""

from __future__ import annotations

import itertools
import json
import statistics
import sys

import pytest
from recordkit import PATIENCE_S, Recorded, environment, program, run

from gpudiag.demo.nvidia_smi import install

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forked workers, /proc")

SECONDS = 9


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recorded, dict[str, object]]:
    """GIVEN the program, recorded on an emulated GPU that is busy a third of the time."""
    folder = tmp_path_factory.mktemp("loader")
    install(folder)
    env = environment(GPUDIAG_SIM_DIR=str(folder))
    env["PATH"] = f"{folder}:{env['PATH']}"
    done = run(*program("loader", SECONDS, "truth.json"), cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    assert PATIENCE_S > SECONDS
    return Recorded(folder / "run.csv"), json.loads((folder / "truth.json").read_text())


def middle(recorded: Recorded, name: str) -> list[float]:
    """The figures while the workers were there, without the rows in which they came and went."""
    with_workers = [
        number for number, row in enumerate(recorded.rows) if row["workers"] not in ("", "0")
    ]
    rows = recorded.rows[with_workers[2] : with_workers[-2]]
    return [float(row[name]) for row in rows if row[name]]


def test_workers_are_counted(recorded: tuple[Recorded, dict[str, object]]) -> None:
    """WHEN the workers run THEN they are two, came once and went once."""
    run_csv, _ = recorded
    assert set(middle(run_csv, "workers")) == {2.0}
    assert sum(run_csv.column("workers_new")) == 2
    assert set(middle(run_csv, "others")) == {0.0}


def test_their_cpu_is_what_they_measured(recorded: tuple[Recorded, dict[str, object]]) -> None:
    """WHEN both run at full speed THEN their CPU is what their own clocks say: about 200 % if two
    cores are free, and their share of the machine if not."""
    run_csv, truth = recorded
    workers = truth["workers"]
    assert isinstance(workers, list)
    own = sum(100 * used / lived for used, lived in workers)
    assert statistics.mean(middle(run_csv, "workers_cpu_pct")) == pytest.approx(own, rel=0.12)
    assert statistics.mean(middle(run_csv, "main_cpu_pct")) < own / 4


def test_utilisation_is_the_truth(recorded: tuple[Recorded, dict[str, object]]) -> None:
    """WHEN the GPU is busy a third of the time THEN the mean is within 3 points of it."""
    run_csv, truth = recorded
    busy = truth["busy"]
    assert isinstance(busy, float)
    assert statistics.mean(middle(run_csv, "gpu0_util_pct")) == pytest.approx(100 * busy, abs=3)


def test_alignment(recorded: tuple[Recorded, dict[str, object]]) -> None:
    """WHEN GPU and host are in one row THEN they are at most 50 ms apart, by its own figures."""
    run_csv, _ = recorded
    assert run_csv.end is not None
    assert run_csv.end["skew_median_s"] <= 0.05
    assert len(run_csv.column("skew_s")) > SECONDS
    assert statistics.median(run_csv.column("skew_s")) <= 0.05


def test_what_is_known_of_the_gpu(recorded: tuple[Recorded, dict[str, object]]) -> None:
    """WHEN the driver tells what does not change THEN it stands in the start line."""
    run_csv, _ = recorded
    (gpu,) = run_csv.start["gpus"]
    assert gpu["index"] == 0
    assert gpu["uuid"].startswith("GPU-")
    assert gpu["mem_total_mib"] > 0
    assert run_csv.start["gpu_source"]["status"] == "ok"
    assert run_csv.end is not None
    # on a machine with other work two readings may come in one lump
    assert run_csv.end["gpu_rows_lost"] <= 0.1 * run_csv.end["samples"]


def test_the_gpu_that_is_used(recorded: tuple[Recorded, dict[str, object]]) -> None:
    """WHEN the driver tells who computes THEN the run's process is counted, and its GPU named."""
    run_csv, _ = recorded
    assert set(run_csv.column("gpu0_own_procs")) == {1.0}
    assert set(run_csv.column("gpu0_foreign_procs")) == {0.0}
    (used,) = [event for event in run_csv.events if event["kind"] == "gpus-used"]
    assert used["data"]["gpus"] == [0]
    assert "hold a context" in used["data"]["reason"]


def test_every_reading_is_written_once(recorded: tuple[Recorded, dict[str, object]]) -> None:
    """WHEN rows are counted THEN times ascend and no row repeats the GPU part of a late batch."""
    run_csv, _ = recorded
    times = run_csv.column("t_s")
    assert all(b > a for a, b in itertools.pairwise(times))
    with_gpu = [row for row in run_csv.rows if row["gpu0_util_pct"]]
    assert all(row["gpu_batch_s"] for row in with_gpu)
