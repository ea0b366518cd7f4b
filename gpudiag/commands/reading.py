"""The arguments and the work that all commands share which read a recording or a log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiag.commands import spoken
from gpudiag.errors import UsageError
from gpudiag.units import parse_duration

if TYPE_CHECKING:
    from gpudiag.timeline.model import Timeline

_SLOW_BYTES = 5_000_000  # about where reading starts to take a second


def add_arguments(
    parser: argparse.ArgumentParser, *, host: bool = True, several: bool = False
) -> None:
    """Declare FILE (of `several` machines) and what helps to read it."""
    if several:
        parser.add_argument(
            "files", metavar="FILE", nargs="+",
            help="the recording or log; - is standard input; of a run on several machines one each",
        )  # fmt: skip
        parser.add_argument(
            "--one-run", action="store_true",
            help="take several FILEs for machines of one run, even if they do not look like it",
        )  # fmt: skip
    else:
        parser.add_argument(
            "file", metavar="FILE", help="the recording or log; - is standard input"
        )
    add_time_arguments(parser)
    spoken.add_argument(parser)
    if host:
        parser.add_argument(
            "--host", metavar="LOG",
            help="a log of the CPU side of the same run, to be put beside it: of sar, psrecord, "
            "con/duct, W&B or nvitop",
        )  # fmt: skip


def add_time_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what helps to read logs without times or zones."""
    parser.add_argument(
        "--interval", metavar="TIME", type=_interval,
        help="time between two samples, for a log that has no timestamps: 1s, 500ms",
    )  # fmt: skip
    parser.add_argument(
        "--timezone", metavar="ZONE",
        help="time zone of a log whose times have none: Europe/Berlin, UTC, +02:00",
    )  # fmt: skip


def read_run(args: argparse.Namespace) -> Timeline:
    """The Timeline of FILE, or of the run on several machines that FILEs are of; GpudiagError."""
    if len(args.files) == 1:
        return read_timeline(_of_one(args, args.files[0]))
    if args.host:
        raise UsageError("--host goes with a single FILE", "leave it out, or name one FILE")
    if args.files.count("-") > 1:
        raise UsageError("- is standard input, and can be only one FILE", "name the files")
    from gpudiag.timeline.cluster.merge import merge_nodes

    timelines = [read_timeline(_of_one(args, file)) for file in args.files]
    return merge_nodes(timelines, one_run=args.one_run)


def _of_one(args: argparse.Namespace, file: str) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(args), "file": file})


def read_timeline(args: argparse.Namespace) -> Timeline:
    """The Timeline that `args` ask for. Raises GpudiagError."""
    from gpudiag.timeline.read import read

    if not args.timezone and not args.host:  # a recording needs neither, and they take time to load
        return read(args.file, interval_s=args.interval)
    from gpudiag.timeline.host.merge import merge
    from gpudiag.timeline.host.read import read_host
    from gpudiag.timeline.zone import parse_zone, zoned, zoned_host

    zone = parse_zone(args.timezone) if args.timezone else None
    timeline = read(args.file, interval_s=args.interval)
    if zone:
        timeline = zoned(timeline, zone)
    if args.host:
        host = read_host(args.host)
        timeline = merge(timeline, zoned_host(host, zone) if zone else host)
    return timeline


@contextmanager
def progress(args: argparse.Namespace) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal's stderr while a large file is read; what it gives names the next step.

    Nothing is shown where it could not be seen, or would be gone before it is read.
    """
    files = args.files if hasattr(args, "files") else [args.file]
    if not sys.stderr.isatty() or sum(map(_size, files)) < _SLOW_BYTES:
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    from gpudiag.timeline.progress import watched

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=1.0)

        def step(name: str) -> None:
            # How long what follows takes is not known: the bar only shows that it works.
            bar.update(task, description=name, total=None)

        with watched(lambda share: bar.update(task, completed=share)):
            yield step


def _size(path: str) -> int:
    """Bytes of the file, 0 if that cannot be told."""
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0


def _interval(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds <= 0:
        raise argparse.ArgumentTypeError("the interval must be longer than 0")
    return seconds
