"""Every code block of README.md and docs/*.md runs, page by page (docskit has the tables)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docskit import (
    ANSWERS,
    EXEMPT,
    FIGURES,
    NAMES,
    PAGES,
    ROOT,
    Block,
    blocks,
    commands,
    machine,
    shorter,
)

import gpudiag
from gpudiag.diagnose import load_rules, run_rule_tests
from gpudiag.diagnose.thresholds import with_thresholds
from gpudiag.resources import rules_dir

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="records, and runs bash")
PATIENCE_S = 300
CUT_SHORT = "141"  # SIGPIPE: whoever reads the output (head) had enough


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def victim() -> Iterator[str]:
    """A process that is going on for a moment, to be looked at with --pid."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(5)"])
    yield str(process.pid)
    process.kill()
    process.wait()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_runs(
    page: Path, folder: Path, victim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a page WHEN its blocks run from top to bottom THEN none of them fails."""
    told = {**machine(folder, page), "PID_OF_A_RUN": victim, "PYTHONPATH": str(ROOT)}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{folder / '.bin'}{os.pathsep}{os.environ['PATH']}")
    namespace: dict[str, Any] = {}
    exec(NAMES, namespace)
    cells: list[Block] = []
    for block in blocks(page):
        if block.language in ("sh", "bash", "console"):
            _shell(block, folder)
        elif block.language == "python":
            code = compile(block.text, block.where, "exec")
            if not block.exempt:
                exec(code, namespace)
        elif block.language == "ipython":
            cells.append(block)
        elif block.language == "toml":
            _toml(block, folder)
        elif block.language in ("zsh", "fish"):
            _parsed(block, block.text, block.language)
        elif block.language == "json":
            json.loads(block.text)
        else:
            _figure(block, folder)
    if cells:
        _cells(cells, folder)


def _shell(block: Block, folder: Path) -> None:
    text = commands(block.text) if block.language == "console" else block.text
    _parsed(block, text, "bash")
    if block.exempt:
        return
    failures = folder / ".failures"
    failures.write_text("")
    trap = "set -o pipefail\n"
    trap += f'trap \'printf "%s %s\\n" $? "$BASH_COMMAND" >> {failures}\' ERR\n'
    done = subprocess.run(
        ["bash", "-c", trap + shorter(text)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )
    unanswered = [
        line
        for line in failures.read_text().splitlines()
        for code, _, command in [line.partition(" ")]
        if code != CUT_SHORT
        and not (code.isdigit() and int(code) in ANSWERS and ANSWERS[int(code)].search(command))
    ]
    assert not unanswered, f"{block.where}: {unanswered}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, f"{block.where}: {done.stderr}"


def _parsed(block: Block, text: str, shell: str) -> None:
    """Let a shell read the text without running it; one that is not here cannot."""
    if shutil.which(shell):
        done = subprocess.run(
            [shell, "-n"], input=text, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{block.where}: {done.stderr}"


def _toml(block: Block, folder: Path) -> None:
    told = tomllib.loads(block.text)
    path = folder / f"{told.get('name', 'thresholds')}.toml"
    path.write_text(block.text, encoding="utf-8")
    if "code" in told:
        rules = load_rules([path])
        assert not [result for result in run_rule_tests(rules) if result.failure], block.where
    elif any(key.startswith("GD") for key in told):
        with_thresholds(load_rules([rules_dir()]), path)


def _figure(block: Block, folder: Path) -> None:
    """A block that is no code, on a page that is known to have one."""
    assert block.language in ("", "text"), f"{block.where}: nothing runs {block.language}"
    assert block.page in FIGURES, f"{block.where}: say its language, so that it is run"
    if block.text.startswith("# gpudiag run"):
        path = folder / "shown.csv"
        path.write_text(block.text, encoding="utf-8")
        assert len(gpudiag.read(path).frame) > 0


def _cells(cells: list[Block], folder: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    sources = [NAMES, *(block.text.rstrip("\n") for block in cells)]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
    client = nbclient.NotebookClient(
        notebook, timeout=PATIENCE_S, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    told = [o.text for cell in notebook.cells for o in cell.outputs if o.get("name") == "stderr"]
    assert not [text for text in told if "UsageError" in text], told


@pytest.mark.parametrize(("page", "start", "why"), EXEMPT)
def test_what_is_exempt_is_there(page: str, start: str, why: str) -> None:
    """GIVEN the list of blocks that do not run THEN each exists, and has its reason."""
    path = next(path for path in PAGES if path.name == page)
    assert [block for block in blocks(path) if block.text.startswith(start)]
    assert why


def test_pages_with_figures_have_them() -> None:
    """GIVEN the list of pages with blocks that are no code THEN each still has one."""
    found = {b.page for page in PAGES for b in blocks(page) if b.language in ("", "text")}
    assert found == set(FIGURES)


@pytest.mark.parametrize(
    "text", ["false\n", "true\nno-such-command --x\ntrue\n", "cat nowhere | head -1\n", "if true\n"]
)
def test_a_shell_block_that_fails_is_found(folder: Path, text: str) -> None:
    """GIVEN a block of which one command fails, or that is no shell THEN the test says where."""
    with pytest.raises(AssertionError, match=r"page\.md:7"):
        _shell(Block("page.md", 7, "sh", text), folder)


def test_blocks_are_found(tmp_path: Path) -> None:
    """GIVEN fences of several lengths, in a list too THEN each block has its language and line;
    one that is never closed is a mistake."""
    page = tmp_path / "page.md"
    page.write_text("a\n```sh\nx\n```\n- b\n  ````text\n  ```\n  ````\n```console\n$ y\nz\n```\n")
    found = blocks(page)
    assert [(b.line, b.language) for b in found] == [(2, "sh"), (6, "text"), (9, "console")]
    assert commands(found[2].text) == "y\n"
    page.write_text("```sh\nx\n")
    with pytest.raises(ValueError, match="never closed"):
        blocks(page)


def test_what_takes_long_is_cut_short() -> None:
    """GIVEN commands that take a minute THEN the test runs them for a moment, comments kept."""
    assert shorter("gpudiag demo --list   # all\n") == "gpudiag demo --list   # all\n"
    assert shorter("gpudiag demo -o d  # one\n") == "gpudiag demo -o d --seconds 2  # one\n"
    assert shorter("gpudiag record --pid 123 --duration 60s\n") == (
        "gpudiag record --pid $PID_OF_A_RUN --duration 1s\n"
    )
