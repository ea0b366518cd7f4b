"""`gpudiag demo`: what it refuses, what it says, and a short real run of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from gpudiag.cli import main
from gpudiag.commands import demo
from gpudiag.demo.scenarios import SCENARIOS
from gpudiag.errors import UsageError

if TYPE_CHECKING:
    from tests.demo.conftest import Simulated


def test_the_list_names_every_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN --list WHEN run THEN a line a scenario, and nothing is recorded."""
    assert main(["demo", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(SCENARIOS)


@pytest.mark.parametrize("text", ["x", "0", "-3", "2d", "1e99", ""])
def test_odd_durations_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a duration that makes no sense WHEN run THEN one line and exit code 2."""
    assert main(["demo", f"--seconds={text}"]) == 2
    assert "--seconds" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["run.csv", "run.html"])
def test_a_users_own_file_is_never_replaced(tmp_path: Path, name: str) -> None:
    """GIVEN a run.csv or run.html that no demo wrote WHEN run there THEN refused, and kept."""
    mine = tmp_path / name
    mine.write_text("t_s,gpu0_util_pct\n")
    with pytest.raises(UsageError, match="is no recording of the demo"):
        demo._outputs(tmp_path)
    assert mine.read_text() == "t_s,gpu0_util_pct\n"


def test_a_folder_that_cannot_be_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN -o below a file WHEN run THEN one line and exit code 2."""
    (tmp_path / "file").touch()
    assert main(["demo", "-o", str(tmp_path / "file" / "sub")]) == 2
    assert "Not a directory" in capsys.readouterr().err


def test_a_real_gpu_is_noticed(smi: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN an nvidia-smi that lists a GPU, or fails WHEN asked THEN named, or none."""
    monkeypatch.setenv("PATH", str(smi.folder), prepend=":")
    monkeypatch.setenv("GPUDIAG_SIM_DIR", str(smi.folder))
    assert demo._real_gpu().startswith("GPU 0: Simulated GPU")
    smi.scenario(faults=[{"kind": "start-error", "name": "driver-not-loaded"}])
    assert demo._real_gpu() == ""
    monkeypatch.setenv("PATH", "/nonexistent")
    assert demo._real_gpu() == ""


def test_a_short_demo_writes_both_files_and_can_be_repeated(tmp_path: Path) -> None:
    """GIVEN an empty folder WHEN the demo runs for a moment, twice THEN a recording of the
    simulated GPU, a page, a last line that names it, and no file besides."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "gpudiag", "demo", "--seconds", "3", "-o", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "The GPU is simulated" in done.stdout
        assert "run.html" in done.stdout.splitlines()[-1]
    recorded = (tmp_path / "run.csv").read_text()
    assert recorded.startswith("# gpudiag run, format 1\n")
    assert "Simulated GPU (gpudiag demo)" in recorded
    assert "\n# end " in recorded
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.csv", "run.html"]


def test_a_training_that_fails_passes_its_exit_code_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a program that ends with 3 WHEN recorded by the demo THEN 3, and no report."""
    monkeypatch.setattr(demo, "_record", lambda *_: 3)
    monkeypatch.setattr(demo, "_real_gpu", lambda: "")
    assert main(["demo", "-o", str(tmp_path), "--seconds", "1"]) == 3
    assert not (tmp_path / "run.html").exists()


def test_a_terminated_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    """GIVEN a demo that records WHEN it gets SIGTERM THEN recorder and training end before it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "gpudiag", "demo", "-o", str(tmp_path)],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not list(scratch.glob("gpudiag-demo-*/state/gpu0.*")):
        assert process.poll() is None
    family = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    assert process.wait(timeout=60) == 143
    assert psutil.wait_procs(family, timeout=30)[1] == []
    assert list(scratch.iterdir()) == []
