"""① Where a recording goes: the name that was asked for, and what stands in its way."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from gpudiag.errors import UsageError
from gpudiag.language import tr

_DEFAULT_NAME = "run.csv"


def wanted_path(output: str | None) -> Path:
    """Where the recording goes if that name is free. Raises UsageError on a file of another kind.

    Only a mistake on the command line is refused here: what the disk does later is not.
    """
    if output is not None:
        output = filled_in(output, os.environ)
    path = Path(os.path.realpath(output or _DEFAULT_NAME))
    try:
        mode = path.stat().st_mode
    except OSError:
        return path
    if stat.S_ISDIR(mode):
        raise UsageError(f"-o {output}: is a folder", "name a file in it")
    if output is None:
        return path
    if not stat.S_ISREG(mode):
        raise UsageError(f"-o {output}: is no regular file", "name a file that does not exist yet")
    with path.open("rb") as file:
        head = file.read(13)
    if head and head != b"# gpudiag run":
        raise UsageError(
            f"-o {output}: exists and is no recording of gpudiag",
            "name another file, so that nothing of yours is overwritten",
        )
    return path


def filled_in(name: str, environ: Mapping[str, str]) -> str:
    """`name` with %h (host), %r (number of the node), %j (job), %% (a per cent sign) filled in."""

    def first(*names: str) -> str:
        found = next((environ[name] for name in names if environ.get(name)), "0")
        return "".join(c if c.isalnum() or c in "-_." else "_" for c in found)

    def value(match: re.Match[str]) -> str:
        match match[0]:
            case "%h":
                return os.uname().nodename if hasattr(os, "uname") else first("COMPUTERNAME")
            case "%r":
                return first("SLURM_NODEID", "NODE_RANK", "GROUP_RANK")
            case "%j":
                return first("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
        return "%"

    return re.sub("%[hrj%]", value, name)


def obstacle_at(path: Path) -> str:
    """Why nothing can be written there, as far as a look from outside tells; empty if nothing."""
    folder = path.parent
    if not folder.is_dir():
        return tr("there is no folder {folder}", folder=folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        return tr("the folder {folder} is not writable", folder=folder)
    return ""
