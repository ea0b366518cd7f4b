"""`python -m tests.scenarios [--only NAME] [--repeat N] [--kind live|heavy|light|made|fast|torch]`.

Those with PyTorch's own DataLoader run with `--kind torch` or by name; they need
`pip install torch`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.scenarios.real_loader import TORCH, installed
from tests.scenarios.suite import line, outcomes, summary
from tests.scenarios.table import HEAVY, LIGHT, MADE, SCENARIOS

KINDS = ("all", "live", "heavy", "light", "made", "fast", "torch")


def main() -> int:
    """Run, print, and return 1 where something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, default="all")
    parser.add_argument("--no-twins", action="store_true")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the recordings there")
    asked = parser.parse_args()
    groups = {
        "all": SCENARIOS,
        "live": (*HEAVY, *LIGHT),
        "heavy": HEAVY,
        "light": LIGHT,
        "made": MADE,
        "fast": tuple(scenario for scenario in SCENARIOS if scenario.fast),
        "torch": TORCH,
    }
    among = (*SCENARIOS, *TORCH) if asked.only else groups[asked.kind]
    chosen = [scenario for scenario in among if not asked.only or scenario.name in asked.only]
    if not chosen:
        parser.error("no such scenario; there are: " + ", ".join(s.name for s in among))
    if any(scenario in TORCH for scenario in chosen) and not installed():
        parser.error("these scenarios need PyTorch: pip install torch")
    if asked.keep is not None:
        asked.keep.mkdir(parents=True, exist_ok=True)
    found = []
    for outcome in outcomes(chosen, twins=not asked.no_twins, repeat=asked.repeat, keep=asked.keep):
        print(line(outcome), flush=True)
        found.append(outcome)
    print(summary(found))
    return 0 if all(outcome.right for outcome in found) else 1


if __name__ == "__main__":
    sys.exit(main())
