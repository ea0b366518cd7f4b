"""① Build a recording: the facts of its start line, its file, its samplers."""

from __future__ import annotations

import itertools
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpudiag import __version__
from gpudiag.masking import masked_command
from gpudiag.record import environment, host
from gpudiag.record.cgroup import Cgroup
from gpudiag.record.launch import Launcher
from gpudiag.record.sampler import Sampler
from gpudiag.record.writing import Writer
from gpudiag.timeline.columns import COLUMNS
from gpudiag.timeline.writer import RunFile

if TYPE_CHECKING:
    from gpudiag.record.recorder import Options


def make_sampler(options: Options, launcher: Launcher, wanted: Path, started: float) -> Sampler:
    """The sampler of a run that has just been started. Raises OSError if no file can be made."""
    warnings.simplefilter("ignore")  # libraries must not write to the command's terminal
    cores = host.usable_cores(launcher.pid)
    cgroup = Cgroup.of(launcher.pid or os.getpid())
    facts = start_facts(options, started, cores, cgroup)
    columns = [c.name for c in COLUMNS if c.scope not in ("gpu", "rank")]
    writer = Writer(new_file(wanted, facts, columns))
    sampler = Sampler(launcher, writer, options, started, cores, cgroup)
    listen_for_marks(sampler, launcher)
    return sampler


def listen_for_marks(sampler: Sampler, launcher: Launcher) -> None:
    """Let the run's processes write events, where the system can tell who is who."""
    if sys.platform != "linux" or not launcher.pid:
        return
    from gpudiag.record.linux.marks import Marks

    try:
        marks = Marks(launcher.attached_to or os.getpid(), sampler.mark)
    except OSError as error:
        text = f"marks cannot be taken: {error.strerror}"
        sampler.mark("note", text, {"source": "marks"}, time.monotonic())
    else:
        sampler.before_close.append(marks.close)


def new_file(wanted: Path, facts: dict[str, Any], columns: list[str]) -> RunFile:
    """The recording under the wanted name, or the next free one (run-2.csv, run-3.csv, …)."""
    if wanted.exists() and wanted.stat().st_size == 0:
        wanted.unlink()  # made for us, by mktemp for instance
    for number in itertools.count(1):
        name = wanted.name if number == 1 else f"{wanted.stem}-{number}{wanted.suffix}"
        try:
            return RunFile(wanted.with_name(name), facts, columns)
        except FileExistsError:
            continue
    raise AssertionError


def start_facts(
    options: Options, started: float, cores: list[int], cgroup: Cgroup | None
) -> dict[str, Any]:
    """The start line (docs/format.md), before anything is known about GPUs."""
    begun = datetime.now().astimezone() - timedelta(seconds=time.monotonic() - started)
    limits = cgroup.limits() if cgroup else None
    quota = limits["cpu_quota_cores"] if limits else None
    effective = float(len(cores)) if quota is None else min(float(len(cores)), quota)
    told = _subject(options)
    return {
        "time": begun.isoformat(timespec="milliseconds"),
        "gpudiag": __version__,
        "mode": told.mode,
        "command": masked_command(told.command),
        **({} if told.cwd is None else {"cwd": told.cwd}),
        **({} if options.pid is None else {"pid": options.pid}),
        "interval_s": options.interval_s,
        **({"gpus_asked": list(options.gpus)} if options.gpus else {}),
        "gpus": [],
        "gpu_source": {
            "tool": "nvidia-smi",
            "status": "failed",
            "text": "the recording ended before nvidia-smi was asked",
        },
        "host": {
            **host.facts(cores),
            "effective_cores": round(effective, 2),
            "cgroup": limits,
        },
        "env": environment.settings(told.environ),
        "rank": environment.rank(told.environ),
    }


class _Subject(NamedTuple):
    """What is recorded."""

    mode: str
    command: Sequence[str]
    cwd: str | None
    environ: Mapping[str, str]


def _subject(options: Options) -> _Subject:
    if options.command:
        return _Subject("command", options.command, str(Path.cwd()), os.environ)
    if options.pid is None:
        return _Subject("machine", (), None, os.environ)
    from gpudiag.record.onlooker import Attached

    attached = Attached(options.pid)
    return _Subject("process", attached.command(), attached.cwd(), attached.environ())
