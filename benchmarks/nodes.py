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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gpudiag.timeline.converted import run_csv  # noqa: E402  (from this checkout)
from tests.scenarios.machines import KINDS, NODES, SLOW, machine  # noqa: E402

MOST_BYTES = 3_000_000


def write(kind: str, folder: Path, seconds: int) -> list[Path]:
    """The recordings of a run."""
    paths = []
    for place in range(NODES):
        path = folder / f"{kind}-node{place}.csv"
        path.write_text("".join(run_csv(machine(kind, place, seconds))), encoding="utf-8")
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
