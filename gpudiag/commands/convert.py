"""`gpudiag convert`: any log that can be read, as run.csv."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from gpudiag.commands import reading
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
    target = None if args.output == "-" else Path(args.output)
    if target is not None:
        _may_write(target, args)
    from gpudiag.timeline.converted import run_csv

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


def _may_write(target: Path, args: argparse.Namespace) -> None:
    """Raise UsageError before the work is done, if `target` cannot or should not be written."""
    try:
        if target.is_dir():
            raise UsageError(f"{target} is a folder", "name a file with -o FILE")
        if not target.parent.is_dir():
            raise UsageError(f"the folder {target.parent} does not exist", "make it first")
        for source in (args.file, args.host):
            there = source and source != "-" and target.exists() and Path(source).exists()
            if there and target.samefile(source):
                raise UsageError(f"{target} is the log itself", "name another file with -o")
        if target.exists() and not args.force:
            raise UsageError(f"{target} exists", "add --force to replace it")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot write {target}: {error}", "choose another place with -o"
        ) from None
