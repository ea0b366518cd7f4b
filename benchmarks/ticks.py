"""How much time a CPU-bound command loses around the recorder's ticks.

`python benchmarks/ticks.py [--minutes 5]`

`slowdown.py` compares whole runs, and where other tenants of the machine change its speed by tens
of per cent from second to second that takes hours to settle 1 %. Between two ticks the recorder
sleeps, so what it costs must show around its ticks. The command works in slices of some
milliseconds and notes how long each takes; those that began from 50 ms before a row's time until
100 ms after it are compared with the others of the same second. Printed is the time lost there as
a share of all time, with its bootstrap interval of 95 % over the seconds. The second line is the
same half a second later, where no tick is: it must show nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import PROGRAMS, ROOT

from gpudiag.demo import faults, nvidia_smi

ROUNDS = 4_000  # about 3 ms
BEFORE_S, AFTER_S = 0.05, 0.10
BOOTSTRAPS = 4000
Seconds = npt.NDArray[np.float64]


def record(processes: int, seconds: float, folder: Path) -> Path:
    """Record the command; the recording."""
    output = folder / f"run-{processes}.csv"
    command = [sys.executable, "-m", "gpudiag", "record", "--quiet", "-o", str(output), "--"]
    command += [sys.executable, str(PROGRAMS), "slices", str(ROUNDS), str(processes)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "GPUDIAG_SIM_DIR": str(folder)}
    env["PATH"] = f"{folder}:/usr/local/bin:/usr/bin:/bin"
    subprocess.run([*command, str(seconds), str(folder)], env=env, check=True)
    return output


def ticks(path: Path, clock: float) -> Seconds:
    """Monotonic times of the rows."""
    lines = path.read_text(encoding="utf-8").splitlines()
    begun = next(line for line in lines if line.startswith("# start "))
    start = datetime.fromisoformat(json.loads(begun[8:])["time"]).timestamp()
    rows = [line.split(",", 1)[0] for line in lines if line[:1].isdigit()]
    return np.array(rows, dtype=float) + start - clock


def lost(when: Seconds, took: Seconds, at: Seconds) -> Seconds:
    """Of each tick but the first and last few: (seconds lost around it, seconds until the next)."""
    found = []
    for tick, following in pairwise(at[3:-1]):
        low, high = np.searchsorted(when, [tick - BEFORE_S, following - BEFORE_S])
        near = when[low:high] < tick + AFTER_S
        some = took[low:high]
        if 0 < near.sum() < len(some):
            found.append((some[near].sum() - near.sum() * some[~near].mean(), some.sum()))
    return np.array(found)


def told(pairs: Seconds) -> str:
    """The share and its interval."""
    chance = np.random.default_rng(1)
    drawn = pairs[chance.integers(0, len(pairs), (BOOTSTRAPS, len(pairs)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    share = pairs[:, 0].sum() / pairs[:, 1].sum()
    return f"{100 * share:.2f} % | {100 * low:.2f} to {100 * high:.2f} % | {len(pairs)}"


def main() -> None:
    """Measure and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="for each number of processes")
    args = parser.parse_args()
    cores = os.cpu_count() or 1
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f} before\n")
    print("| busy processes | around | time lost | 95 % interval | seconds |")
    print("|---|---|---|---|---|")
    for processes in sorted({1, cores}):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            nvidia_smi.install(folder)
            faults.save(folder, gpus=[{}])
            path = record(processes, 60 * args.minutes, folder)
            at = ticks(path, float((folder / "clock").read_text()))
            read = [np.fromfile(folder / f"slices-{n}").reshape(-1, 2) for n in range(processes)]
        for title, shift in (("the ticks", 0.0), ("half a second later", 0.5)):
            pairs = np.concatenate([lost(one[:, 0], one[:, 1], at + shift) for one in read])
            print(f"| {processes} | {title} | {told(pairs)} |", flush=True)


if __name__ == "__main__":
    main()
