"""The list of commands, and the only place that prints an error or sets an exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from gpudiag import __version__
from gpudiag.errors import EXIT_INTERNAL, EXIT_USAGE, GpudiagError

COMMANDS = (
    "record",
    "mark",
    "report",
    "check",
    "compare",
    "inspect",
    "convert",
    "rules",
    "demo",
    "doctor",
    "completion",
)

EPILOG = """\
examples:
  gpudiag record -- python train.py          record a training run into run.csv
  gpudiag report run.csv                     say where its GPU time went, as run.html
  gpudiag report gpu_log.csv                 the same for a log of nvidia-smi
  gpudiag compare before.csv after.csv       whether a change made it faster
  gpudiag inspect gpu_log.csv                what a log is, what was read of it, and what not
  gpudiag demo                               see it work without a GPU
  gpudiag doctor                             whether everything is in place to record here
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Errors for the user become one line and a hint."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except GpudiagError as error:
        _say(f"gpudiag: {error.message}", error.hint)
        return error.exit_code
    except BrokenPipeError:
        # the reader of our output (head, less) has gone: that is its right, and no error
        _drop_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # commands name the files they fail on; what is left is our own output
        _drop_output()
        _say(f"gpudiag: cannot write the output: {error.strerror or error}")
        return EXIT_USAGE
    except Exception as error:  # the last safeguard: a user never sees a traceback
        if os.environ.get("GPUDIAG_TRACEBACK"):
            raise
        _say(
            f"gpudiag: a mistake in gpudiag itself: {type(error).__name__}: {error}",
            "please report it with the file; GPUDIAG_TRACEBACK=1 shows where it happened",
        )
        return EXIT_INTERNAL


def _run(arguments: Sequence[str]) -> int:
    parser = _parser(arguments)
    args = parser.parse_args(arguments)
    if "run" not in args:
        parser.print_help()
        return 0
    return int(args.run(args))


def _open_closed_streams() -> None:
    """A stream that was closed before the start (`>&-`) reads as empty and takes anything."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _drop_output() -> None:
    """Let nothing that is still in a buffer fail again at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


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


def _say(*lines: str) -> None:
    """A line and its hint on stderr, with control characters from outside made visible."""
    with contextlib.suppress(OSError):
        for indent, line in zip(("", "  "), lines, strict=False):
            if line:
                visible = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
                print(indent + visible, file=sys.stderr, flush=True)
