"""How large a day of recording is: 8 GPUs once a second, with one training process and with eight.

`python benchmarks/filesize.py [--hours 24] [--gpus 8]`

The rows go through the recorder's own file writer on a simulated clock. Figures are drawn in the
range and with the noise that a busy run has; every column that the recorder knows is filled in.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gpudiag.timeline.columns import COLUMNS, Column
from gpudiag.timeline.writer import RunFile

_MIB = 1024.0
# of a machine with 2 TiB of memory and 192 cores; by the end of the name, the first that fits
_RANGES: tuple[tuple[str, float, float], ...] = (
    ("gpu_batch_s", 0.005, 0.05),
    ("skew_s", 0.001, 0.02),
    ("power_w", 80, 700),
    ("temp_c", 35, 85),
    ("sm_clock_mhz", 1200, 1980),
    ("mem_clock_mhz", 2619, 2619),
    ("pstate", 0, 0),
    ("throttle_bits", 0, 4),
    ("pcie_gen", 5, 5),
    ("pcie_lanes", 16, 16),
    ("cores", 0, 180),
    ("threads", 150, 250),
    ("load", 20, 160),
    ("rss_mib", 4 * _MIB, 60 * _MIB),
    ("pss_mib", 4 * _MIB, 60 * _MIB),
    ("mib_s", 0, 4000),
    ("_mib", 10 * _MIB, 80 * _MIB),
    ("switches_per_s", 100, 90_000),
    ("workers_cpu_pct", 500, 6000),
    ("_pct", 0, 100),
    ("", 0, 64),
)
# asked once in 30 s at most
_RARE = ("pss_mib",)


def draw(column: Column, chance: random.Random) -> Callable[[int], float | None]:
    """A figure of this column at second `t`."""
    low, high = next((a, b) for end, a, b in _RANGES if column.name.endswith(end))
    rare = column.name.endswith(_RARE)
    return lambda t: None if rare and t % 30 else chance.uniform(low, high)


def write(path: Path, seconds: int, gpus: int, ranks: int) -> None:
    """A recording of so many seconds."""
    chance = random.Random(1)
    devices = {"gpu": gpus, "rank": ranks}
    makers: dict[str, Callable[[int], float | None]] = {}
    for column in COLUMNS:
        for device in range(devices.get(column.scope, 1)):
            makers[column.in_file(device)] = draw(column, chance)
    start = {"time": "2026-01-01T00:00:00+00:00", "command": ["python", "train.py"], "gpus": []}
    file = RunFile(path, start, list(makers))
    for second in range(seconds):
        row = {name: make(second) for name, make in makers.items()}
        row["t_s"] = second + chance.random()
        file.row(row)
    file.close({"t_s": float(seconds), "exit_code": 0})


def main() -> None:
    """Write the files, print their sizes as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--gpus", type=int, default=8)
    args = parser.parse_args()
    seconds = round(args.hours * 3600)
    print("| training processes | columns | rows | MB | bytes a row | CPU µs a row |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for ranks in (0, 8):
            path = Path(name) / f"{ranks}.csv"
            begin = time.process_time()
            write(path, seconds, args.gpus, ranks)
            spent = time.process_time() - begin
            size = path.stat().st_size
            with path.open() as file:
                columns = next(line for line in file if not line.startswith("#")).count(",") + 1
            print(
                f"| {max(ranks, 1)} | {columns} | {seconds} | {size / 1e6:.1f} "
                f"| {size / seconds:.0f} | {1e6 * spent / seconds:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
