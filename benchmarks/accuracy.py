"""How right the diagnosis is: `python benchmarks/accuracy.py [--kind made] [--repeat 3]`.

Runs the scenarios of tests/scenarios, each with one known cause or benign, and prints the
confusion table, precision, recall, and for each fixed twin the predicted bound against the realised
speed-up. Live scenarios use real processes and real CPU, so a machine that does other work shows
foreign load, as it should: run it alone. The memory detector is tried apart first, on seeded
generators that it was not tuned on (memory.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from memory import table  # noqa: E402  (beside this file)

from tests.scenarios.__main__ import main as run_scenarios  # noqa: E402

SERIES = 60

if __name__ == "__main__":
    met = table(SERIES)
    sys.exit(run_scenarios() or int(not met))
