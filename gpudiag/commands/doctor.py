"""`gpudiag doctor`: is all in place to record here, and if not, what to do (docs/doctor.md)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudiag import __version__
from gpudiag.commands import spoken
from gpudiag.errors import UsageError
from gpudiag.language import tr
from gpudiag.units import parse_duration

if TYPE_CHECKING:
    from gpudiag.doctor.result import Result

NAME = "doctor"
HELP = "say whether everything is in place to record here, and what to do if not"
EPILOG = """\
The exit code is 0 if nothing is at fault (a warning is no fault), else 1. Nothing is changed.

examples:
  gpudiag doctor                             before the first recording, or when a GPU is not seen
  gpudiag doctor -o /data/run.csv            whether the recording could be written there
  gpudiag doctor --json                      for programs
  srun gpudiag doctor                        on the node where the job will run
"""
SCHEMA_VERSION = 1
ROOT = Path("/")  # of the machine that is looked at
_LONGEST_S = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="run.csv",
        help="the recording that is to be written (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", metavar="TIME", default="15s",
        help="how long nvidia-smi may take to answer (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    spoken.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print what was found; 1 if something is at fault, else 0."""
    from gpudiag.doctor.checks import check
    from gpudiag.doctor.machine import gather

    machine = gather(ROOT, os.environ, Path(args.output), timeout(args.timeout))
    with spoken.language(args, terminal=sys.stdout.isatty()):
        results = check(machine)
        if args.json:
            print(json.dumps(document(results), indent=2, allow_nan=False))
        else:
            print("\n".join(lines(results)))
    return 0 if ready(results) else 1


def timeout(text: str) -> float:
    """Seconds to wait for nvidia-smi. Raises UsageError."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST_S:
        raise UsageError(f"--timeout {text}: not a time up to 5m", "write 15s or 1m")
    return seconds


def ready(results: Sequence[Result]) -> bool:
    """Whether nothing is at fault."""
    return all(result.level != "fault" for result in results)


def lines(results: Sequence[Result]) -> list[str]:
    """A line a result and one for its fix, and the outcome."""
    from gpudiag.report.clean import clean

    words = levels()
    wide = max(map(len, words.values()))
    names = max(len(result.name) for result in results)
    said = []
    for result in results:
        said.append(
            f"{words[result.level]:{wide}}  {result.name:{names}}  {clean(result.fact, 400)}"
        )
        if result.fix:
            fix = tr("fix: {what}", what=clean(result.fix, 400))
            said.append(f"{'':{wide}}  {'':{names}}  {fix}")
    said.append("")
    said.append(outcome(results))
    return said


def levels() -> Mapping[str, str]:
    """The word that is shown for a level."""
    return {
        "ok": tr("ok"),
        "warning": tr("warning"),
        "fault": tr("fault"),
        "unknown": tr("cannot tell"),
    }


def outcome(results: Sequence[Result]) -> str:
    """The last line: whether recording will work, and what to mend first."""
    faults = [result.name for result in results if result.level == "fault"]
    warnings = [result.name for result in results if result.level == "warning"]
    if faults:
        return tr("Not ready to record GPUs. To mend: {names}", names=", ".join(faults))
    if warnings:
        return tr("Ready to record. Worth a look: {names}", names=", ".join(warnings))
    return tr("Ready to record: gpudiag record -- python train.py")


def document(results: Sequence[Result]) -> dict[str, Any]:
    """The results for programs: schema version 1, described in docs/doctor.md."""
    from gpudiag.report.clean import clean

    return {
        "schema_version": SCHEMA_VERSION,
        "made_by": f"gpudiag {__version__}",
        "ready": ready(results),
        "checks": [
            {
                "name": result.name,
                "level": result.level,
                "fact": clean(result.fact, 400),
                "fix": clean(result.fix, 400),
            }
            for result in results
        ],
    }
