"""`gpudiag record`: run a command, record it, pass its exit code on (docs/recording.md)."""

from __future__ import annotations

import argparse

from gpudiag.errors import UsageError
from gpudiag.units import parse_duration

NAME = "record"
HELP = "run a command untouched and record GPUs, host and processes into run.csv"
EPILOG = """\
examples:
  gpudiag record -- python train.py --epochs 3
  gpudiag record -o big.csv --interval 5s -- torchrun --nproc_per_node 8 train.py
  gpudiag record --quiet -- sh -c 'python prepare.py && python train.py'

The exit code is the command's own; 127 if it was not found, 126 if it cannot be executed.
An existing recording is never overwritten: the next free name (run-2.csv, …) is taken.
"""
_SHORTEST_S, _LONGEST_S = 0.2, 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `record`; everything from the program on belongs to the command."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the recording to write (default: run.csv)"
    )
    parser.add_argument(
        "--interval",
        metavar="TIME",
        default="1s",
        help="time between two samples, 0.2s to 60s (default: %(default)s)",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="no summary at the end; only what went wrong"
    )
    parser.add_argument("program", help="the command to run, best after --")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments, untouched")


def run(args: argparse.Namespace) -> int:
    """Record the command; its exit code."""
    from gpudiag.record.recorder import Options, record_and_leave

    options = Options(
        command=[args.program, *args.arguments],
        output=args.output,
        interval_s=interval(args.interval),
        quiet=args.quiet,
    )
    return record_and_leave(options)


def interval(text: str) -> float:
    """Seconds between two samples. Raises UsageError if that makes no sense."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        raise UsageError(
            f"--interval {text}: not a duration", "write 1s, 500ms or 0.2s to 60s"
        ) from None
    if seconds < _SHORTEST_S:
        raise UsageError(
            f"--interval {text}: shorter than 0.2s brings repeated readings, not more of them",
            "the driver itself averages over 1/6 s to 1 s, and polling it costs the run time",
        )
    if seconds > _LONGEST_S:
        raise UsageError(
            f"--interval {text}: longer than 60s",
            "the driver averages over its last second at most: more than 59 s in 60 s go unseen",
        )
    return seconds
