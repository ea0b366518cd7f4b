"""The recorders that gpudiag is measured beside, each in the same throw-away environment."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = str(Path(__file__).with_name("programs.py"))
PACKAGES = {
    "psrecord": "psrecord",
    "con-duct": "con-duct",
    "mprof": "memory_profiler",
    "resource-tracker": "resource-tracker",
}


class Peer(NamedTuple):
    """`wrap(command, folder)` is the command line that records `command` once a second."""

    name: str
    wrap: Callable[[Sequence[str], Path], list[str]]


def install(folder: Path) -> Path:
    """Make a virtual environment with all of them (psutil comes along); its bin folder."""
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    # mprof needs setuptools on newer Pythons
    subprocess.run(
        [*pip, *PACKAGES.values(), "setuptools"],
        check=True,
        env=quiet,
        stderr=subprocess.DEVNULL,
    )
    # this checkout, by the script that an installation would make
    script = folder / "bin" / "gpudiag"
    script.write_text(
        f"#!{folder / 'bin' / 'python'}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from gpudiag.cli import main\nsys.exit(main())\n"
    )
    script.chmod(0o755)
    return folder / "bin"


def versions(binaries: Path) -> dict[str, str]:
    """Which versions were installed, by name."""
    code = "import importlib.metadata as m, sys; [print(m.version(n)) for n in sys.argv[1:]]"
    done = subprocess.run(
        [str(binaries / "python"), "-c", code, *PACKAGES.values(), "psutil"],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip([*PACKAGES, "psutil"], done.stdout.split(), strict=True))


def environment(binaries: Path) -> dict[str, str]:
    """An environment in which all of them are found."""
    path = f"{binaries}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return {**os.environ, "PATH": path}


def recorders(binaries: Path, *options: str) -> list[Peer]:
    """gpudiag first; `options` are for it alone."""
    python = str(binaries / "python")

    def gpudiag(command: Sequence[str], folder: Path) -> list[str]:
        output = ["-o", str(folder / "run.csv")]
        return [str(binaries / "gpudiag"), "record", "--quiet", *output, *options, "--", *command]

    def psrecord(command: Sequence[str], folder: Path) -> list[str]:
        log = ["--log", str(folder / "psrecord.txt"), "--interval", "1", "--include-children"]
        return [str(binaries / "psrecord"), shlex.join(command), *log]

    def con_duct(command: Sequence[str], folder: Path) -> list[str]:
        return [str(binaries / "con-duct"), "run", "-p", f"{folder}/duct_", *command]

    def mprof(command: Sequence[str], folder: Path) -> list[str]:
        log = ["-C", "-T", "1", "--nopython", "-o", str(folder / "mprof.dat")]
        return [str(binaries / "mprof"), "run", *log, *command]

    def resource_tracker(command: Sequence[str], folder: Path) -> list[str]:
        return [python, PROGRAMS, "track", *command]

    return [
        Peer("gpudiag", gpudiag),
        Peer("psrecord", psrecord),
        Peer("con-duct", con_duct),
        Peer("mprof", mprof),
        Peer("resource-tracker", resource_tracker),
    ]


def gnu_time() -> Peer | None:
    """GNU time (Debian: apt-get install time), which measures a command without sampling."""
    path = Path("/usr/bin/time")
    if not path.exists():
        return None
    return Peer("GNU time", lambda command, folder: [str(path), "-o", f"{folder}/time", *command])
