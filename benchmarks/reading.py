"""What reading costs beside `pandas.read_csv` of the same file: time, and peak memory.

`python benchmarks/reading.py [--runs 5] [--rows 691200] [--keep DIR]`

Three files: a day of eight GPUs as nvidia-smi --query-gpu writes it (691,200 rows), with and
without a header, and the same day as run.csv with every column, which is diagnosed as well. Reading
and pandas take turns; a ratio is that of the medians. Memory is the peak of a process that does
nothing else, imports included. The exit code is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from report import write_recording  # noqa: E402  (beside this file)

from gpudiag.diagnose import diagnose  # noqa: E402  (from this checkout)
from gpudiag.timeline.read import read  # noqa: E402

HEADER = (
    "timestamp, index, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], "
    "memory.total [MiB], power.draw [W], temperature.gpu, clocks.current.sm [MHz]"
)
GPUS = 8
MOST_READ, MOST_DIAGNOSED = 3.0, 2.0
MOST_TIMES, MOST_MORE_MIB = 10, 200
# VmHWM begins anew with a program, which ru_maxrss does not: it takes over the parent's.
PEAK = """
import sys
from gpudiag.timeline.read import read
read(sys.argv[1])
lines = dict(line.split(":") for line in open("/proc/self/status"))
print(int(lines["VmHWM"].split()[0]) / 1024)
"""


def write_log(path: Path, rows: int, header: bool) -> None:
    """`rows` rows of eight GPUs, once a second, with figures that differ from row to row."""
    rng = np.random.default_rng(7)
    seconds = rows // GPUS
    stamps = pd.date_range("2026-03-01", periods=seconds, freq="s").strftime("%Y/%m/%d %H:%M:%S")
    util, mem = rng.integers(0, 101, rows), rng.integers(40_000, 79_000, rows)
    power, temp = rng.uniform(90, 700, rows), rng.integers(40, 85, rows)
    with path.open("w", encoding="utf-8") as file:
        if header:
            file.write(HEADER + "\n")
        text = io.StringIO()
        for at in range(rows):
            second, gpu = divmod(at, GPUS)
            text.write(
                f"{stamps[second]}.{gpu:03d}, {gpu}, NVIDIA H100 80GB HBM3, {util[at]} %, "
                f"{util[at] // 2} %, {mem[at]} MiB, 81559 MiB, {power[at]:.2f} W, {temp[at]}, "
                "1980 MHz\n"
            )
        file.write(text.getvalue())


def seconds(work: Callable[[], object]) -> float:
    """Wall time of `work`."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def compare(work: Callable[[], object], beside: Callable[[], object], runs: int) -> list[float]:
    """Median seconds of both, which take turns."""
    pairs = [(seconds(work), seconds(beside)) for _ in range(runs)]
    return [statistics.median(times) for times in zip(*pairs, strict=True)]


def main() -> int:
    """Measure and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=24 * 3600 * GPUS)
    parser.add_argument("--keep", type=Path, help="leave the files there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = args.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        logs = {"--query-gpu CSV": True, "the same without header": False}
        files = {title: folder / f"log-{int(header)}.csv" for title, header in logs.items()}
        for title, header in logs.items():
            write_log(files[title], args.rows, header)
        files["run.csv, 24 h"] = folder / "run.csv"
        write_recording(files["run.csv, 24 h"], 24)
        good = True
        print("| file | MB | read s | pandas s | ratio | most | peak MiB | most |")
        print("|---|---|---|---|---|---|---|---|")
        for title, path in files.items():
            comment = "#" if path.name == "run.csv" else None
            ours, theirs = compare(
                lambda path=path: read(str(path)),  # type: ignore[misc]
                lambda path=path, c=comment: pd.read_csv(path, comment=c),  # type: ignore[misc]
                args.runs,
            )
            told = [sys.executable, "-c", PEAK, str(path)]
            peak = float(subprocess.run(told, cwd=ROOT, capture_output=True, check=True).stdout)
            size = path.stat().st_size / 1e6
            most = MOST_TIMES * size / 1.048576 + MOST_MORE_MIB
            good &= ours <= MOST_READ * theirs and peak <= most
            print(
                f"| {title} | {size:.0f} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} | "
                f"{MOST_READ} | {peak:.0f} | {most:.0f} |"
            )
        run = read(str(files["run.csv, 24 h"]))
        ours, theirs = compare(
            lambda: diagnose(run),
            lambda: pd.read_csv(files["run.csv, 24 h"], comment="#"),
            args.runs,
        )
        good &= ours <= MOST_DIAGNOSED * theirs
        print(
            f"\ndiagnosing run.csv: {ours:.2f} s, {ours / theirs:.2f} times the {theirs:.2f} s "
            f"that pandas takes to read it (at most {MOST_DIAGNOSED})"
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
