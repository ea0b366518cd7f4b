"""A simulated run on 64 GPUs of eight machines: is the straggler named, and how large is the page?

`python benchmarks/nodes.py [--minutes 30] [--keep DIR]`

Eight recordings with every column, clocks up to 2 s apart. In one run the loader of `node5` is
slow, in one its GPUs are throttled, in one nothing is wrong. The exit code is 1 if a page is larger
than 3 MB, a straggler is not named, or the healthy run is accused.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gpudiag.timeline.converted import run_csv  # noqa: E402  (from this checkout)
from gpudiag.timeline.model import Event, Source, Timeline  # noqa: E402

NODES, GPUS, MOST_BYTES = 8, 8, 3_000_000
SLOW = 5
BEGAN = datetime(2026, 3, 1, 9, 0, 0, tzinfo=UTC)
KINDS = ("healthy", "starved", "throttled")


def node(kind: str, place: int, seconds: int) -> Timeline:
    """The recording of one machine. The run starts after a while and pauses now and then."""
    rng = np.random.default_rng(place)
    ahead = rng.uniform(-2, 2) if place else 0.0
    late = 0.0 if place == 0 else rng.uniform(0, 3)  # when its recorder was started
    true = np.arange(1.0, seconds + 1) + late
    works = (true > 25) & ~((true % 411) > 385)
    slow = place == SLOW
    starved, throttled = slow and kind == "starved", slow and kind == "throttled"
    columns: dict[str, np.ndarray] = {}
    for gpu in range(GPUS):
        busy = 58 + rng.normal(0, 4, seconds) if starved else 97 + rng.normal(0, 1, seconds)
        util = np.where(works, np.clip(busy, 0, 100), 0).round()
        power = 90 + util / 100 * (260 if throttled else 480) + rng.normal(0, 6, seconds)
        columns |= {
            f"gpu{gpu}_util_pct": util,
            f"gpu{gpu}_mem_util_pct": (util * 0.4).round(),
            f"gpu{gpu}_mem_used_mib": np.where(true > 12, 61_000.0, 4.0),
            f"gpu{gpu}_power_w": power.round(),
            f"gpu{gpu}_temp_c": np.where(works, 88.0 if throttled else 62.0, 40.0),
            f"gpu{gpu}_sm_clock_mhz": np.full(seconds, 1005.0 if throttled else 1755.0),
            f"gpu{gpu}_throttle_bits": np.where(works, 0x40 if throttled else 0, 1.0),
        }
    each = 99.0 if starved else 40.0
    columns |= {
        "main_cpu_pct": np.where(works, 4.0 if starved else 96.0, 2.0),
        "main_cpu_wait_pct": np.zeros(seconds), "main_read_mib_s": np.zeros(seconds),
        "workers": np.full(seconds, 32.0), "workers_cpu_pct": np.full(seconds, 32 * each),
        "workers_cpu_min_pct": np.full(seconds, each - 1),
        "workers_cpu_median_pct": np.full(seconds, each),
        "workers_cpu_max_pct": np.full(seconds, min(each + 1, 100)),
        "workers_cpu_wait_pct": np.zeros(seconds),
        "workers_running": np.full(seconds, 32 * each / 100),
        "workers_sleeping": np.full(seconds, 32 - 32 * each / 100),
        "workers_blocked": np.zeros(seconds), "workers_switches_per_s": np.full(seconds, 320.0),
        "workers_new": np.zeros(seconds), "workers_gone": np.zeros(seconds),
        "others_cpu_pct": np.zeros(seconds), "host_idle_cores": np.full(seconds, 60.0),
        "host_cpu_pct": np.full(seconds, 40.0), "host_cpu_pressure_pct": np.zeros(seconds),
        "host_mem_used_mib": np.full(seconds, 200_000.0),
        "host_mem_avail_mib": np.full(seconds, 800_000.0),
        "tree_disk_read_mib_s": np.full(seconds, 12.0), "host_net_rx_mib_s": np.full(seconds, 90.0),
    }  # fmt: skip
    began = BEGAN + timedelta(seconds=late + ahead)
    start = {
        "time": began.isoformat(timespec="milliseconds"), "interval_s": 1.0, "mode": "command",
        "command": ["torchrun", "--nnodes=8", f"--node_rank={place}", "train.py"],
        "gpus": [
            {"index": gpu, "name": "NVIDIA H100 80GB HBM3", "uuid": f"GPU-{place}-{gpu}",
             "mem_total_mib": 81_559, "power_limit_w": 700, "power_default_limit_w": 700,
             "sm_clock_max_mhz": 1980, "mig": "Disabled"}
            for gpu in range(GPUS)
        ],
        "host": {"hostname": f"node{place}", "cpus": 96, "affinity_cpus": 96,
                 "effective_cores": 96, "mem_total_mib": 1_000_000},
        "env": {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(GPUS)))},
        "rank": {"SLURM_JOB_ID": "4711", "SLURM_NODEID": str(place), "SLURM_NNODES": str(NODES)},
    }  # fmt: skip
    frame = pd.DataFrame(columns, index=pd.Index(np.arange(1.0, seconds + 1), name="t_s"))
    events = (Event(5.0, "framework", "torch seen", {"name": "pytorch"}),)
    end = {"t_s": float(seconds), "exit_code": 0, "reason": "command"}
    return Timeline(frame, start, Source(f"node{place}", "run.csv", interval_s=1.0), events, end)


def write(kind: str, folder: Path, seconds: int) -> list[Path]:
    """The recordings of a run."""
    paths = []
    for place in range(NODES):
        path = folder / f"{kind}-node{place}.csv"
        path.write_text("".join(run_csv(node(kind, place, seconds))), encoding="utf-8")
        paths.append(path)
    return paths


def main() -> int:
    """Print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--keep", type=Path, help="leave recordings and pages there")
    args = parser.parse_args()
    good = True
    print("| run | page KB | seconds | verdict |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = args.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        for kind in KINDS:
            paths = list(map(str, write(kind, folder, round(60 * args.minutes))))
            page = folder / f"{kind}.html"
            command = [sys.executable, "-m", "gpudiag", "report", *paths]
            begin = time.perf_counter()
            subprocess.run([*command, "-o", page, "--force"], cwd=ROOT, check=True, stdout=-3)
            taken = time.perf_counter() - begin
            told = subprocess.run(
                [*command, "--format", "json"], cwd=ROOT, check=True, capture_output=True
            )
            report = json.loads(told.stdout)
            accused = [f for f in report["findings"] if f["severity"] != "info"]
            named = bool(accused) and all(f"node{SLOW}" in f["summary"] for f in accused)
            size = page.stat().st_size
            good &= size <= MOST_BYTES and (not accused if kind == "healthy" else named)
            print(
                f"| {kind} | {size / 1000:.0f} | {taken:.1f} | {report['sentence']} |", flush=True
            )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
