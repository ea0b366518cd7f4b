"""`gpudiag report`: read a recording or log, diagnose it, write the page."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiag.commands import reading, spoken, writing
from gpudiag.commands.formats import add_output_arguments, chosen, open_page, ours
from gpudiag.errors import UsageError
from gpudiag.language import tr

if TYPE_CHECKING:
    from gpudiag.diagnose.model import Diagnosis
    from gpudiag.report import Format
    from gpudiag.timeline.model import Timeline

NAME = "report"
HELP = "say where the GPU time of a run went, why, and what to change"
EPILOG = """\
FILE is a run.csv of `gpudiag record`, or a log of nvidia-smi or another tool: docs/logs.md lists
what can be read, and `gpudiag inspect FILE` says what was.

examples:
  gpudiag report run.csv                    writes run.html
  gpudiag report gpu_log.csv -o page.html
  gpudiag report log_without_times.csv --interval 5s
  gpudiag report run-node*.csv              one run on several machines, a recording each
  gpudiag report gpu.csv --host cpu.log     with a log of the CPU side beside it
  gpudiag report run.csv --format text      prints to the terminal
  gpudiag report run.csv -o - > page.html
  gpudiag report run.csv --open             opens the page in the browser
  gpudiag report run.csv --format markdown >> "$GITHUB_STEP_SUMMARY"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    reading.add_arguments(parser, several=True)
    where = "where to write (default: FILE with the ending .html); - is standard output"
    add_output_arguments(parser, where, "html")
    parser.add_argument(
        "--rules", metavar="DIR", action="append", default=[],
        help="also use the rules in this folder (may be given more than once)",
    )  # fmt: skip
    parser.add_argument(
        "--thresholds", metavar="FILE",
        help="other values for thresholds of the rules, as TOML (the report says which)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Write the report and print its verdict; 0."""
    collecting = gc.isenabled()
    gc.disable()  # nothing here makes cycles worth a pass over all that pandas and matplotlib load
    try:
        return _run(args)
    finally:
        if collecting:
            gc.enable()


def _run(args: argparse.Namespace) -> int:
    form = chosen(args, default="html")
    with spoken.language(args, terminal=form == "text"):
        return _written(args, form)


def _written(args: argparse.Namespace, form: Format) -> int:
    target = _target(args, form)
    if args.open and (target is None or form != "html"):
        raise UsageError("--open opens a page, and none is written", "leave out -o - and --format")
    diagnosis, timeline = _diagnosed(args)
    if target is None:
        _to_stdout(diagnosis, timeline, form)
        return 0
    from gpudiag.report import render

    render(diagnosis, timeline, target, form)
    _say_verdict(diagnosis, target)
    if args.open:
        open_page(target)
    return 0


def _target(args: argparse.Namespace, form: Format) -> Path | None:
    """Where to write; None is standard output. Raises UsageError before the work is done."""
    first = args.files[0]
    if args.output == "-" or (args.output is None and (form != "html" or "-" in args.files)):
        return None
    output = args.output
    if output is None:
        path = Path(first) if len(args.files) == 1 else _common(args.files)
        if not path.name:
            raise UsageError(f"{first or 'an empty name'} is no file", "name a recording")
        output = str(
            path.with_name(path.name + ".html" if not path.suffix else path.stem + ".html")
        )
    return writing.target(
        output,
        (*args.files, args.host),
        replace=lambda path: args.force or ours(path),
        refusal=" and was not made by gpudiag",
    )


def _common(files: Sequence[str]) -> Path:
    """`run.csv` of `run-node0.csv run-node1.csv`: what their names begin with."""
    first = Path(files[0])
    stems = [Path(file).stem for file in files]
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*stems, strict=False))
    begin = "".join(letters[0] for letters in same)
    return first.with_name(begin.rstrip("-_. 0123456789") or "nodes").with_suffix(first.suffix)


def _diagnosed(args: argparse.Namespace) -> tuple[Diagnosis, Timeline]:
    """Read and diagnose, with a line of progress where it takes long enough to wonder."""
    with reading.progress(args) as tell:
        return _work(args, tell)


def _work(args: argparse.Namespace, tell: Callable[[str], None]) -> tuple[Diagnosis, Timeline]:
    from gpudiag.diagnose import diagnose, load_rules
    from gpudiag.diagnose.thresholds import with_thresholds
    from gpudiag.resources import rules_dir

    timeline = reading.read_run(args)
    tell("diagnosing")
    rules = load_rules([rules_dir(), *map(Path, args.rules)])
    if args.thresholds:
        rules = with_thresholds(rules, args.thresholds)
    diagnosis = diagnose(timeline, rules)
    tell("drawing")
    return diagnosis, timeline


def _to_stdout(diagnosis: Diagnosis, timeline: Timeline, form: Format) -> None:
    if form == "text" and sys.stdout.isatty():
        from rich.console import Console

        from gpudiag.report.build import build
        from gpudiag.report.text import print_terminal

        print_terminal(build(diagnosis, timeline, figures=False), Console())
        return
    from gpudiag.report import render_text

    text = render_text(diagnosis, timeline, form)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def _say_verdict(diagnosis: Diagnosis, target: Path) -> None:
    from gpudiag.report.clean import clean
    from gpudiag.report.words import SYMBOLS, state_words, verdict

    mark = f"{SYMBOLS[diagnosis.state]} {state_words(diagnosis.state)}{tr(': ')}"
    sentence = verdict(clean(diagnosis.sentence))
    if not sys.stdout.isatty():
        print(f"{mark}{sentence}\n{clean(target)}")
        return
    from rich.console import Console
    from rich.text import Text

    style = {"problem": "bold red", "healthy": "bold green", "cannot tell": "bold yellow"}
    console = Console()
    console.print(Text.assemble((mark, style[diagnosis.state]), sentence))
    console.print(Text(clean(target)), soft_wrap=True)
