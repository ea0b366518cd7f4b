"""⑤ `%load_ext gpudiag`: `%%gpudiag` records a cell, `%gpudiag run.csv` shows a report.

The kernel is the training process. IPython is there wherever this is loaded, and nowhere else
needed: nothing of it is imported before.
"""

from __future__ import annotations

import argparse
import ast
import shlex
import sys
from typing import Any, NoReturn

from gpudiag.api.block import Block, record
from gpudiag.errors import GpudiagError, UsageError

_CELL_HELP = "record what this cell does, and show what the recording says"
_LINE_HELP = "show the report of a recording or log"


def load_ipython_extension(shell: Any) -> None:
    """Give the shell (IPython's InteractiveShell) the line magic and the cell magic `gpudiag`."""

    def line_magic(line: str) -> Any:
        return _shown_errors(lambda: show(line))

    def cell_magic(line: str, cell: str) -> Any:
        return _shown_errors(lambda: record_cell(shell, line, cell))

    # a shell looks docstrings up for `%gpudiag?`
    line_magic.__doc__ = _line_parser().format_help()
    cell_magic.__doc__ = _cell_parser().format_help()
    shell.register_magic_function(line_magic, "line", "gpudiag")
    shell.register_magic_function(cell_magic, "cell", "gpudiag")


def show(line: str) -> Any:
    """The Report of the file that `line` names. Raises GpudiagError."""
    from gpudiag.api.report import open_report

    told = _line_parser().parse_args(_words(line))
    return open_report(told.file)


def record_cell(shell: Any, line: str, cell: str) -> Any:
    """Run `cell` in the shell while it is recorded, display the report; the cell's last value.

    Raises what the cell raises, after the report, and UsageError for options that make no sense.
    """
    told = _cell_parser().parse_args(_words(line))
    gpus = told.gpus
    block = record(told.output, interval=told.interval, gpus=gpus, quiet=told.quiet)
    body, last = _compiled(shell, cell)
    try:
        with block:
            exec(body, shell.user_ns)
            value = None if last is None else eval(last, shell.user_ns)
    finally:
        if block.path is not None:
            _display(block)
    return value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.format_usage().strip())


def _cell_parser() -> argparse.ArgumentParser:
    parser = _Parser("%%gpudiag", description=_CELL_HELP, add_help=False, allow_abbrev=False)
    parser.add_argument("-o", "--output", metavar="FILE", help="the recording (default: run.csv)")
    parser.add_argument("--interval", metavar="TIME", default="1s", help="between two samples")
    parser.add_argument("--gpus", metavar="LIST", help="these GPUs only: 0,1")
    parser.add_argument("--quiet", action="store_true", help="no summary of the recording")
    return parser


def _line_parser() -> argparse.ArgumentParser:
    parser = _Parser("%gpudiag", description=_LINE_HELP, add_help=False, allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", help="run.csv, or a log of nvidia-smi or another")
    return parser


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{line}: {error}", "close the quotes") from None


def _compiled(shell: Any, cell: str) -> tuple[Any, Any]:
    """The cell's code, and that of the expression at its end if there is one, as a cell shows it.

    Magics within it work; `await` at its top level does not (a `with` block takes it).
    """
    source = shell.transform_cell(cell)
    # so that a traceback shows the cell's lines
    name = shell.compile.cache(source, shell.execution_count, raw_code=cell)
    tree = shell.transform_ast(ast.parse(source, name))
    last = None
    quiet = source.rstrip().endswith(";")
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not quiet:
        last = compile(ast.Expression(tree.body.pop().value), name, "eval")
    return compile(tree, name, "exec"), last


def _display(block: Block) -> None:
    """Show the report, or say why there is none; the cell's own error must not hide behind it."""
    from IPython.display import display

    try:
        display(block.report())  # type: ignore[no-untyped-call]
    except GpudiagError as error:
        _say(error)
    except Exception as error:
        print(f"gpudiag: no report: {type(error).__name__}: {error}", file=sys.stderr)


def _shown_errors(work: Any) -> Any:
    """What `work` gives; an error of ours is a line and a hint in the cell, and no traceback."""
    try:
        return work()
    except GpudiagError as error:
        from IPython.core.error import UsageError as Shown

        raise Shown(f"{error.message}\n{error.hint}".strip()) from None


def _say(error: GpudiagError) -> None:
    print(f"gpudiag: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)
