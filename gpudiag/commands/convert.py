"""`gpudiag convert`: any log that can be read, as run.csv."""

from __future__ import annotations

import argparse
import os
import sys

from gpudiag.commands import reading, writing
from gpudiag.errors import UsageError

NAME = "convert"
HELP = "write any recording or log that can be read as run.csv (format 1)"
EPILOG = """\
examples:
  gpudiag convert gpu_log.csv -o run.csv
  gpudiag convert dmon.log --interval 1s -o run.csv     a log without times needs --interval
  gpudiag convert gpu.csv --host cpu.log -o run.csv     both sides in one file
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    reading.add_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True,
        help="the run.csv to write; - is standard output",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace OUT if it exists")


def run(args: argparse.Namespace) -> int:
    """Write the file; 0."""
    target = None
    if args.output != "-":
        target = writing.target(
            args.output, (args.file, args.host), replace=lambda _: args.force, refusal=""
        )
    from gpudiag.timeline.converted import run_csv

    with reading.progress(args):
        pieces = run_csv(reading.read_timeline(args))
    if target is None:
        for piece in pieces:
            sys.stdout.write(piece)
        return 0
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            for piece in pieces:
                file.write(piece)
        temporary.replace(target)
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror}", "choose another place with -o"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
    print(f"{target}: gpudiag report {target} says where the GPU time went", file=sys.stderr)
    return 0
