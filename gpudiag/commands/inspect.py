"""`gpudiag inspect`: what a recording or log is, what was read of it, and what was not."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gpudiag.commands import reading, spoken
from gpudiag.errors import UnreadableError

if TYPE_CHECKING:
    from gpudiag.timeline.model import Timeline

NAME = "inspect"
HELP = "say what a recording or log is, what was read of it, and what was dropped and why"
EPILOG = """\
examples:
  gpudiag inspect gpu_log.csv                format, GPUs, time, columns, gaps, dropped lines
  gpudiag inspect gpu.csv --host cpu.log     the same with a log of the CPU side beside it
  nvidia-smi -q -x | gpudiag inspect -
  gpudiag inspect gpu_log.csv --all          every dropped line, not only the first ten
"""
_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    reading.add_arguments(parser)
    parser.add_argument("--all", action="store_true", help="list every dropped line and every gap")


def run(args: argparse.Namespace) -> int:
    """Print what was read; 0."""
    from gpudiag.report.clean import clean

    most = None if args.all else _SHOWN
    with spoken.language(args):
        for line in _lines(args, most):
            print(clean(line) if line else "")
    return 0


def _lines(args: argparse.Namespace, most: int | None) -> list[str]:
    from gpudiag.timeline.facts import told, told_host
    from gpudiag.timeline.host.read import read_host

    try:
        with reading.progress(args):
            timeline: Timeline = reading.read_timeline(args)
    except UnreadableError as error:
        if args.file == "-" or args.host or "--host" not in error.hint:
            raise
        return told_host(read_host(args.file), most)
    return told(timeline, most)
