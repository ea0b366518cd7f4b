"""Break what a recording stands on, again and again, and see whether the command notices.

`python benchmarks/faults.py [--runs 500] [--seed 1] [--parallel 6] [--only KIND]`

Real processes: the recorder at --interval 0.2s, a command of 2 to 3 s with known output and exit
code, a simulated nvidia-smi. Kinds of faults take turns; a seed and a number give the same run.
Needs Linux; as root, a full disk is a small tmpfs, otherwise that kind is left out.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faultrun import Outcome, Run
from scenes import KINDS, draw

_SUBREAPER = 36
# the wall clock of all processes of a run, an hour off from some moment on
_CLOCK_C = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
typedef int (*get)(clockid_t, struct timespec *);
static long offset(get real) {
  struct timespec now;
  const char *at = getenv("STEP_AT"), *by = getenv("STEP_BY");
  if (!at || !by) return 0;
  real(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9 >= atof(at) ? atol(by) : 0;
}
int clock_gettime(clockid_t clock, struct timespec *to) {
  static get real;
  if (!real) real = (get)dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(clock, to);
  if (!code && clock == CLOCK_REALTIME) to->tv_sec += offset(real);
  return code;
}
int gettimeofday(struct timeval *restrict to, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  to->tv_sec = now.tv_sec;
  to->tv_usec = now.tv_nsec / 1000;
  return 0;
}
"""


def stepping_clock(folder: Path) -> Path | None:
    """A library to preload, or None without a C compiler (then only nvidia-smi's clock steps)."""
    (folder / "clock.c").write_text(_CLOCK_C)
    library = folder / "clock.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", library, folder / "clock.c", "-ldl"]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        subprocess.run(command, check=True, capture_output=True)
        return library
    return None


def table(outcomes: list[Outcome]) -> str:
    """Markdown: a row a kind of fault."""
    lines = [
        "| fault | runs | passed | not started | last row to the kill, most, intervals "
        "| end after the command, median and most, s |",
        "|---|---|---|---|---|---|",
    ]
    by_kind = collections.defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.kind].append(outcome)
    for kind, found in by_kind.items():
        passed = sum(not outcome.failures for outcome in found)
        absent = sum(not outcome.started for outcome in found)
        missing = max((o.rows_missing for o in found if o.rows_missing is not None), default=None)
        ends = sorted(o.end_after_s for o in found if o.end_after_s is not None)
        late = f"{statistics.median(ends):.2f}, {ends[-1]:.2f}" if ends else ""
        shown = "" if missing is None else f"{missing:.1f}"
        lines.append(f"| {kind} | {len(found)} | {passed} | {absent} | {shown} | {late} |")
    return "\n".join(lines)


def main() -> int:
    """Run the campaign; 1 if a run failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=6)
    parser.add_argument("--only", choices=KINDS, help="this kind of fault alone")
    parser.add_argument("--number", type=int, help="this run alone")
    args = parser.parse_args()
    numbers = range(args.runs) if args.number is None else [args.number]
    scenes = [(number, draw(number, args.seed)) for number in numbers]
    if os.geteuid() != 0:
        scenes = [(number, scene) for number, scene in scenes if scene.disk_kib <= 0]
    # orphans of a killed recorder come here, so that their exit codes can be seen
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    begin = time.monotonic()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(args.parallel) as pool:
        clock = stepping_clock(Path(name))
        runs = [
            Run(number, scene, Path(name), clock)
            for number, scene in scenes
            if args.only in (None, scene.kind)
        ]
        for run, outcome in zip(runs, pool.map(Run.play, runs), strict=True):
            outcomes.append(outcome)
            for failure in outcome.failures:
                print(f"run {run.number} ({outcome.kind}): {failure}", flush=True)
    print(f"\nseed {args.seed}, {len(outcomes)} runs in {time.monotonic() - begin:.0f} s\n")
    print(table(outcomes))
    failed = sum(bool(outcome.failures) for outcome in outcomes)
    print(f"\n{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
