"""The verdict: a problem, healthy, or why it cannot be told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from diagnose_fakes import rule

from gpudiag.diagnose import diagnose
from gpudiag.diagnose.model import Diagnosis, Level, Rule
from gpudiag.signals.base import REGISTRY
from gpudiag.timeline.model import Source, Timeline


def timeline(
    seconds: int = 600,
    util: float | None = 97.0,
    cpu: bool = True,
    gpus: int = 1,
    time_known: bool = True,
    step: float = 1.0,
    **start: object,
) -> Timeline:
    """A run with a steady utilisation of `util`, or (None) without that column."""
    n = int(seconds / step)
    columns: dict[str, np.ndarray] = {}
    for gpu in range(gpus):
        if util is not None:
            columns[f"gpu{gpu}_util_pct"] = np.full(n, util)
        columns[f"gpu{gpu}_mem_used_mib"] = np.where(np.arange(n) < 3, 10.0, 9000.0)
    if cpu:
        columns |= {"main_cpu_pct": np.full(n, 60.0), "host_cpu_pct": np.full(n, 30.0)}
    index = pd.Index(np.arange(1, n + 1) * step, name="t_s")
    facts = {"gpus": [{"index": gpu} for gpu in range(gpus)], **start}
    if cpu:
        facts["command"] = ["python", "train.py"]
    source = Source("x", "x", time_known=time_known, interval_s=step, span_s=float(seconds))
    return Timeline(pd.DataFrame(columns, index=index), facts, source, (), {"exit_code": 0})


SILENT = rule("silent", when="whole_mean(main_cpu_pct) > 200")
MEMORY = rule("memory", family="memory", when="gpus_max(whole_max(gpu_mem_used_mib)) > 90000")
BALANCE = rule(
    "balance", family="multi-gpu", when="gpus_max(mean(gpu_util_pct)) - 50 > 50", code="GD303"
)
RULES = (SILENT, MEMORY, BALANCE)


def said(given: Timeline, *rules: Rule) -> tuple[str, str]:
    diagnosis = diagnose(given, rules or RULES)
    return diagnosis.state, diagnosis.sentence


def test_healthy_is_said_with_its_figures() -> None:
    state, sentence = said(timeline())
    assert state == "healthy"
    assert sentence.startswith("No problem was found in 3 checks. The GPU was busy 97 % of the")


def test_a_problem_is_said_in_plain_words_with_its_bound() -> None:
    finding = rule(
        "waits",
        when="main_cpu_pct > 1",
        cost="0.34",
        bound=True,
        summary="The GPUs waited for {cost:pct} of the time.",
        severity=(Level("high", "cost > 0.1"),),
    )
    state, sentence = said(timeline(), *RULES, finding)
    assert state == "problem"
    assert sentence == (
        "The GPUs waited for 34 % of the time. "
        "Fixing this could make the run at most 1.5 times as fast."
    )
    other = rule("b", when="main_cpu_pct > 1", severity=(Level("low", "0 < 1"),))
    assert said(timeline(), finding, other)[1].endswith("1 more problem was found.")


def test_information_alone_is_no_problem() -> None:
    note = rule("note", when="main_cpu_pct > 1")
    diagnosis = diagnose(timeline(), (*RULES, note))
    assert diagnosis.state == "healthy"
    assert len(diagnosis) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (timeline(seconds=30), "Too short for a verdict: the GPUs were active for 24 s, and 30 s"),
        (timeline(seconds=0), "the recording holds no samples"),
        (timeline(util=None), "the utilisation of the GPUs was not measured"),
        (timeline(time_known=False), "times of the samples are not known. The GPU was busy 97 %"),
        (timeline(cpu=False), "The GPU was busy 97 % of the active time (9 min); no more"),
        (timeline(cpu=False, util=15.0), "min); the cause was not recorded"),
        (timeline(util=0.0), "Cannot tell: no GPU of the run was ever busy"),
        (
            timeline(util=70.0, gpus=2),
            "The GPUs were idle 30 % of the active time (9 min), and no rule",
        ),
        (timeline(util=None, gpus=0), "no GPU data was recorded"),
        (
            timeline(util=None, gpus=0, gpu_source={"text": "nvidia-smi was not found"}),
            "no GPU data was recorded (nvidia-smi was not found)",
        ),
    ],
)
def test_what_cannot_be_told_is_said_with_its_reason(given: Timeline, words: str) -> None:
    state, sentence = said(given)
    assert state == "cannot tell"
    assert words in sentence


def test_healthy_needs_the_essential_checks() -> None:
    """GIVEN every memory rule unchecked WHEN nothing fires THEN nobody says healthy."""
    blind = rule("blind", family="memory", when="workers > 1")
    state, sentence = said(timeline(), SILENT, blind)
    assert state == "cannot tell"
    assert "memory could not be checked, because" in sentence
    assert said(timeline(), SILENT, blind, MEMORY)[0] == "healthy"
    spread = rule("spread", family="multi-gpu", when="workers > 1")
    assert said(timeline(gpus=1), SILENT, MEMORY, spread)[0] == "healthy"
    assert said(timeline(gpus=2), SILENT, MEMORY, spread)[0] == "cannot tell"


def test_without_rules_nothing_is_healthy() -> None:
    assert diagnose(timeline(), ()).state == "cannot tell"


def limits(given: Timeline) -> str:
    return " ".join(diagnose(given, RULES).limits)


def test_limits_say_what_the_recording_cannot_tell() -> None:
    assert limits(timeline()) == ""
    assert "gpudiag record --" in limits(timeline(cpu=False))
    assert "--query-gpu=timestamp" in limits(timeline(time_known=False))
    assert "one sample every 10 s" in limits(timeline(step=10.0))
    assert "too short" in limits(timeline(seconds=30))
    assert "No GPU data" in limits(timeline(util=None, gpus=0))


def test_a_diagnosis_is_a_sequence_of_findings_with_headline_figures() -> None:
    diagnosis: Diagnosis = diagnose(timeline(), (rule("note", when="main_cpu_pct > 1"),))
    assert [finding.rule.name for finding in diagnosis] == ["note"]
    assert diagnosis.figures["active_s"] > 500
    assert diagnosis.figures.keys() <= REGISTRY.keys()


def test_every_headline_is_a_figure_of_the_run() -> None:
    from gpudiag.diagnose.engine import HEADLINES

    for name in HEADLINES:
        assert (REGISTRY[name].kind, REGISTRY[name].scope) == ("figure", "run")
