"""Whether `compare` says the right thing of kept scenario recordings.

`python -m tests.scenarios --kind live --keep DIR1`, a few times into other folders, then
`python benchmarks/comparison.py DIR1 DIR2 …`

Of every scenario whose fixed twin is there: the twin must be faster. Of every scenario that is
there more than once: two recordings of the same program must show no difference. Pairs that cannot
be told (the GPU was never busy, or for less than 30 s) are counted apart. Printed is also how much
the speed of repeats differs: the standard deviation of one run, for `RUN_TO_RUN`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gpudiag.compare import compare
from gpudiag.compare.model import Comparison, Side
from gpudiag.diagnose import diagnose, load_rules
from gpudiag.timeline.read import read


def main() -> int:
    """Print Markdown; 1 if a twin is not faster, or more than one repeat in twenty differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    rules, found = load_rules(), defaultdict(list)
    for folder in args.folders:
        for path in sorted(folder.glob("*.csv")):
            timeline = read(str(path))
            name = path.stem.rsplit("-", 1)[0]
            found[name].append(Side(str(path), timeline, diagnose(timeline, rules)))
    print("| pair | outcome | speed | interval |\n|---|---|---|---|")
    twins, repeats = [], []
    for name, sides in found.items():
        for before, after in zip(sides, found.get(f"{name}-fixed", ()), strict=False):
            twins.append(told(f"{name}, fixed", compare(before, after)))
        for before, after in itertools.combinations(sides, 2):
            repeats.append(told(f"{name}, again", compare(before, after)))
    clear = [one for one in repeats if one.outcome != "cannot tell"]
    same = sum(one.outcome == "no difference" for one in clear)
    faster = sum(one.outcome == "faster" for one in twins)
    print(f"\nfixed twins faster: {faster} of {len(twins)}")
    print(f"repeats without a difference: {same} of {len(clear)}, {len(repeats) - len(clear)} more")
    print("cannot be told")
    logs = [math.log(one.speed.value) for one in clear if one.speed]
    if len(logs) > 1:
        spread = math.sqrt(statistics.fmean(log**2 for log in logs) / 2)
        print(f"standard deviation of the speed of one run: {100 * spread:.2f} %")
    return 0 if faster == len(twins) and same >= 0.95 * len(clear) else 1


def told(name: str, one: Comparison) -> Comparison:
    """Print a row."""
    speed, interval = "", ""
    if one.speed is not None:
        speed = f"{one.speed.value:.3f}"
        if one.speed.low is not None:
            interval = f"{one.speed.low:.3f} to {one.speed.high:.3f}"
    print(f"| {name} | {one.outcome} | {speed} | {interval} |", flush=True)
    return one


if __name__ == "__main__":
    sys.exit(main())
