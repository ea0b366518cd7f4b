"""How much slower a CPU-bound command is when it is recorded once a second.

`python benchmarks/slowdown.py [--pairs 40] [--seconds 3] [--minutes 10]`

Runs with and without the recorder take turns, in random order within a pair. Printed is the median
ratio of a pair with its bootstrap interval of 95 %, of wall time and of the command's own CPU time
(which other users of the machine disturb less). First with one process, so that the recorder can
use another core, then with one a core, so that it cannot.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import PROGRAMS, ROOT

from gpudiag.demo import faults, nvidia_smi

WARM_UP_S = 1.5
BOOTSTRAPS = 4000


def run(rounds: int, processes: int, recorded: bool, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of the command."""
    report = folder / "report"
    program = [sys.executable, PROGRAMS, "burn", rounds, processes, WARM_UP_S, report]
    command = [str(word) for word in program]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "GPUDIAG_SIM_DIR": str(folder)}
    env["PATH"] = f"{folder}:/usr/local/bin:/usr/bin:/bin"
    if recorded:
        output = folder / "run.csv"
        output.unlink(missing_ok=True)
        record = [sys.executable, "-m", "gpudiag", "record", "--quiet", "-o", str(output)]
        command = [*record, "--", *command]
    subprocess.run(command, env=env, check=True)
    wall, cpu = map(float, report.read_text().split())
    return wall, cpu


def interval(ratios: list[float], chance: random.Random) -> tuple[float, float, float]:
    """The median and its bootstrap interval of 95 %."""
    medians = sorted(
        statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(BOOTSTRAPS)
    )
    low, high = medians[int(0.025 * BOOTSTRAPS)], medians[int(0.975 * BOOTSTRAPS)]
    return statistics.median(ratios), low, high


def measure(processes: int, args: argparse.Namespace, folder: Path) -> None:
    """Pairs until the interval of the wall time is narrower than 1 %, or the time is up."""
    chance = random.Random(processes)
    rounds = 400_000
    cpu = run(rounds, processes, False, folder)[1]
    rounds = int(rounds * args.seconds / cpu)
    end = time.monotonic() + args.minutes * 60
    walls: list[float] = []
    cpus: list[float] = []
    while len(walls) < args.pairs and time.monotonic() < end:
        order = [True, False]
        chance.shuffle(order)
        found = {recorded: run(rounds, processes, recorded, folder) for recorded in order}
        walls.append(found[True][0] / found[False][0])
        cpus.append(found[True][1] / found[False][1])
        if len(walls) >= 20 and len(walls) % 5 == 0:
            _, low, high = interval(walls, chance)
            if high - low < 0.01:
                break
    for name, ratios in (("wall", walls), ("CPU", cpus)):
        middle, low, high = interval(ratios, chance)
        print(f"| {processes} | {name} | {middle:.4f} | {low:.4f} to {high:.4f} | {len(ratios)} |")
    sys.stdout.flush()


def main() -> None:
    """Measure and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200, help="at most so many")
    parser.add_argument("--seconds", type=float, default=3.0, help="CPU time of one run")
    parser.add_argument("--minutes", type=float, default=10.0, help="at most, for each table row")
    args = parser.parse_args()
    cores = os.cpu_count() or 1
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f} before\n")
    print("| busy processes | time | median ratio | 95 % interval | pairs |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nvidia_smi.install(folder)
        faults.save(folder, gpus=[{}])
        for processes in sorted({1, cores}):
            measure(processes, args, folder)


if __name__ == "__main__":
    main()
