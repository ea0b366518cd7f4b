"""`gpudiag report`: read a recording or log, diagnose it, write the page."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpudiag.commands import reading, spoken, writing
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
  gpudiag report gpu.csv --host cpu.log     with a log of the CPU side beside it
  gpudiag report run.csv --format text      prints to the terminal
  gpudiag report run.csv -o - > page.html
  gpudiag report run.csv --open             opens the page in the browser
  gpudiag report run.csv --format markdown >> "$GITHUB_STEP_SUMMARY"
"""
_OUR_MARKS = (b'name="generator" content="gpudiag', b'"made_by": "gpudiag ', b"<!-- gpudiag ")
_VERDICTS = tuple(
    f"{sign}\n".encode()
    for sign in ("! Problem", "✓ Healthy", "? Cannot tell", "! 有问题", "✓ 健康", "? 无法判断")
)
_SEARCHED_BYTES = 4 << 20
_ENDINGS: dict[str, Format] = {
    ".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".markdown": "markdown",
    ".txt": "text",
}  # fmt: skip
_NOT_OURS = (".pdf", ".png", ".jpg", ".jpeg", ".svg", ".csv", ".docx", ".xlsx")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    reading.add_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUT",
        help="where to write (default: FILE with the ending .html); - is standard output",
    )  # fmt: skip
    parser.add_argument(
        "--format", choices=("html", "json", "markdown", "text"),
        help="default: by the ending of OUT (.html, .json, .md, .txt), else html",
    )  # fmt: skip
    parser.add_argument("--open", action="store_true", help="then open the page in the browser")
    parser.add_argument(
        "--rules", metavar="DIR", action="append", default=[],
        help="also use the rules in this folder (may be given more than once)",
    )  # fmt: skip
    parser.add_argument(
        "--thresholds", metavar="FILE",
        help="other values for thresholds of the rules, as TOML (the report says which)",
    )  # fmt: skip
    parser.add_argument(
        "--force", action="store_true", help="replace OUT even if gpudiag did not make it"
    )


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
    form = _format(args)
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
        _open(target)
    return 0


def _format(args: argparse.Namespace) -> Format:
    if args.format:
        return cast("Format", args.format)
    ending = Path(args.output).suffix.lower() if args.output not in (None, "-") else ""
    if ending in _NOT_OURS:
        raise UsageError(
            f"a report cannot be written as {ending}",
            "write .html and print it, or say --format",
        )
    return _ENDINGS.get(ending, "html")


def _target(args: argparse.Namespace, form: Format) -> Path | None:
    """Where to write; None is standard output. Raises UsageError before the work is done."""
    if args.output == "-" or (args.output is None and (form != "html" or args.file == "-")):
        return None
    output = args.output
    if output is None:
        path = Path(args.file)
        if not path.name:
            raise UsageError(f"{args.file or 'an empty name'} is no file", "name a recording")
        output = str(
            path.with_name(path.name + ".html" if not path.suffix else path.stem + ".html")
        )
    return writing.target(
        output,
        (args.file, args.host),
        replace=lambda path: args.force or _ours(path),
        refusal=" and was not made by gpudiag",
    )


def _ours(target: Path) -> bool:
    """Whether `target` is empty or a report that gpudiag made."""
    with target.open("rb") as file:
        content = file.read(_SEARCHED_BYTES)
    return (
        not content or any(mark in content for mark in _OUR_MARKS) or content.startswith(_VERDICTS)
    )


def _diagnosed(args: argparse.Namespace) -> tuple[Diagnosis, Timeline]:
    """Read and diagnose, with a line of progress where it takes long enough to wonder."""
    with reading.progress(args) as tell:
        return _work(args, tell)


def _work(args: argparse.Namespace, tell: Callable[[str], None]) -> tuple[Diagnosis, Timeline]:
    from gpudiag.diagnose import diagnose, load_rules
    from gpudiag.diagnose.thresholds import with_thresholds
    from gpudiag.resources import rules_dir

    timeline = reading.read_timeline(args)
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


def _open(page: Path) -> None:
    import webbrowser

    try:
        opened = webbrowser.open(page.resolve().as_uri())
    except (OSError, webbrowser.Error):
        opened = False
    if not opened:
        print("no browser was found here: open the file yourself", file=sys.stderr)


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
