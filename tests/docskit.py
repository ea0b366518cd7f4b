"""The code blocks of the documentation, and what stands in for a reader's machine in a test.

Every fenced block of README.md and docs/*.md is run (tests/test_docs_run.py): shell blocks in a
folder of the page's own, Python blocks in one namespace a page, cells in a kernel. What a page
takes for granted stands in the tables below, and nothing else is added.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from gpudiag.demo import faults
from gpudiag.demo.nvidia_smi import install

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUNS = ROOT / "tests" / "fixtures" / "runs"
_FENCE = re.compile(r"^ *(?P<ticks>```+|~~~+) *(?P<info>[^`\n]*)$")


def _of_machine(place: int) -> str:
    """The recording of one machine of a run on several."""
    text = (RUNS / "demo-starvation.csv").read_text(encoding="utf-8")
    host, rank = f'"hostname":"node{place}"', f'"rank":{{"SLURM_NODEID":"{place}"'
    text = re.sub(r'"hostname":"[^"]*"', host, text, count=1)
    return re.sub(r'"rank":\{', f"{rank}", text, count=1).replace(f'{rank}"', f'{rank},"')


# files that a reader has: copies of fixtures, or texts
FILES: dict[str, Path | str] = {
    "run.csv": RUNS / "demo-starvation.csv",
    "before.csv": RUNS / "demo-starvation.csv",
    "after.csv": RUNS / "demo-starvation.csv",
    "run-node0.csv": _of_machine(0),
    "run-node1.csv": _of_machine(1),
    "gpu_log.csv": ROOT / "tests" / "fixtures" / "tutorial" / "gpu_log_1gpu.csv",
    "train.py": "import sys, time\ntime.sleep(0.3)\nprint('trained', *sys.argv[1:])\n",
    "prepare.py": "print('prepared')\n",
}
# what a block of Python takes for granted
NAMES = """
import pandas as pd
from pathlib import Path
folder = Path("simulated")
folder.mkdir(exist_ok=True)
def train():
    end = __import__("time").monotonic() + 0.7
    while __import__("time").monotonic() < end:
        pass
"""
# programs of a cluster: the stub runs the command that they are given, as far as there is one
STUBS = {
    "srun": 'while [ $# -gt 0 ] && [[ $1 == -* ]]; do shift; done; exec "$@"',
    "torchrun": 'while [ $# -gt 0 ] && [[ $1 != *.py ]]; do shift; done; exec python "$@"',
    "docker": 'while [ $# -gt 0 ] && [[ $1 != gpudiag ]]; do shift; done; exec "$@"',
}
# what takes long in earnest is cut short
SHORTER = (
    (re.compile(r"(gpudiag demo\b(?![^\n#]*--list)[^\n#]*?)( *#| *$)", re.M), r"\1 --seconds 2\2"),
    (re.compile(r"--duration \S+"), "--duration 1s"),
    (re.compile(r"--pid (\d+|PID)\b"), "--pid $PID_OF_A_RUN"),
    (re.compile(r"--open\b"), ""),  # no browser in a test
)
# commands whose exit code is an answer and not a mistake
ANSWERS = {1: re.compile(r"gpudiag (check|compare|doctor)\b"), 2: re.compile(r"gpudiag mark\b")}
# (page, first line, why it does not run); its syntax is checked all the same
EXEMPT = (
    ("README.md", "make demo     # a simulated GPU", "sets up a virtual environment anew"),
    ("README.md", "pip install .", "installs into the environment of the test"),
)
# blocks without a language: no code, but for what is checked beside its name
FIGURES = {
    "design.md": "the flow as a picture",
    "format.md": "a recording: it is read",
    "recording.md": "the synopsis",
    "rules.md": "conditions of rules: the page is made from them, and a test holds it",
}


@dataclass(frozen=True)
class Block:
    """A fenced block: its page's name, its line, the language after the fence, its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def exempt(self) -> bool:
        return any(self.page == page and self.text.startswith(start) for page, start, _ in EXEMPT)


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order. Raises ValueError if one is never closed."""
    found: list[Block] = []
    opened: tuple[int, str, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        match = _FENCE.match(line)
        if opened is None and match:
            opened, lines = (number, match["ticks"], match["info"].strip()), []
        elif opened and match and not match["info"] and match["ticks"].startswith(opened[1]):
            found.append(Block(page.name, opened[0], opened[2], "\n".join(lines) + "\n"))
            opened = None
        else:
            lines.append(line)
    if opened:
        raise ValueError(f"{page.name}:{opened[0]}: a block that is never closed")
    return found


def shorter(text: str) -> str:
    """A shell block with what takes long cut short."""
    for pattern, instead in SHORTER:
        text = pattern.sub(instead, text)
    return text


def commands(text: str) -> str:
    """The commands of a `console` block: what follows a `$`."""
    return "".join(f"{line[2:]}\n" for line in text.splitlines() if line.startswith("$ "))


def machine(folder: Path, page: Path) -> dict[str, str]:
    """Make a reader's machine of `folder`; what it adds to the environment."""
    for name, content in FILES.items():
        if isinstance(content, Path):
            shutil.copy(content, folder / name)
        else:
            (folder / name).write_text(content, encoding="utf-8")
    _rules(folder / "my-rules", page)
    tools, live, log, home = (folder / name for name in (".bin", ".live", ".log", ".home"))
    for made in (tools, live, log, home):
        made.mkdir()
    faults.save(live, gpus=[{}])
    # a log that its reader would end with Ctrl-C after a while
    faults.save(log, gpus=[{}], clock="2026/03/01 10:00:00.000", ticks=120)
    install(tools).rename(tools / "simulated")
    python = sys.executable
    _script(tools / "gpudiag", f'exec {python} -m gpudiag "$@"')
    _script(tools / "python", f'exec {python} "$@"')
    _script(
        tools / "nvidia-smi",
        f'for w; do [ "$w" = -l ] && export GPUDIAG_SIM_DIR={log}; done\n'
        f'exec {tools}/simulated "$@"',
    )
    for name, text in STUBS.items():
        _script(tools / name, text)
    return {
        "GPUDIAG_SIM_DIR": str(live),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "HOME": str(home),  # whoever runs the tests has one of his own
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }


def _rules(folder: Path, page: Path) -> None:
    """The folder of the reader's own rules: those that stand on the page."""
    folder.mkdir()
    for block in blocks(page):
        name = re.search(r'^name = "([a-z0-9-]+)"$', block.text, re.M)
        if block.language == "toml" and name:
            (folder / f"{name[1]}.toml").write_text(block.text, encoding="utf-8")


def _script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
