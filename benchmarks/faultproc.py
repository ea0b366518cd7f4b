"""The processes of one run of the fault campaign, told by a variable of their environment."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

_PATIENCE_S = 60.0


def living(variable: str) -> dict[int, str]:
    """Processes that are no zombies and have `NAME=value` in their environment; command lines."""
    mark = variable.encode()
    found = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            proc = Path("/proc", entry)
            stat = (proc / "stat").read_bytes()
            if stat[stat.rfind(b")") + 2 :][:1] in b"ZX":
                continue
            if mark in (proc / "environ").read_bytes().split(b"\0"):
                line = (proc / "cmdline").read_bytes().rstrip(b"\0")
                found[int(entry)] = line.decode(errors="replace").replace("\0", " ")
    return found


def is_command(pid: int, line: str) -> bool:
    """Whether this is the recorded command: neither the recorder nor its helper of that name."""
    if " steps " not in line or " record " in line:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/exe").readlink().name != "sleep"
    return False


def exit_code(pid: int) -> int:
    """Of an orphan that came to this process (it must be a subreaper)."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        with contextlib.suppress(ChildProcessError):
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        time.sleep(0.01)  # not ours yet
    raise TimeoutError(f"process {pid} did not come here")
