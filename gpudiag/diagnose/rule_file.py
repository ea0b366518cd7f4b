"""④ One rule file: from the tables that TOML gives to a `Rule`, every mistake noted.

Expressions and texts are checked in `compiled.py`; this module knows the keys and their types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Literal, get_args

from gpudiag.diagnose.model import (
    SEVERITIES,
    Cause,
    Confidence,
    Framework,
    Level,
    Need,
    Remedy,
    Rule,
    RuleTest,
    Threshold,
)
from gpudiag.diagnose.toml_section import Mistakes, Section
from gpudiag.diagnose.wording import with_wording
from gpudiag.timeline.columns import parse_name

FAMILIES = ("input", "memory", "multi-gpu", "hardware", "process", "recording")
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)
SCOPES: tuple[Literal["run", "gpu"], ...] = ("run", "gpu")
NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_CODE = re.compile(r"GD\d{3}", re.ASCII)
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
LONGEST_NAME = 60
LONGEST_LINE = 500


def rule_from(table: Mapping[str, Any], mistakes: Mistakes) -> Rule:
    """The rule in `table`; where a part is wrong, `mistakes` says so and a stand-in is used."""
    top = Section(table, (), mistakes)
    rule = Rule(
        code=_code(top),
        name=_name(top, mistakes.path),
        title=top.text("title", longest=120),
        family=top.choice("family", FAMILIES),
        scope=top.choice("scope", SCOPES),
        when=top.text("when"),
        for_s=top.duration("for", 0.0),
        bridge_s=top.duration("bridge", 0.0),
        min_share=top.figure("min_share", 0.0, 0.0, 1.0),
        cost=top.text("cost", ""),
        bound=top.flag("bound", False),
        bound_most=top.text("bound_most", ""),
        cost_error=top.text("cost_error", ""),
        summary=top.text("summary", longest=LONGEST_LINE),
        meaning=top.text("meaning"),
        confirm=top.text("confirm"),
        fine=top.text("fine", longest=LONGEST_LINE),
        fine_needs=_needs(top),
        evidence=_evidence(top),
        plot=_plot(top),
        supersedes=_supersedes(top),
        thresholds=_thresholds(top),
        severity=_ladder(top, "severity", SEVERITIES),
        confidence=_ladder(top, "confidence", CONFIDENCES),
        causes=_causes(top),
        tests=_tests(top),
        path=mistakes.path,
    )
    rule = with_wording(rule, top)
    top.finish()
    if rule.bound and not rule.cost:
        top.wrong("bound", "there is no bound without a cost")
    if rule.bound_most and not rule.bound:
        top.wrong("bound_most", "there is no bound: write bound = true")
    if rule.cost_error and not rule.bound:
        top.wrong("cost_error", "there is no bound: write bound = true")
    return rule


def _code(top: Section) -> str:
    code = top.text("code", longest=LONGEST_NAME)
    if code and not _CODE.fullmatch(code):
        top.wrong("code", "must be GD and three digits")
    return code


def _name(top: Section, path: str) -> str:
    name = top.text("name", longest=LONGEST_NAME)
    stem = PurePath(path).stem
    if name and not NAME.fullmatch(name):
        top.wrong("name", "must be lower-case words joined by '-'")
    elif name and name != stem:
        top.wrong("name", f"must equal the name of the file, {stem[:LONGEST_NAME]!a}")
    return name


def _needs(top: Section) -> tuple[Need, ...]:
    made = []
    for section in top.sections("fine_needs"):
        otherwise = section.text("otherwise", longest=LONGEST_LINE)
        made.append(Need(section.text("when"), otherwise))
        section.finish()
    return tuple(made)


def _evidence(top: Section) -> tuple[str, ...]:
    texts = []
    for section in top.sections("evidence"):
        texts.append(section.text("text", longest=LONGEST_LINE))
        section.finish()
    return tuple(texts)


def _plot(top: Section) -> tuple[str, ...]:
    columns = top.texts("plot")
    for column in columns:
        if (
            parse_name(column.replace("gpu_", "gpu0_", 1) if column[:4] == "gpu_" else column)
            is None
        ):
            top.wrong("plot", f"{column[:60]!a} is no column of run.csv")
    return columns


def _supersedes(top: Section) -> tuple[str, ...]:
    names = top.texts("supersedes", LONGEST_NAME)
    if top.table.get("name") in names:
        top.wrong("supersedes", "a rule cannot supersede itself")
    return names


def _thresholds(top: Section) -> tuple[Threshold, ...]:
    made = []
    for name, value in top.mapping("thresholds", {}).items():
        key = ("thresholds", name)
        if not _IDENTIFIER.fullmatch(name) or len(name) > LONGEST_NAME:
            top.mistakes.add(key, "a threshold's name is lower-case letters, digits and '_'")
        elif not isinstance(value, Mapping):
            top.mistakes.add(key, 'write { value = …, unit = "…", source = "…" }')
        else:
            section = Section(value, key, top.mistakes)
            made.append(
                Threshold(
                    name,
                    section.figure("value", None, -1e15, 1e15),
                    section.text("unit", longest=LONGEST_NAME),
                    section.text("source", longest=LONGEST_LINE),
                )
            )
            section.finish()
    return tuple(made)


def _ladder(top: Section, name: str, levels: tuple[str, ...]) -> tuple[Level, ...]:
    made: list[Level] = []
    for section in top.sections(name):
        made.append(Level(section.choice("level", levels), section.text("when")))
        section.finish()
    ranks = [levels.index(step.level) for step in made]
    if ranks != sorted(set(ranks)):
        top.wrong(name, f"the levels must rise: {', '.join(levels)}")
    return tuple(made)


def _causes(top: Section) -> tuple[Cause, ...]:
    made: list[Cause] = []
    for section in top.sections("cause"):
        name = section.text("name", longest=LONGEST_NAME)
        if name and not NAME.fullmatch(name):
            section.wrong("name", "must be lower-case words joined by '-'")
        if name in {cause.name for cause in made}:
            section.wrong("name", f"a second cause {name!r}")
        made.append(
            Cause(
                name,
                section.text("title", longest=120),
                section.text("when"),
                section.text("evidence", longest=LONGEST_LINE),
                _remedies(section),
            )
        )
        section.finish()
    if not made:
        top.wrong("cause", "a rule needs at least one cause")
    return tuple(made)


def _remedies(cause: Section) -> tuple[Remedy, ...]:
    made = []
    for section in cause.sections("remedy"):
        made.append(
            Remedy(
                section.choice("framework", FRAMEWORKS),
                section.text("text"),
                section.text("code", ""),
            )
        )
        section.finish()
    if not made:
        cause.wrong("remedy", "a cause needs at least one remedy")
    return tuple(made)


def _tests(top: Section) -> tuple[RuleTest, ...]:
    made: list[RuleTest] = []
    for section in top.sections("test"):
        test = RuleTest(
            name=section.text("name", longest=200),
            fires=section.flag("fires"),
            series=section.mapping("series"),
            start=_start(section),
            end=section.mapping("end", {"exit_code": 0}),
            events=tuple(event.table for event in section.sections("events")),
            holds=section.texts("holds", LONGEST_NAME),
            unchecked=section.flag("unchecked", False),
            interval_s=section.duration("interval", 1.0, least=0.01),
        )
        section.finish()
        if test.name in {other.name for other in made}:
            section.wrong("name", f"a second test {test.name!r}")
        if test.fires and test.unchecked:
            section.wrong("unchecked", "a test cannot fire and be unchecked")
        if test.holds and not test.fires:
            section.wrong("holds", "a cause holds only where the rule fires")
        made.append(test)
    if not any(test.fires for test in made):
        top.wrong("test", "a rule needs a test in which it fires")
    if not any(not test.fires and not test.unchecked for test in made):
        top.wrong("test", "a rule needs a test in which it is checked and silent")
    return tuple(made)


def _start(test: Section) -> Mapping[str, Any]:
    """The start facts of a test. The reader of run.csv checks the rest when the test is run."""
    start = test.mapping("start", {})
    frameworks = start.get("frameworks", [])
    if not isinstance(frameworks, list) or any(name not in FRAMEWORKS[1:] for name in frameworks):
        test.wrong("start", f"frameworks must be a list of some of {', '.join(FRAMEWORKS[1:])}")
    gpus = start.get("gpus", [])
    if not isinstance(gpus, list) or any(
        not isinstance(gpu, Mapping) or not isinstance(gpu.get("index"), int) for gpu in gpus
    ):
        test.wrong("start", "gpus must be a list of tables, each with an index")
    return start
