"""`gpudiag compare`: one run against others: did the change help?"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gpudiag.commands import reading, spoken, writing
from gpudiag.commands.formats import add_output_arguments, chosen, open_page, ours
from gpudiag.errors import UsageError
from gpudiag.language import tr

if TYPE_CHECKING:
    from gpudiag.compare.model import Comparison, Side
    from gpudiag.report import Format

NAME = "compare"
HELP = "put runs side by side: faster, slower, or no difference shown, and what changed"
EPILOG = """\
BEFORE and AFTER are recordings or logs, as for `gpudiag report`. With several AFTER each is
compared with BEFORE.

Speed is the time between marks that both runs set (gpudiag mark "epoch 3"); else, with --same-work,
the run time; else the GPU work a second. docs/compare.md says what each is worth.

examples:
  gpudiag compare before.csv after.csv
  gpudiag compare before.csv after.csv -o compare.html --open
  gpudiag compare baseline.csv workers-4.csv workers-8.csv
  gpudiag compare before.csv after.csv --same-work
  gpudiag compare main.csv pull-request.csv --max-regression 5% --format markdown
"""
_PERCENT = re.compile(r"\s*(\d{1,2}(?:\.\d+)?)\s*%\s*", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("before", metavar="BEFORE", help="the run to compare with")
    parser.add_argument("after", metavar="AFTER", nargs="+", help="the run after the change")
    parser.add_argument(
        "--same-work", action="store_true",
        help="all runs did the same work from start to end: their run times count",
    )  # fmt: skip
    parser.add_argument(
        "--max-regression", metavar="PERCENT", type=_percent,
        help="exit with 1 if an AFTER is shown to be slower by more, such as 5%%, or if it "
        "cannot be told",
    )  # fmt: skip
    reading.add_time_arguments(parser)
    spoken.add_argument(parser)
    add_output_arguments(parser, "where to write (default: standard output)", "text")


def run(args: argparse.Namespace) -> int:
    """Print or write the comparison; 1 if --max-regression is broken, else 0."""
    form = chosen(args, default="text")
    with spoken.language(args, terminal=form == "text"):
        return _run(args, form)


def _run(args: argparse.Namespace, form: Format) -> int:
    from gpudiag.compare import compare

    files = [args.before, *args.after]
    if files.count("-") > 1:
        raise UsageError("- is standard input, and can be only one of the runs", "name the files")
    target = None
    if args.output not in (None, "-"):
        target = writing.target(
            args.output,
            files,
            replace=lambda path: args.force or ours(path),
            refusal=" and was not made by gpudiag",
        )
    if args.open and (target is None or form != "html"):
        raise UsageError("--open opens a page, and none is written", "add -o compare.html")
    before, *others = _sides(args, files)
    comparisons = [compare(before, after, same_work=args.same_work) for after in others]
    _put_out(comparisons, target, form)
    if args.open and target is not None:
        open_page(target)
    broken = _broken(comparisons, args.max_regression)
    for line in broken:
        print(f"gpudiag: {line}", file=sys.stderr)
    return 1 if broken else 0


def _sides(args: argparse.Namespace, files: Sequence[str]) -> list[Side]:
    """Every run read and diagnosed. Names that two runs share are told apart by their folders."""
    from gpudiag.compare.model import Side
    from gpudiag.diagnose import diagnose, load_rules

    rules = load_rules()
    names = [PurePath(file).name or file for file in files]
    if len(set(names)) < len(names):
        names = list(files)
    found = []
    for name, file in zip(names, files, strict=True):
        one = argparse.Namespace(**{**vars(args), "file": file, "host": None})
        with reading.progress(one):
            timeline = reading.read_timeline(one)
        found.append(Side(name, timeline, diagnose(timeline, rules)))
    return found


def _put_out(comparisons: Sequence[Comparison], target: Path | None, form: Format) -> None:
    from gpudiag.report import write
    from gpudiag.report.clean import clean
    from gpudiag.report.comparison import render_comparison

    if target is not None:
        write(render_comparison(comparisons, form), target)
        for one in comparisons:
            print(clean(one.sentence))
        print(clean(target))
        return
    if form == "text" and sys.stdout.isatty():
        from rich.console import Console

        from gpudiag.report.comparison.text import print_terminal
        from gpudiag.report.comparison.view import build

        print_terminal(build(comparisons, figures=False), Console())
        return
    text = render_comparison(comparisons, form)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def _broken(comparisons: Sequence[Comparison], most: float | None) -> list[str]:
    """Which runs break the limit `most` (a share), and why: also where it cannot be told."""
    from gpudiag.report.clean import clean
    from gpudiag.report.labels import percent

    if most is None:
        return []
    said = []
    for one in comparisons:
        name = clean(one.after.name, 120)
        if one.outcome == "cannot tell" or one.speed is None:
            said.append(tr("{name}: whether it is slower cannot be told", name=name))
        elif one.outcome == "slower" and one.speed.value < 1 - most:
            said.append(
                tr(
                    "{name}: slower by {share}, more than {limit}",
                    name=name,
                    share=percent(1 - one.speed.value),
                    limit=percent(most),
                )
            )
    return said


def _percent(text: str) -> float:
    match = _PERCENT.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError("write it as a percentage below 100%: 5%")
    return float(match[1]) / 100
