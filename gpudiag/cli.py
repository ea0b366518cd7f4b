"""The list of commands, and the only place that prints an error or sets an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from gpudiag import __version__
from gpudiag.errors import GpudiagError

COMMANDS = ("record", "mark", "report", "check", "inspect", "convert", "rules", "demo")

EPILOG = """\
examples:
  gpudiag record -- python train.py          record a training run into run.csv
  gpudiag report run.csv                     say where its GPU time went, as run.html
  gpudiag report gpu_log.csv                 the same for a log of nvidia-smi
  gpudiag inspect gpu_log.csv                what a log is, what was read of it, and what not
  gpudiag demo                               see it work without a GPU
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Errors for the user become one line and a hint."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        parser = _parser(arguments)
        args = parser.parse_args(arguments)
        if "run" not in args:
            parser.print_help()
            return 0
        return int(args.run(args))
    except GpudiagError as error:
        _say(f"gpudiag: {error.message}")
        if error.hint:
            _say(f"  {error.hint}")
        return error.exit_code
    except BrokenPipeError:
        # the reader of our output (head, less) has gone: that is its right, and no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        return 130


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser; only the module of the command in use is imported."""
    parser = argparse.ArgumentParser(
        prog="gpudiag",
        description="Record a training run from outside; say where its GPU time went, and why.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gpudiag {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    wanted = next((word for word in arguments if not word.startswith("-")), "")
    for name in COMMANDS:
        if wanted in COMMANDS and name != wanted:
            continue
        module = _module(name)
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.HELP,
            epilog=module.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _module(name: str) -> ModuleType:
    return import_module(f"gpudiag.commands.{name}")


def _say(line: str) -> None:
    """One line on stderr, with control characters of text from outside made visible."""
    visible = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    print(visible, file=sys.stderr)
