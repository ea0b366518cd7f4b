"""④ A rule's texts in another language: the `[zh]` table of its file.

Causes are named, everything else stands in the order of the English texts. A rule without the table
stays English; one with it has every text, with the same {holes}.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gpudiag.diagnose.model import Cause, Need, Rule
from gpudiag.diagnose.toml_section import Section
from gpudiag.language import current

_HOLE = re.compile(r"\{\{|\}\}|\{[^{}]*\}")


def spoken(rule: Rule) -> Rule:
    """The rule in the language in use, English where the file has no other."""
    if current() != "zh" or rule.zh is None:
        return rule
    return replace(rule.zh, thresholds=rule.thresholds)


def with_wording(rule: Rule, top: Section) -> Rule:
    """`rule` with its Chinese texts as `rule.zh`, if its file has them."""
    if not top.has("zh"):
        top.asked.add("zh")
        return rule
    section = Section(top.mapping("zh"), ("zh",), top.mistakes)
    needs = _list(section, "fine_needs", [need.otherwise for need in rule.fine_needs])
    said = replace(
        rule,
        title=_text(section, "title", rule.title),
        summary=_text(section, "summary", rule.summary),
        meaning=_text(section, "meaning", rule.meaning),
        confirm=_text(section, "confirm", rule.confirm),
        fine=_text(section, "fine", rule.fine),
        fine_needs=tuple(
            Need(need.when, text) for need, text in zip(rule.fine_needs, needs, strict=True)
        ),
        evidence=tuple(_list(section, "evidence", rule.evidence)),
        causes=_causes(section, rule.causes),
    )
    section.finish()
    return replace(rule, zh=said)


def _causes(section: Section, causes: Sequence[Cause]) -> tuple[Cause, ...]:
    named = Section(section.mapping("cause"), (*section.key, "cause"), section.mistakes)
    made = []
    for cause in causes:
        own = Section(named.mapping(cause.name), (*named.key, cause.name), section.mistakes)
        remedies = _list(own, "remedy", [remedy.text for remedy in cause.remedies])
        made.append(
            replace(
                cause,
                title=_text(own, "title", cause.title),
                evidence=_text(own, "evidence", cause.evidence),
                remedies=tuple(
                    replace(remedy, text=text)
                    for remedy, text in zip(cause.remedies, remedies, strict=True)
                ),
            )
        )
        own.finish()
    named.finish()
    return tuple(made)


def _text(section: Section, name: str, english: str) -> str:
    said = section.text(name)
    if said and not _same_holes(said, english):
        section.wrong(name, "its {holes} are not those of the English text")
    return said or english


def _list(section: Section, name: str, english: Sequence[str]) -> list[str]:
    """One text for each English one, in their order; the English ones where that is not so."""
    section.asked.add(name)
    values = section.table.get(name, [])
    if (
        not isinstance(values, list)
        or len(values) != len(english)
        or not all(isinstance(value, str) and value.strip() for value in values)
    ):
        section.wrong(name, f"must be a list of {len(english)} texts, one for each English one")
        return list(english)
    texts = [
        Section({"text": value}, section.key, section.mistakes).text("text") for value in values
    ]
    for said, original in zip(texts, english, strict=True):
        if not _same_holes(said, original):
            section.wrong(name, f"the {{holes}} are not those of the English text: {said[:40]}")
    return texts


def _same_holes(said: str, english: str) -> bool:
    return sorted(_HOLE.findall(said)) == sorted(_HOLE.findall(english))
