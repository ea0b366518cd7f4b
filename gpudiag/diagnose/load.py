"""④ Read rule files: a folder of them is data, as harmless as a configuration file.

Every mistake of every file is found in one pass. Files may come from strangers: their number, size
and names are limited, nothing in them is run, and no path in them is followed.
"""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpudiag import signals as _all_signals  # noqa: F401  (registers every signal)
from gpudiag.diagnose.compiled import compile_rule
from gpudiag.diagnose.model import Rule, RuleTest
from gpudiag.diagnose.nodes import Symbol, vocabulary
from gpudiag.diagnose.rule_file import LONGEST_NAME, NAME, rule_from
from gpudiag.diagnose.series import SeriesError, parse_series
from gpudiag.diagnose.toml_section import Mistake, Mistakes, line_numbers
from gpudiag.errors import RuleError
from gpudiag.resources import rules_dir
from gpudiag.signals.base import REGISTRY, SignalSpec
from gpudiag.timeline.columns import parse_name

MAX_FILES = 300
MAX_BYTES = 128 * 1024
MAX_DOTS = 200  # in a line: tomllib needs minutes for a key of thousands of parts
MAX_SERIES = 200
MAX_CELLS = 2_000_000  # of a test: series times samples
_SAID = 3  # mistakes that the one line of the error holds


class RulesError(RuleError):
    """Rule files that are wrong; `mistakes` are all of them, in the order of the files."""

    def __init__(self, mistakes: tuple[Mistake, ...]) -> None:
        said = "; ".join(str(mistake) for mistake in mistakes[:_SAID])
        more = f"; and {len(mistakes) - _SAID} more" if len(mistakes) > _SAID else ""
        super().__init__(said + more, "list them all with: gpudiag rules check DIR")
        self.mistakes = mistakes


def load_rules(
    paths: Iterable[Path | str] | None = None, registry: Mapping[str, SignalSpec] = REGISTRY
) -> tuple[Rule, ...]:
    """The rules of `paths` (files, or folders of *.toml), by code; None: the built-in ones.

    Raises RulesError (a RuleError) that lists every mistake of every file.
    """
    built_in = paths is None
    files, mistakes = _files([rules_dir()] if paths is None else [Path(path) for path in paths])
    symbols = vocabulary(registry)
    rules = []
    for path in files:
        rule, found = _read(path, symbols, whole=not built_in)
        mistakes += found
        if rule is not None:
            rules.append(rule)
    mistakes += _across(rules)
    if mistakes:
        raise RulesError(tuple(mistakes))
    return tuple(sorted(rules, key=lambda rule: rule.code))


def _files(paths: list[Path]) -> tuple[list[Path], list[Mistake]]:
    """The rule files of `paths`, each once, in order of their names."""
    files: dict[Path, None] = {}
    mistakes = []
    for path in paths:
        try:
            found = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        except (OSError, ValueError):
            found = [path]
        if not found:
            mistakes.append(_mistake(path, "no rule (*.toml) in this folder"))
        files.update(dict.fromkeys(found))
    if len(files) > MAX_FILES:
        mistakes.append(_mistake(paths[0], f"more than {MAX_FILES} rule files"))
        return [], mistakes
    return list(files), mistakes


def _mistake(path: Path, problem: str) -> Mistake:
    return Mistake(str(path), None, "", problem)


def _read(
    path: Path, symbols: Mapping[str, Symbol], *, whole: bool
) -> tuple[Rule | None, list[Mistake]]:
    """The rule of one file, None where it is no TOML, and what is wrong with it.

    Not `whole`: without its expressions and tests. Those of the built-in rules are checked when
    gpudiag is tested, and a report that checked them again would take a tenth longer.
    """
    if path.suffix != ".toml" or not NAME.fullmatch(path.stem) or len(path.stem) > LONGEST_NAME:
        there = path.exists() or path.is_symlink()
        wrong = "a rule file is named like no-workers.toml" if there else "no such file or folder"
        return None, [_mistake(path, wrong)]
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return None, [_mistake(path, "not a file")]
        if status.st_size > MAX_BYTES:
            return None, [_mistake(path, f"larger than {MAX_BYTES // 1024} KiB")]
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8")
        if any(line.count(".") > MAX_DOTS for line in text.splitlines()):
            return None, [_mistake(path, f"more than {MAX_DOTS} dots in one line")]
        table: dict[str, Any] = tomllib.loads(text)
    except OSError as error:
        return None, [_mistake(path, f"cannot be read: {error.strerror or 'an error'}")]
    except UnicodeDecodeError:
        return None, [_mistake(path, "not UTF-8 text")]
    except tomllib.TOMLDecodeError as error:
        return None, [_mistake(path, f"not TOML: {error}")]
    except (ValueError, RecursionError, MemoryError):
        return None, [_mistake(path, "not TOML: nested too deeply or a figure too long")]
    mistakes = Mistakes(str(path), line_numbers(text) if whole else {})
    rule = rule_from(table, mistakes)
    if not whole:
        return rule, mistakes.found
    compile_rule(rule, symbols, mistakes.add)
    causes = {cause.name for cause in rule.causes}
    for number, test in enumerate(rule.tests):
        _check_test(number, test, causes, mistakes)
    return rule, mistakes.found


def _check_test(number: int, test: RuleTest, causes: set[str], mistakes: Mistakes) -> None:
    lengths = {}
    if not 1 <= len(test.series) <= MAX_SERIES:
        mistakes.add(("test", number, "series"), f"must be from 1 to {MAX_SERIES} series")
        return
    for name, text in test.series.items():
        key = ("test", number, "series", name)
        in_file = f"gpu0_{name[4:]}" if name.startswith("gpu_") else name
        if parse_name(in_file) is None:
            mistakes.add(key, "no column of run.csv")
        elif not isinstance(text, str):
            mistakes.add(key, 'must be text such as "95*60"')
        else:
            try:
                lengths[name] = parse_series(text).size
            except SeriesError as error:
                mistakes.add(key, str(error))
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {length}" for name, length in lengths.items())
        mistakes.add(("test", number, "series"), f"not all of one length: {said}")
    if sum(lengths.values()) > MAX_CELLS:
        mistakes.add(("test", number, "series"), f"more than {MAX_CELLS} samples in all")
    for name in test.holds:
        if name not in causes:
            mistakes.add(("test", number, "holds"), f"no cause is named {name!r}")


def _across(rules: list[Rule]) -> list[Mistake]:
    """What is wrong between files: a code or name twice, and `supersedes` that cannot be meant."""
    mistakes = []
    by_name: dict[str, Rule] = {}
    by_code: dict[str, Rule] = {}
    for rule in rules:
        for key, value, seen in (("name", rule.name, by_name), ("code", rule.code, by_code)):
            first = seen.setdefault(value, rule)
            if value and first is not rule:
                mistakes.append(Mistake(rule.path, None, key, f"{value!r} stands in {first.path}"))
    built_in = {path.stem for path in rules_dir().glob("*.toml")}
    for rule in rules:
        mistakes += [
            Mistake(rule.path, None, "supersedes", f"no rule is named {name!r}")
            for name in rule.supersedes
            if name not in by_name and name not in built_in
        ]
        if rule.name in _superseded(rule, by_name):
            problem = "this rule supersedes itself by way of others: nothing would be said"
            mistakes.append(Mistake(rule.path, None, "supersedes", problem))
    return mistakes


def _superseded(rule: Rule, by_name: Mapping[str, Rule]) -> set[str]:
    """The names of all rules that `rule` supersedes, directly or by way of others."""
    reached: set[str] = set()
    ahead = list(rule.supersedes)
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += by_name[name].supersedes if name in by_name else ()
    return reached
