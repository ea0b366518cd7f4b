"""`gpudiag rules`: read what gpudiag knows, and check and test rules of your own."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudiag.commands import spoken
from gpudiag.errors import EXIT_BAD_RULE, UsageError
from gpudiag.language import tr

if TYPE_CHECKING:
    from gpudiag.diagnose.model import Rule

NAME = "rules"
HELP = "List, show, check and test the rules: what gpudiag looks for, and what it advises."
EPILOG = """\
examples:
  gpudiag rules list                         every rule, one line each
  gpudiag rules show GD101                   one rule, with its causes and remedies
  gpudiag rules check my-rules/              every mistake in the rules of a folder
  gpudiag rules test my-rules/               run the tests that stand in the rules
"""
_WIDTH = 96


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add list, show, check and test."""
    actions = parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every rule, one line each")
    show = actions.add_parser("show", help="one rule, with its causes and remedies")
    show.add_argument("rule", metavar="CODE|NAME", help="such as GD101")
    for action in (listing, show):
        spoken.add_argument(action)
        action.add_argument(
            "--rules",
            action="append",
            default=[],
            metavar="DIR",
            help="a folder of more rules (may be given several times)",
        )
    check = actions.add_parser("check", help="say every mistake in rule files")
    check.add_argument("paths", nargs="+", metavar="DIR", help="folders of rules, or rule files")
    test = actions.add_parser("test", help="run the tests that stand in rule files")
    test.add_argument(
        "paths", nargs="*", metavar="DIR", help="folders or files (default: the built-in rules)"
    )
    test.add_argument(
        "--thresholds", metavar="FILE", help="try the rules with other values for their thresholds"
    )


def run(args: argparse.Namespace) -> int:
    """Run one action; 0, or 4 where a rule is wrong or one of its tests fails."""
    match args.action:
        case "list":
            with spoken.language(args):
                return _list(_rules(args.rules))
        case "show":
            with spoken.language(args):
                return _show(args.rule, _rules(args.rules))
        case "check":
            return _check(args.paths)
        case _:
            return _test(args.paths, args.thresholds)


def _rules(folders: Sequence[str]) -> tuple[Rule, ...]:
    """The built-in rules and those of `folders`."""
    from gpudiag.diagnose.load import load_rules
    from gpudiag.diagnose.wording import spoken as in_our_language
    from gpudiag.resources import rules_dir

    return tuple(map(in_our_language, load_rules([rules_dir(), *folders])))


def _list(rules: Sequence[Rule]) -> int:
    rows = [(rule.code, rule.name, rule.family, rule.title) for rule in rules]
    if not sys.stdout.isatty():
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            print("  ".join([*cells, row[3]]))
        return 0
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("code", "name", "family", "problem"):
        table.add_column(tr(heading), no_wrap=heading == "code")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # Text: no markup in a stranger's rule
    Console().print(table)
    return 0


def _show(wanted: str, rules: Sequence[Rule]) -> int:
    import difflib

    for rule in rules:
        if wanted.lower() in (rule.code.lower(), rule.name):
            print(_page(rule))
            return 0
    near = difflib.get_close_matches(wanted, [rule.name for rule in rules], n=1)
    hint = f"did you mean {near[0]}?" if near else "see: gpudiag rules list"
    raise UsageError(f"there is no rule {wanted[:60]!r}", hint)


def _page(rule: Rule) -> str:
    """A rule for a reader in a terminal. Holes stay as they stand in the file."""
    parts = [f"{rule.code} {rule.name}", rule.title, "", _filled(rule.meaning), ""]
    parts.append(f"{_head('Fires when')}{_filled(rule.when, 13)}")
    parts += [
        f"             {t.name} = {t.value:g} {t.unit}: {_filled(t.source, 15)}"
        for t in rule.thresholds
    ]
    if rule.for_s or rule.bridge_s or rule.min_share:
        from gpudiag.units import format_duration

        parts.append(
            " " * 13
            + tr(
                "for at least {time}, interruptions of up to {bridge} bridged, {share} % of the "
                "recording",
                time=format_duration(rule.for_s),
                bridge=format_duration(rule.bridge_s),
                share=f"{100 * rule.min_share:g}",
            )
        )
    parts.append(f"{_head('Cost')}{_filled(rule.cost or tr('not given'), 13)}")
    parts.append(f"{_head('To confirm')}{_filled(rule.confirm, 13)}")
    for cause in rule.causes:
        parts += [
            "",
            tr("Cause: {title} ({name})", title=cause.title, name=cause.name),
            f"  {tr('when')} {_filled(cause.when, 7)}",
        ]
        for remedy in cause.remedies:
            parts.append(f"  {remedy.framework}: {_filled(remedy.text, 4)}")
            if remedy.code:
                parts.append(
                    textwrap.indent(remedy.code.replace("{{", "{").replace("}}", "}"), "      ")
                )
    parts += ["", tr("From {file}", file=rule.path)]
    return "\n".join(parts)


def _head(english: str) -> str:
    """A heading of 13 cells; a Chinese character takes two."""
    said = tr(english)
    return said + " " * (13 - sum(1 if character.isascii() else 2 for character in said))


def _filled(text: str, indent: int = 0) -> str:
    """`text` wrapped, its later lines indented."""
    return textwrap.fill(
        " ".join(text.split()),
        width=_WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * indent,
        break_long_words=False,
    ).lstrip()


def _check(paths: Sequence[str]) -> int:
    from gpudiag.diagnose.load import RulesError, load_rules

    try:
        rules = load_rules(paths)
    except RulesError as error:
        for mistake in error.mistakes:
            print(mistake)
        print(_counted(len(error.mistakes), "mistake"))
        return EXIT_BAD_RULE
    print(f"{_counted(len(rules), 'rule')}, no mistake")
    return 0


def _test(paths: Sequence[str], thresholds: str | None) -> int:
    from gpudiag.diagnose.load import load_rules
    from gpudiag.diagnose.rule_tests import run_rule_tests
    from gpudiag.diagnose.thresholds import with_thresholds

    rules = load_rules(paths or None)
    if thresholds:
        rules = with_thresholds(rules, thresholds)
    results = run_rule_tests(rules)
    failed = [result for result in results if result.failure]
    for result in failed:
        print(f"{result.rule.path}: test {result.test.name!r}: {result.failure}")
        for figure in result.figures:
            print(f"    {figure}")
    passed = len(results) - len(failed)
    print(f"{passed} of {len(results)} tests of {_counted(len(rules), 'rule')} passed")
    return EXIT_BAD_RULE if failed else 0


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
