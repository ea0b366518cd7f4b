"""A rule's Chinese texts: complete, with the same holes, and English where a file has none."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from gpudiag.diagnose.load import load_rules
from gpudiag.diagnose.model import Rule
from gpudiag.diagnose.wording import spoken
from gpudiag.errors import RuleError
from gpudiag.language import speaking
from gpudiag.resources import rules_dir

SOURCE = rules_dir() / "batch-small.toml"


def _has_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def _texts(rule: Rule) -> list[str]:
    texts = [rule.title, rule.summary, rule.meaning, rule.confirm, rule.fine, *rule.evidence]
    texts += [need.otherwise for need in rule.fine_needs]
    for cause in rule.causes:
        texts += [cause.title, cause.evidence, *(remedy.text for remedy in cause.remedies)]
    return texts


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.name)
def test_every_text_of_our_rules_is_said_in_chinese(rule: Rule) -> None:
    # GIVEN one of our rules WHEN it is spoken in Chinese
    with speaking("zh"):
        said = spoken(rule)
    # THEN nothing stays English, and all that is no text stays as it was
    assert rule.zh is not None
    assert [text for text in _texts(said) if not _has_chinese(text)] == []
    kept = {field.name for field in fields(Rule)} - {
        "title", "summary", "meaning", "confirm", "fine", "fine_needs", "evidence", "causes", "zh",
    }  # fmt: skip
    assert [name for name in kept if getattr(said, name) != getattr(rule, name)] == []
    assert [
        (cause.name, cause.when, [remedy.code for remedy in cause.remedies])
        for cause in said.causes
    ] == [
        (cause.name, cause.when, [remedy.code for remedy in cause.remedies])
        for cause in rule.causes
    ]


def test_a_rule_without_chinese_stays_english(tmp_path: Path) -> None:
    text = SOURCE.read_text(encoding="utf-8").split("\n[zh]")[0] + "\n"
    (tmp_path / SOURCE.name).write_text(text, encoding="utf-8")
    (rule,) = load_rules([tmp_path])
    with speaking("zh"):
        assert spoken(rule) is rule


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[zh]\n", '[zh]\nsumary = "x"\n', "unknown key"),
        ("\n[zh.cause.room-for-more]", "\n[zh.cause.room]", "room"),
        ("\n[zh]\ntitle = ", "\n[zh]\nheading = ", "title"),
        ("\n[zh]\ntitle = ", '\n[zh]\nfine_need = ["x"]\ntitle = ', "unknown key"),
    ],
)
def test_a_mistake_in_the_chinese_texts_is_named(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    text = SOURCE.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / SOURCE.name).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RuleError, match=said):
        load_rules([tmp_path])


def test_other_holes_than_the_english_ones_are_refused(tmp_path: Path) -> None:
    english, chinese = SOURCE.read_text(encoding="utf-8").split("\n[zh]")
    changed = chinese.replace("{stall_share:pct}", "{stall_share:int}", 1)
    assert changed != chinese
    (tmp_path / SOURCE.name).write_text(f"{english}\n[zh]{changed}", encoding="utf-8")
    with pytest.raises(RuleError, match="holes"):
        load_rules([tmp_path])
