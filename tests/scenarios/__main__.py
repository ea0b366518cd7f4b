"""`python -m tests.scenarios [--only NAME] [--repeat N] [--kind live|heavy|light|made|fast]`."""

from __future__ import annotations

import argparse
import sys

from tests.scenarios.suite import line, outcomes, summary
from tests.scenarios.table import HEAVY, LIGHT, MADE, SCENARIOS


def main() -> int:
    """Run, print, and return 1 where something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--repeat", type=int, default=1)
    kinds = ("all", "live", "heavy", "light", "made", "fast")
    parser.add_argument("--kind", choices=kinds, default="all")
    parser.add_argument("--no-twins", action="store_true")
    asked = parser.parse_args()
    chosen = [
        scenario
        for scenario in SCENARIOS
        if (not asked.only or scenario.name in asked.only)
        and (asked.kind != "live" or scenario not in MADE)
        and (asked.kind != "heavy" or scenario in HEAVY)
        and (asked.kind != "light" or scenario in LIGHT)
        and (asked.kind != "made" or scenario in MADE)
        and (asked.kind != "fast" or scenario.fast)
    ]
    if not chosen:
        parser.error("no such scenario; there are: " + ", ".join(s.name for s in SCENARIOS))
    found = []
    for outcome in outcomes(chosen, twins=not asked.no_twins, repeat=asked.repeat):
        print(line(outcome), flush=True)
        found.append(outcome)
    print(summary(found))
    return 0 if all(outcome.right for outcome in found) else 1


if __name__ == "__main__":
    sys.exit(main())
