"""What the tests of the recorder share: starting it for real, and reading what it wrote."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = str(Path(__file__).with_name("programs.py"))
PATIENCE_S = 60.0
QUIET = ("--quiet", "--interval", "0.2")
# a shell without an nvidia-smi, so that a machine with a GPU tests the same thing
PLAIN_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


def environment(**more: str) -> dict[str, str]:
    """The environment of a recording without any GPU; `more` comes on top."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PATH": PLAIN_PATH, **more}


def recorder(*command: str, options: tuple[str, ...] = QUIET) -> list[str]:
    """The command line that records `command`."""
    return [sys.executable, "-m", "gpudiag", "record", *options, "--", *command]


def program(name: str, *arguments: object) -> list[str]:
    """The command line of one of `programs`."""
    return [sys.executable, PROGRAMS, name, *map(str, arguments)]


def start(
    *command: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    options: tuple[str, ...] = QUIET,
    **more: Any,
) -> subprocess.Popen[bytes]:
    """Start the recorder on `command` in the folder `cwd`."""
    return subprocess.Popen(
        recorder(*command, options=options), cwd=cwd, env=dict(env or environment()), **more
    )


def run(
    *command: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    options: tuple[str, ...] = QUIET,
    **more: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Record `command` to its end."""
    return subprocess.run(
        recorder(*command, options=options),
        cwd=cwd,
        env=dict(env or environment()),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        **more,
    )


def wait_for(condition: Callable[[], Any], what: str = "") -> Any:
    """The first true value of `condition`; fails when it does not come."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):  # what is looked at may not be there yet
            if value := condition():
                return value
        time.sleep(0.01)
    raise AssertionError(f"waited in vain: {what or condition}")


def lines(path: Path) -> list[str]:
    """The lines of a file that may not exist yet."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def hold(folder: Path, code: int = 6) -> list[str]:
    """A command that runs until the file `stop` exists (a minute or two at most)."""
    loop = f"while [ ! -e {folder / 'stop'} ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n + 1)); done"
    return ["sh", "-c", f"n=0; {loop}; exit {code}"]


def rows(folder: Path, count: int = 2, column: str = "t_s") -> None:
    """Wait until the recording in `folder` has so many figures in a column."""
    wait_for(
        lambda: len(Recorded(folder / "run.csv").column(column)) >= count,
        f"{count} figures of {column}",
    )


class Recorded:
    """A run.csv, read with nothing but the standard library."""

    def __init__(self, path: Path) -> None:
        text = path.read_text()
        plain = [line for line in text.splitlines() if not line.startswith("#")]
        self.rows = list(csv.DictReader(plain))
        self.columns = plain[0].split(",")
        self.start = self._facts(text, "start")[0]
        self.events = self._facts(text, "event")
        self.end = next(iter(self._facts(text, "end")), None)
        self.first_line = text.splitlines()[0]

    @staticmethod
    def _facts(text: str, kind: str) -> list[dict[str, Any]]:
        mark = f"# {kind} "
        return [
            json.loads(line.removeprefix(mark))
            for line in text.splitlines()
            if line.startswith(mark)
        ]

    def column(self, name: str) -> list[float]:
        """The figures of a column, empty cells left out; none if there is no such column yet."""
        return [float(row[name]) for row in self.rows if row.get(name)]

    def kinds(self) -> list[str]:
        """The kinds of its events."""
        return [event["kind"] for event in self.events]


def children_of(pid: int) -> list[int]:
    """The PIDs of the living children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if int(stat[stat.rfind(")") + 2 :].split()[1]) == pid:
                found.append(int(entry.name))
    return found


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rfind(")") + 2] not in "ZX"
