"""What a report costs: time beside bare imports, peak memory, and the size of the page.

`python benchmarks/report.py [--runs 5] [--keep DIR]`

The recordings are made here: one sample a second of eight GPUs and a host with every column of
run.csv, noise on a training with a starving loader. Reports and bare imports take turns, so that
both meet the same machine; a ratio is that of the medians. The CPU time says the same with less
noise where other programs run. The exit code is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gpudiag.timeline.columns import COLUMNS, MAGIC  # noqa: E402  (from this checkout)

BARE = "import pandas, matplotlib.figure, jinja2"
HOURS = {1: (1.8, 500_000), 24: (3.5, 1_000_000)}  # the times and bytes to stay below
MOST_RSS_MIB = 500
GPUS = 8


class Cost(NamedTuple):
    """Seconds of one process, on the wall and of CPU, and its peak resident memory in MiB."""

    wall_s: float
    cpu_s: float
    rss_mib: float


def cost(compiled: Path, *command: str) -> Cost:
    """Run a command of this Python and measure it.

    As where a package is installed, its modules are compiled already: into the folder `compiled`,
    by the first run.
    """
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(compiled)
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def write_recording(path: Path, hours: int) -> None:
    """A run.csv of so many hours: the rows of one hour in a new order for each."""
    rng = np.random.default_rng(7)
    names, table = _hour(rng)
    rows = [",".join(cells) for cells in table.tolist()]
    gpus = [
        {"index": gpu, "name": "NVIDIA H100 80GB HBM3", "mem_total_mib": 81559,
         "power_limit_w": 700, "sm_clock_max_mhz": 1980}
        for gpu in range(GPUS)
    ]  # fmt: skip
    host = {"hostname": "node1", "cpus": 64, "cores": 32, "effective_cores": 16.0,
            "mem_total_mib": 515000, "shm_total_mib": 65536,
            "cgroup": {"version": 2, "cpu_quota_cores": 16.0, "mem_limit_mib": 262144}}  # fmt: skip
    start = {"time": "2026-03-01T10:00:00+01:00", "command": ["python", "train.py"],
             "interval_s": 1.0, "gpus": gpus, "host": host}  # fmt: skip
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{MAGIC}\n# start {json.dumps(start)}\n{','.join(['t_s', *names])}\n")
        second = 0
        for _ in range(hours):
            for place in rng.permutation(len(rows)).tolist():
                second += 1
                file.write(f"{second}.00{second % 4},{rows[place]}\n")
        file.write(f'# end {{"t_s": {second + 1}, "exit_code": 0, "samples": {second}}}\n')


def _hour(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Column names without the time, and 3600 rows of cells as text."""
    shape, cells = (3600,), {}
    busy = rng.random(shape) < 0.4
    for column in COLUMNS:
        if column.name == "t_s" or column.scope == "rank":
            continue
        for device in range(GPUS) if column.scope == "gpu" else (0,):
            values = _values(column.name, busy, rng)
            text = np.char.mod(f"%.{column.digits}f", values)
            if column.scope == "gpu":
                text[rng.random(shape) < 0.01] = ""  # rows that came too late
            cells[column.in_file(device)] = text
    return list(cells), np.column_stack(list(cells.values()))


def _values(name: str, busy: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = rng.random(len(busy))
    known = {
        "skew_s": 0.001 + noise * 0.001, "gpu_batch_s": 0.002 + noise * 0.001,
        "util_pct": np.where(busy, 90 + 10 * noise, 5 * noise), "mem_util_pct": 40 * noise,
        "mem_used_mib": 61_000 + 200 * noise, "power_w": np.where(busy, 500, 130) + 60 * noise,
        "temp_c": 50 + 9 * noise, "sm_clock_mhz": 1900 + 80 * noise, "pstate": 0 * noise,
        "mem_clock_mhz": 2619 + 0 * noise, "throttle_bits": np.where(noise < 0.1, 4, 0),
        "pcie_gen": 5 + 0 * noise, "pcie_lanes": 16 + 0 * noise, "workers": 2 + 0 * noise,
        "workers_cpu_pct": 190 + 10 * noise,
        "host_mem_used_mib": 60_000 + 900 * noise, "host_mem_avail_mib": 400_000 + 900 * noise,
        "cgroup_oom_kills": 0 * noise, "workers_new": 0 * noise, "workers_gone": 0 * noise,
        "host_swap_used_mib": 0 * noise, "cgroup_throttled_pct": 0 * noise,
        "cgroup_stopped_cores": 0 * noise, "workers_blocked": 0 * noise,
    }  # fmt: skip
    return np.asarray(known.get(name, 100 * noise), dtype=float)


def main() -> None:
    """Measure and print Markdown; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="reports and bare imports, in turns")
    parser.add_argument("--hours", default="1,24")
    parser.add_argument("--keep", type=Path, help="leave the recordings and the pages there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        missed = _measure(
            args.keep or Path(name), [int(h) for h in args.hours.split(",")], args.runs
        )
    raise SystemExit(missed)


def _measure(folder: Path, hours: list[int], runs: int) -> int:
    compiled = folder / "compiled"
    compiled.mkdir(parents=True, exist_ok=True)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {runs} runs in turns; {BARE}\n")
    print("| recording | rows | report s | imports s | ratio | target | CPU | RSS MiB | page KB |")
    print("|---|---|---|---|---|---|---|---|---|")
    missed = 0
    for count in hours:
        file, page = folder / f"{count}h.csv", folder / f"{count}h.html"
        if not file.exists():
            write_recording(file, count)
        report = ("-m", "gpudiag", "report", str(file), "-o", str(page), "--force")
        turns = [(cost(compiled, *report), cost(compiled, "-c", BARE)) for _ in range(runs + 1)]
        pairs = turns[1:]  # the first compiled
        wall, bare = (statistics.median(pair[k].wall_s for pair in pairs) for k in (0, 1))
        cpu, bare_cpu = (statistics.median(pair[k].cpu_s for pair in pairs) for k in (0, 1))
        rss = max(pair[0].rss_mib for pair in pairs)
        most, most_bytes = HOURS.get(count, (float("inf"), float("inf")))
        size = page.stat().st_size
        missed |= wall / bare > most or rss > MOST_RSS_MIB or size > most_bytes
        print(
            f"| {count} h × {GPUS} GPUs | {count * 3600:,} | {wall:.2f} | {bare:.2f} "
            f"| {wall / bare:.2f} | {most} | {cpu / bare_cpu:.2f} "
            f"| {rss:.0f} | {size / 1000:.0f} |",
            flush=True,
        )
    return int(missed)


if __name__ == "__main__":
    main()
