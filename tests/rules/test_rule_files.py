"""④ The built-in rules as files: their own tests, their thresholds, and what is never advised."""

from __future__ import annotations

import ast
import re

import pytest
from judging import RULES

from gpudiag.diagnose.rule_tests import run_rule_tests
from gpudiag.signals.limits import LIMITS

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


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_a_limit_of_the_signals_is_shown_by_a_rule(name):
    """GIVEN a limit that decides in a signal THEN a rule has it as a threshold, of that value."""
    shown = [t.value for rule in RULES for t in rule.thresholds if t.name == name]
    assert shown
    assert set(shown) == {LIMITS[name]}


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
        r"^(python|torchrun|gpudiag|nvidia-smi|py-spy|ps|taskset|docker|sudo|cat|rsync|pip|df|dmesg|dcgmi"
        r"|[A-Za-z_]+=\S+ .*(python|torchrun))"
    )
    lines = [line for line in code.splitlines() if not shell.match(line)]
    if any(line.strip() for line in lines):
        ast.parse("\n".join(lines))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_threshold_has_a_source_and_is_used(rule):
    text = " ".join(
        [rule.when, rule.cost, *(c.when for c in rule.causes), *(n.when for n in rule.fine_needs)]
        + [level.when for level in (*rule.severity, *rule.confidence)]
    )
    for threshold in rule.thresholds:
        used = re.search(rf"\b{threshold.name}\b", text) or threshold.name in LIMITS
        assert used, threshold.name
        assert len(threshold.source) > 10
