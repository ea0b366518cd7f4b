"""`gpudiag record`: run a command, record it, pass its exit code on (docs/recording.md)."""

from __future__ import annotations

import argparse
import re

from gpudiag.commands import spoken
from gpudiag.errors import UsageError
from gpudiag.units import parse_duration

NAME = "record"
HELP = "run a command untouched and record GPUs, host and processes into run.csv"
EPILOG = """\
examples:
  gpudiag record -- python train.py --epochs 3
  gpudiag record -o big.csv --interval 5s -- torchrun --nproc_per_node 8 train.py
  gpudiag record --quiet -- sh -c 'python prepare.py && python train.py'
  srun gpudiag record -o run-%h.csv -- torchrun … train.py       a file a node
  gpudiag record --pid 12345                 a run that is going on, until it ends
  gpudiag record --duration 60s              this machine without a run, to compare with

The exit code is the command's own; 127 if it was not found, 126 if it cannot be executed.
An existing recording is never overwritten: the next free name (run-2.csv, …) is taken.
"""
_SHORTEST_S, _LONGEST_S = 0.2, 60.0
_GPU = re.compile(r"\d{1,4}|GPU-[0-9A-Fa-f-]{4,64}", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `record`; everything from the program on belongs to the command."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the recording to write (default: run.csv); %%h, %%r, %%j: host, node, job",
    )
    parser.add_argument(
        "--interval",
        metavar="TIME",
        default="1s",
        help="time between two samples, 0.2s to 60s (default: %(default)s)",
    )
    parser.add_argument(
        "--duration",
        metavar="TIME",
        help="end the recording after so long, 10m or 1h30m; a command is never ended by it",
    )
    parser.add_argument(
        "--pid", metavar="PID", help="record a process that is running already, until it ends"
    )
    parser.add_argument(
        "--gpus", metavar="LIST", help="record these GPUs only: indices or UUIDs, 0,1"
    )
    parser.add_argument(
        "--nvml", action="store_true", help="ask the NVML library (extra nvml), not nvidia-smi"
    )
    parser.add_argument(
        "--live", action="store_true", help="show one status line, if stderr is a terminal"
    )
    parser.add_argument(
        "--quiet", action="store_true", help="no summary at the end; only what went wrong"
    )
    spoken.add_argument(parser)
    # one positional, not two: argparse takes a -- that follows the first away
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM ARGUMENTS",
        help="the command to run, best after --, and its arguments, untouched",
    )


def run(args: argparse.Namespace) -> int:
    """Record the command; its exit code, or 0 for a recording without one."""
    from gpudiag.language import current
    from gpudiag.record.recorder import Options, record_and_leave

    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if command and args.pid is not None:
        raise UsageError(
            "--pid and a command: one of the two is recorded",
            "leave out --pid, or the command",
        )
    seconds = interval(args.interval)
    with spoken.language(args):
        options = Options(
            command=command,
            output=args.output,
            interval_s=seconds,
            quiet=args.quiet,
            live=args.live,
            nvml=args.nvml,
            pid=None if args.pid is None else process(args.pid),
            duration_s=None if args.duration is None else duration(args.duration, seconds),
            gpus=() if args.gpus is None else gpus(args.gpus),
            language=current(),
        )
        return record_and_leave(options)


def process(text: str) -> int:
    """A process number. Raises UsageError."""
    if not re.fullmatch(r"[1-9]\d{0,9}", text, re.ASCII):
        raise UsageError(f"--pid {text}: not the number of a process", "see: ps -ef, nvidia-smi")
    return int(text)


def duration(text: str, interval_s: float) -> float:
    """Seconds to record. Raises UsageError if not even one sample fits."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        raise UsageError(f"--duration {text}: not a duration", "write 60s, 10m or 1h30m") from None
    if seconds < interval_s:
        raise UsageError(f"--duration {text}: shorter than one interval", "write 60s, 10m or 1h30m")
    return seconds


def gpus(text: str) -> list[str]:
    """Indices or UUIDs of GPUs, as nvidia-smi -i takes them. Raises UsageError."""
    names = [name.strip() for name in text.split(",")]
    wrong = next((name for name in names if not _GPU.fullmatch(name)), None)
    if wrong is not None:
        raise UsageError(
            f"--gpus {text}: {wrong!r} is neither an index nor a UUID",
            "write 0,1 or GPU-… as nvidia-smi -L shows them",
        )
    return list(dict.fromkeys(names))


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
