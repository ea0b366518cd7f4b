"""What the tests of comparisons share: two runs made of a few figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from gpudiag.compare import compare
from gpudiag.compare.model import Comparison, Side
from gpudiag.diagnose import diagnose, load_rules
from gpudiag.timeline.model import Event, Source, Timeline

RULES = load_rules()
GPU = {"index": 0, "name": "NVIDIA A100", "mem_total_mib": 40_960}


def run(
    util: float | list[float] | np.ndarray = 50.0,
    *,
    seconds: int = 300,
    seed: int = 1,
    noise: float = 3.0,
    marks: dict[str, float] | None = None,
    end: dict[str, Any] | None = None,
    time_known: bool = True,
    gpus: list[dict[str, Any]] | None = None,
    memory: float = 8000.0,
    host: dict[str, Any] | None = None,
    **columns: Any,
) -> Timeline:
    """A recording of one GPU at `util` per cent, with noise of its own `seed`."""
    chance = np.random.default_rng(seed)
    level = np.broadcast_to(np.asarray(util, dtype=float), seconds)
    values = np.clip(level + chance.normal(0, noise, seconds) * (level > 0), 0, 100)
    base: dict[str, Any] = {
        "gpu0_util_pct": values,
        "gpu0_mem_used_mib": np.where(np.arange(seconds) < 3, 10.0, memory),
        "gpu0_power_w": 100 + 2 * values,
    }
    frame = pd.DataFrame(
        {name: np.broadcast_to(c, seconds) for name, c in {**base, **columns}.items()},
        index=pd.Index(np.arange(1.0, seconds + 1), name="t_s"),
    )
    facts = {"command": ["python", "train.py"], "gpus": gpus or [GPU], "host": host or {}}
    source = Source("made", "run.csv", time_known=time_known, interval_s=1.0)
    events = tuple(Event(time, "mark", text) for text, time in (marks or {}).items())
    ending = {"t_s": float(seconds), "exit_code": 0} if end is None else end
    return Timeline(frame.astype(float), facts, source, events, ending or None)


def side(timeline: Timeline, name: str) -> Side:
    """The run with its diagnosis."""
    return Side(name, timeline, diagnose(timeline, RULES))


def compared(before: Timeline, after: Timeline, **options: bool) -> Comparison:
    """Both, as `before.csv` and `after.csv`."""
    return compare(side(before, "before.csv"), side(after, "after.csv"), **options)
