"""How far apart the GPU and the host figures of a row lie while all cores are busy.

`python benchmarks/skew.py [--seconds 60] [--interval 0.5s] [--hogs 0,2]`

The figures are those of the recording itself: the time from the arrival of the last GPU's line to
the end of the host sample. Eight simulated GPUs; the hogs are no part of the recorded run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import PROGRAMS, ROOT

import gpudiag
from gpudiag.demo import faults, nvidia_smi


def measure(hogs: int, size: int, args: argparse.Namespace, folder: Path) -> str:
    """A row of the table."""
    busy = [
        subprocess.Popen([sys.executable, PROGRAMS, "hog", str(args.seconds + 30)])
        for _ in range(hogs)
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "GPUDIAG_SIM_DIR": str(folder)}
    env["PATH"] = f"{folder}:/usr/local/bin:/usr/bin:/bin"
    output = folder / f"{hogs}-{size}.csv"
    record = [sys.executable, "-m", "gpudiag", "record", "--quiet", "--interval", args.interval]
    tree = [sys.executable, PROGRAMS, "tree", str(size), str(args.seconds), str(folder / "pid")]
    try:
        subprocess.run([*record, "-o", str(output), "--", *tree], env=env, check=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    skew = gpudiag.read(output).frame["skew_s"].dropna() * 1e3
    median, high = skew.quantile(0.5), skew.quantile(0.99)
    return f"| {hogs} | {size} | {len(skew)} | {median:.1f} | {high:.1f} | {skew.max():.1f} |"


def main() -> None:
    """Measure and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--interval", default="0.5s")
    parser.add_argument("--hogs", default=f"0,{os.cpu_count()}")
    parser.add_argument("--sizes", default="9")
    args = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before\n")
    print("| hogs | processes | rows | median ms | p99 ms | most ms |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nvidia_smi.install(folder)
        faults.save(folder, gpus=[{} for _ in range(8)])
        for size in map(int, args.sizes.split(",")):
            for hogs in map(int, args.hogs.split(",")):
                print(measure(hogs, size, args, folder), flush=True)


if __name__ == "__main__":
    main()
