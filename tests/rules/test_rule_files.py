"""④ The built-in rules as files: their own tests, their thresholds, and what is never advised."""

from __future__ import annotations

import ast
import re

import pytest
from judging import RULES

from gpudiag.diagnose.rule_tests import run_rule_tests
from gpudiag.signals import starvation

REMEDIES = [
    pytest.param(rule, cause, remedy, id=f"{rule.code}-{cause.name}-{remedy.framework}")
    for rule in RULES
    for cause in rule.causes
    for remedy in cause.remedies
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_its_own_tests_pass(rule):
    failures = [f"{r.test.name}: {r.failure}" for r in run_rule_tests([rule]) if r.failure]
    assert failures == []


@pytest.mark.parametrize(
    ("threshold", "constant"),
    [
        ("min_stall", starvation.MIN_STALL),
        ("busy_ratio", starvation.BUSY_RATIO),
        ("asleep_ratio", starvation.ASLEEP_RATIO),
        ("loading_mib_s", starvation.LOADING_MIB_S),
        ("full_cpu", starvation.FULL_CPU),
        ("each_full_cpu", starvation.EACH_FULL_CPU),
        ("pool_cpu", starvation.POOL_CPU),
        ("cores_full", starvation.CORES_FULL),
        ("wants_cpu", starvation.WANTS_CPU),
        ("waiting_cpu", starvation.WAITING_CPU),
        ("switches", starvation.SWITCHES),
        ("blocked", starvation.BLOCKED),
        ("sustained_mib_s", starvation.SUSTAINED_MIB_S),
        ("throttled", starvation.THROTTLED),
        ("stopped", starvation.STOPPED_CORES),
    ],
)
def test_a_cause_and_the_evidence_use_one_threshold(threshold, constant):
    """GIVEN the gate in the signals and the causes in the rule THEN they cannot drift apart."""
    rule = next(rule for rule in RULES if rule.name == "data-loader-starvation")
    assert {t.name: t.value for t in rule.thresholds}[threshold] == constant


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_it_helps_whatever_the_framework(rule):
    """Each cause has advice for any framework, which is said where none was recognised."""
    for cause in rule.causes:
        frameworks = {remedy.framework for remedy in cause.remedies}
        if cause.name == "pool-taken-in-advance":  # PaddlePaddle's own allocator
            continue
        assert "any" in frameworks, cause.name  # else nothing is said where none was recognised


@pytest.mark.parametrize(("rule", "cause", "remedy"), REMEDIES)
def test_a_remedy_keeps_to_the_facts(rule, cause, remedy):
    said = f"{remedy.text} {remedy.code}"
    if remedy.framework in ("paddle", "any", "tensorflow", "jax"):
        assert "pin_memory" not in said
    if remedy.framework != "pytorch":
        assert "expandable_segments" not in said
    if remedy.framework == "paddle":
        assert not re.search(r"\btorch(?!vision\b)\b", said)
        assert "torchrun" not in said
    assert "kill -9" not in said
    assert "empty_cache()" not in remedy.code
    assert (
        "auto_growth" not in remedy.code
        or "virtual_memory" in remedy.code
        or (cause.name == "pool-taken-in-advance")
    )


@pytest.mark.parametrize(("rule", "cause", "remedy"), REMEDIES)
def test_python_code_in_a_remedy_is_python(rule, cause, remedy):
    """GIVEN the parts that are not shell THEN they parse, holes filled with a figure."""
    code = re.sub(r"(?<!\{)\{[^{}]+\}(?!\})", "4", remedy.code)
    code = code.replace("{{", "{").replace("}}", "}").strip()
    shell = re.compile(
        r"^(python|torchrun|gpudiag|nvidia-smi|py-spy|ps|taskset|docker|sudo|cat|rsync|pip"
        r"|[A-Za-z_]+=\S+ .*(python|torchrun))"
    )
    lines = [line for line in code.splitlines() if not shell.match(line)]
    if any(line.strip() for line in lines):
        ast.parse("\n".join(lines))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_threshold_has_a_source_and_is_used(rule):
    text = " ".join(
        [rule.when, rule.cost, *(c.when for c in rule.causes)]
        + [level.when for level in (*rule.severity, *rule.confidence)]
    )
    for threshold in rule.thresholds:
        assert re.search(rf"\b{threshold.name}\b", text), threshold.name
        assert len(threshold.source) > 10
