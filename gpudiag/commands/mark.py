"""`gpudiag mark`: write a line into the recording of the run that this command is part of."""

from __future__ import annotations

import argparse

from gpudiag.errors import UsageError

NAME = "mark"
HELP = "write an event into the recording that encloses this command"
EPILOG = """\
examples:
  gpudiag mark epoch 3                       in a script that gpudiag record runs
  python -c 'import gpudiag; gpudiag.mark("epoch 3")'

From Python, gpudiag.mark("epoch 3") is a thousand times cheaper, and it never fails: it returns
False where nothing records.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The text; several words need no quotes."""
    parser.add_argument("text", nargs="+", help="what to write")


def run(args: argparse.Namespace) -> int:
    """Deliver the mark; 0. Raises UsageError if nothing records this process."""
    from gpudiag.record.marking import mark_and_wait

    if not mark_and_wait(" ".join(args.text)):
        raise UsageError(
            "no recording encloses this command, so there is nothing to mark",
            "start the script that calls it with: gpudiag record -- SCRIPT",
        )
    return 0
