"""Nothing that people read stays English in Chinese: catalogue, templates, whole reports."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpudiag
from gpudiag.cli import main
from gpudiag.diagnose import diagnose, load_rules
from gpudiag.diagnose.model import Rule
from gpudiag.diagnose.rule_tests import timeline_of
from gpudiag.language import catalogue, from_environment, retold, speaking, tr
from gpudiag.report import Format, render_text
from gpudiag.resources import templates_dir
from gpudiag.timeline.read import read

PACKAGE = Path(gpudiag.__file__).parent
RUNS = sorted((Path(__file__).parent / "fixtures" / "runs").glob("*.csv"))
LOGS = [
    path
    for path in sorted((Path(__file__).parent / "fixtures" / "logs").iterdir())
    if path.is_file()
]
FROM_LOG = re.compile(r"gpu-text|gpu-lost：|(?:^|\s)GPU \d|nvidia-smi tables")
HOLE = re.compile(r"\{\w+\}")
IN_TEMPLATE = re.compile(r'\btr\("((?:[^"\\]|\\.)*)"')
BARE = re.compile(r">[^<>{}]*[A-Za-z]{3,}[^<>{}]*<")
# a sentence is three words in a row; names of tools and libraries stand in ones and twos
SENTENCE = re.compile(r"(?:\b[A-Za-z][a-z]{2,}\b[ ,;:]+){2,}[a-z]{2,}[^\n]{0,60}")


def _literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)


def _said_in_code() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "tr" and node.args:
                yield from _literals(node.args[0])


def _said_in_templates() -> Iterator[str]:
    for path in templates_dir().glob("*.j2"):
        for match in IN_TEMPLATE.finditer(path.read_text(encoding="utf-8")):
            yield match[1].replace('\\"', '"')


def _in_strings() -> str:
    """Every string of the package with its holes as `{}`: a text made there must be among them."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(HOLE.sub("{}", node.value))
            elif isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(
                        str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values
                    )
                )
    return "\n".join(found)


def test_every_text_has_its_chinese() -> None:
    missing = {*_said_in_code(), *_said_in_templates()} - catalogue("zh").keys()
    assert sorted(missing) == []


def test_the_chinese_has_the_holes_of_the_english() -> None:
    wrong = [
        english
        for english, said in catalogue("zh").items()
        if sorted(HOLE.findall(english)) != sorted(HOLE.findall(said))
    ]
    assert wrong == []


def test_no_entry_is_stale() -> None:
    # GIVEN all that the code and the templates say, reasons included
    made = _in_strings() + "\n".join(_said_in_templates())
    scripts = "".join(path.read_text(encoding="utf-8") for path in templates_dir().glob("*.js"))
    # THEN every entry is among it, as a whole or, for states and levels, by its lower case
    stale = [
        english
        for english in catalogue("zh")
        if not all(
            part in made or part.lower() in made or part in scripts for part in HOLE.split(english)
        )
    ]
    assert stale == []


def test_templates_hold_no_bare_english() -> None:
    bare = [
        (path.name, text)
        for path in templates_dir().glob("*.j2")
        for text in BARE.findall(re.sub(r"\{[{%].*?[%}]\}", "", path.read_text(encoding="utf-8")))
        if "gpudiag" not in text
    ]
    assert bare == []


def _prose(page: str, form: Format) -> str:
    """The page without code, scripts and names."""
    if form == "markdown":
        page = re.sub(r"\"[^\"\n]*\"", "", page)
    if form == "html":
        page = re.sub(r"<(style|script|code)\b.*?</\1>", "", page, flags=re.DOTALL)
        page = re.sub(
            r'<p class="command">.*?</p>|<dl class="pairs mono">.*?</dl>', "", page, flags=re.DOTALL
        )
        page = re.sub(r"<dt>[^<]*</dt><dd>[^<]*</dd>", "", page)
        page = html.unescape(re.sub(r"<[^>]+>", "\n", page))
        return re.sub(r'"[^"\n]*"', "", page)
    if form == "markdown":
        return re.sub(r"```.*?```|`[^`\n]*`|<!--.*?-->", "", page, flags=re.DOTALL)
    # in the terminal code stands deeper than any text
    return "\n".join(line for line in page.splitlines() if not line.startswith("       "))


@pytest.mark.parametrize("form", ["html", "markdown", "text"])
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_chinese_report_holds_no_english_sentence(path: Path, form: Format) -> None:
    # GIVEN a recorded run WHEN it is reported in Chinese
    timeline = read(path)
    with speaking("zh"):
        page = render_text(diagnose(timeline), timeline, form)
    # THEN no sentence is left in English
    assert SENTENCE.findall(_prose(page, form)) == []
    if form == "html":
        assert '<html lang="zh-CN">' in page


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_a_chinese_inspection_holds_no_english_sentence(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # GIVEN a log of any format WHEN it is inspected in Chinese
    code = main(["inspect", str(path), "--lang", "zh"])
    said = capsys.readouterr().out.splitlines()
    # THEN no sentence is left in English but what the log itself holds
    own = [line for line in said[1:] if not FROM_LOG.search(line)]
    assert code in (0, 3)
    assert SENTENCE.findall(re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "", "\n".join(own))) == []


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.name)
def test_no_case_of_a_rule_is_told_in_english(rule: Rule) -> None:
    # GIVEN the cases that stand in a rule's file WHEN each is told in Chinese
    rules = load_rules()
    for case in rule.tests:
        timeline = timeline_of(case)
        with speaking("zh"):
            page = render_text(diagnose(timeline, rules), timeline, "text")
        # THEN no sentence is left in English
        assert SENTENCE.findall(_prose(page, "text")) == [], case.name


def test_a_reason_made_elsewhere_is_retold() -> None:
    english = "12 active readings are too few; 30 are needed"
    assert retold(english) == english
    with speaking("zh"):
        assert retold(english) == "12 个活跃读数太少；至少需要 30 个"
        assert retold("of no entry") == "of no entry"


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_GB", "LC_MESSAGES": "zh_CN"}, "zh"),
        ({"LANG": "zh_CN", "LC_ALL": ""}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_locale_names_the_language(environ: dict[str, str], language: str) -> None:
    assert from_environment(environ) == language


def test_another_language_is_refused() -> None:
    with pytest.raises(ValueError, match="fr"), speaking("fr"):
        tr("Why")
