"""What the tests of the rules share: recordings made of a few figures, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gpudiag.diagnose.engine import diagnose
from gpudiag.diagnose.load import load_rules
from gpudiag.diagnose.model import Diagnosis, Finding
from gpudiag.timeline.model import Event, Source, Timeline

RULES = load_rules()


def host(cores: int, **more: Any) -> dict[str, Any]:
    """The facts of a host with that many cores."""
    return {"cpus": cores, "affinity_cpus": cores, "effective_cores": cores, **more}


def workers(count: int, each: float, state: str = "running", switches: float = 10) -> dict:
    """The columns of `count` workers that use `each` per cent of a core."""
    return {
        "workers": count,
        "workers_cpu_pct": count * each,
        "workers_cpu_min_pct": each,
        "workers_cpu_median_pct": each,
        "workers_cpu_max_pct": each,
        "workers_running": count * (state == "running"),
        "workers_sleeping": count * (state == "sleeping"),
        "workers_blocked": count * (state == "blocked"),
        "workers_switches_per_s": count * switches,
        "workers_new": 0,
        "others_cpu_pct": 0,
    }


def judge(**recorded: Any) -> Diagnosis:
    """The diagnosis of a recording that is `made` of these."""
    return diagnose(made(**recorded), RULES)


def made(
    *,
    seconds: int = 600,
    interval: float = 1.0,
    start: Mapping[str, Any] | None = None,
    end: Mapping[str, Any] | None = None,
    frameworks: Sequence[str] = (),
    time_known: bool = True,
    **columns: Any,
) -> Timeline:
    """A recording: a figure is a constant column, a list one reading a tick."""
    lengths = [len(c) for c in columns.values() if not isinstance(c, int | float)]
    length = max(lengths, default=int(seconds / interval))
    frame = pd.DataFrame(
        {
            name: np.full(length, float(c)) if isinstance(c, int | float) else np.asarray(c)
            for name, c in columns.items()
        },
        index=pd.Index(np.arange(1, length + 1) * interval, name="t_s"),
    ).astype(float)
    facts = dict(start or {})
    if any(name.startswith(("main_", "workers", "host_")) for name in columns):
        facts.setdefault("command", ["python", "train.py"])
        facts.setdefault("env", {"HOME": "/root"})
        facts.setdefault("host", host(16))
    events = tuple(Event(1.0, "framework", f"{n} seen", {"name": n}) for n in frameworks)
    source = Source("made", "run.csv", time_known=time_known, interval_s=interval)
    ending = {"t_s": length * interval, "exit_code": 0} if end is None else end
    return Timeline(frame, facts, source, events, ending or None)


def codes(diagnosis: Diagnosis, above_info: bool = False) -> list[str]:
    """The codes of the findings, in the order they are said."""
    return [f.rule.code for f in diagnosis if not above_info or f.severity != "info"]


def held(finding: Finding) -> list[str]:
    """The names of the causes that hold."""
    return [cause.cause.name for cause in finding.causes if cause.verdict == "holds"]


def advice(finding: Finding, framework: str) -> str:
    """All remedies of the causes that hold or are open, for `framework` or any."""
    return "\n".join(
        f"{remedy.text}\n{remedy.code}"
        for cause in finding.causes
        if cause.verdict != "ruled out"
        for remedy in cause.cause.remedies
        if remedy.framework in (framework, "any")
    )
