"""`gpudiag demo`: what it refuses, what it says, and a short real run of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
