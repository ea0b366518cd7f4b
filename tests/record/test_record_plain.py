"""The plain launcher of other systems, and a recording whose parts fail."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from recordkit import Recorded, wait_for

from gpudiag.demo.nvidia_smi import install
from gpudiag.record import processes
from gpudiag.record.launch import Exit, PlainLauncher, StartError
from gpudiag.record.portable import PsutilReader
from gpudiag.record.recorder import Options, record

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sh")


def recorded(folder: Path, *command: str) -> tuple[Exit, Recorded]:
    options = Options(command, str(folder / "run.csv"), 0.2, True)
    done = record(options, PlainLauncher())
    return done.exit, Recorded(folder / "run.csv")


def until(folder: Path, pattern: str, count: int, code: int = 0) -> str:
    """A script that ends when so many lines of the recording match (a minute at most)."""
    enough = f"[ $(grep -c '{pattern}' {folder / 'run.csv'} 2>/dev/null || echo 0) -ge {count} ]"
    loop = f"until {enough} || [ $n -ge 1200 ]; do sleep 0.05; n=$((n + 1)); done"
    return f"n=0; {loop}; exit {code}"


def test_exit_code_and_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN the plain launcher and psutil alone THEN the code and the host are there."""
    monkeypatch.setattr(processes, "process_reader", PsutilReader)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    how, run_csv = recorded(tmp_path, "sh", "-c", until(tmp_path, "^[0-9]", 3, 7))
    assert how == Exit(7)
    assert run_csv.column("host_cpu_pct")
    assert max(run_csv.column("others")) >= 1  # sh, and what it runs


def test_death_by_signal(tmp_path: Path) -> None:
    """GIVEN a command killed by a signal THEN the exit code is the shell's for it."""
    how, _ = recorded(tmp_path, "sh", "-c", "kill -TERM $$")
    assert how == Exit(None, signal.SIGTERM)
    assert PlainLauncher().leave(how) == 143


def test_refusals(tmp_path: Path) -> None:
    """GIVEN what cannot be started THEN the codes are those of a shell, and nothing is written."""
    (tmp_path / "plain").write_text("x")
    for command, code in (("no-such-program", 127), (str(tmp_path / "plain"), 126)):
        with pytest.raises(StartError) as caught:
            recorded(tmp_path, command)
        assert caught.value.exit_code == code
    assert not (tmp_path / "run.csv").exists()


def test_gpu_through_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a simulated nvidia-smi THEN its readings come through the plain helper too."""
    install(tmp_path)
    monkeypatch.setenv("GPUDIAG_SIM_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "sim.json").write_text('{"buffering": "line"}')
    _, run_csv = recorded(tmp_path, "sh", "-c", until(tmp_path, "^# event .*gpu-stream-started", 1))
    assert run_csv.column("gpu0_util_pct")
    assert run_csv.start["gpu_source"]["status"] == "ok"


def test_one_broken_source_does_not_cost_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a kernel whose files cannot be read THEN the rest is recorded, and it is said once."""

    def broken(*_: Any) -> Any:
        raise ValueError("not sure how to interpret line")

    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(processes.Processes, "sample", broken)
    _, run_csv = recorded(tmp_path, "sh", "-c", until(tmp_path, "^[0-9]", 3))
    assert run_csv.column("host_cpu_pct")
    notes = [event["text"] for event in run_csv.events if event["kind"] == "note"]
    assert len(notes) == 1
    assert "processes cannot be sampled: ValueError" in notes[0]


def test_a_recording_that_breaks_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a fault of the recorder's own THEN the command's end is awaited all the same."""
    from gpudiag.record import setup

    def broken(*_: Any) -> Any:
        raise KeyError("x")

    monkeypatch.setattr(setup, "make_sampler", broken)
    done = record(Options(["sh", "-c", "exit 5"], str(tmp_path / "r.csv")), PlainLauncher())
    assert done.exit == Exit(5)
    assert done.warnings == ["nothing was recorded: KeyError: 'x'"]
    wait_for(lambda: not (tmp_path / "r.csv").exists())
