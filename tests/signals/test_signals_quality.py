"""③ Steps of the clock: told by events, whoever found them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from gpudiag.diagnose.engine import diagnose
from gpudiag.signals import SignalSet
from gpudiag.timeline.model import Event
from gpudiag.timeline.read import read


def test_a_step_in_a_recording_is_counted_and_said_as_information(make):
    signals = make(gpu0_util_pct=[95.0] * 300)
    event = Event(
        50.0, "clock-step", "the clock on the wall moved by -3600.0 s", {"seconds": -3600}
    )
    timeline = dataclasses.replace(signals.timeline, events=(event,))
    assert SignalSet(timeline).get("clock_steps") == 1
    finding = next(f for f in diagnose(timeline) if f.rule.code == "GD901")
    assert finding.severity == "info"
    assert [c.cause.name for c in finding.causes if c.verdict == "holds"] == ["clock-set"]


def test_a_log_whose_clock_goes_back_says_so(tmp_path: Path):
    """GIVEN the end of summer time in a log THEN one step of an hour, and time runs on."""
    hours = [2, 2, 2, 2, 2]
    rows = [
        f"2024/10/27 0{h}:{m:02}:00.000, 90 %" for h, m in zip(hours, range(55, 60), strict=True)
    ]
    rows += [f"2024/10/27 02:{m:02}:00.000, 90 %" for m in range(20)]
    log = tmp_path / "log.csv"
    log.write_text("timestamp, utilization.gpu [%]\n" + "\n".join(rows) + "\n")
    timeline = read(str(log))
    assert SignalSet(timeline).get("clock_steps") == 1
    assert next(e for e in timeline.events if e.kind == "clock-step").data["seconds"] == -59 * 60
