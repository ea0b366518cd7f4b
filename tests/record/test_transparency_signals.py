"""Signals reach the command exactly once, whoever sends them and to whom."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recordkit import (
    Recorded,
    alive,
    children_of,
    environment,
    lines,
    program,
    recorder,
    start,
    wait_for,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the transparent launcher")

SETTLE_S = 0.3  # in which a second delivery would show


class Witness:
    """A recorded program that logs the signals it gets; its recorder is in a group of its own."""

    def __init__(self, folder: Path, **more: object) -> None:
        self.log = folder / "signals"
        self.stop = folder / "stop"
        self.recorder = start(
            *program("witness", self.log, self.stop),
            cwd=folder,
            start_new_session=True,
            **more,
        )
        wait_for(lambda: "ready" in lines(self.log), "the program to start")
        # the canary, by which a group is told from a single process, is there a moment later
        wait_for(lambda: len(children_of(self.recorder.pid)) >= 2, "the canary")

    def got(self) -> list[str]:
        return lines(self.log)[1:]

    def end(self) -> int:
        self.stop.touch()
        return self.recorder.wait(30)


SIGNALS = ["HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM", "WINCH", "CONT"]


def test_to_the_recorder(tmp_path: Path) -> None:
    """Case 9. GIVEN signals to the recorder's process THEN the command gets each exactly once."""
    witness = Witness(tmp_path)
    sent = []
    for name in SIGNALS:
        os.kill(witness.recorder.pid, signal.Signals[f"SIG{name}"])
        sent.append(f"SIG{name}")
        wait_for(lambda: len(witness.got()) >= len(sent), name)
    time.sleep(SETTLE_S)
    assert witness.got() == sent
    assert witness.end() == 3


def test_to_the_group(tmp_path: Path) -> None:
    """Case 11. GIVEN signals to the whole group THEN the command gets each exactly once."""
    witness = Witness(tmp_path)
    for name in ("TERM", "USR1", "TERM"):
        before = len(witness.got())
        os.killpg(witness.recorder.pid, signal.Signals[f"SIG{name}"])
        wait_for(lambda before=before: len(witness.got()) > before, name)
        time.sleep(SETTLE_S)
    assert witness.got() == ["SIGTERM", "SIGUSR1", "SIGTERM"]
    assert witness.end() == 3


def test_to_every_process(tmp_path: Path) -> None:
    """Case 11. GIVEN a batch system that signals all processes of a job one by one THEN the
    command gets it once, and the recording goes on until the command ends."""
    witness = Witness(tmp_path)
    for pid in [witness.recorder.pid, *children_of(witness.recorder.pid)]:
        os.kill(pid, signal.SIGTERM)
    time.sleep(SETTLE_S)
    assert witness.got() == ["SIGTERM"]
    wait_for(lambda: Recorded(tmp_path / "run.csv").rows, "a row")
    time.sleep(1.0)
    assert witness.end() == 3
    recorded = Recorded(tmp_path / "run.csv")
    assert recorded.end is not None
    interval = recorded.start["interval_s"]
    assert recorded.end["t_s"] - float(recorded.rows[-1]["t_s"]) <= interval


def test_by_its_command_line(tmp_path: Path) -> None:
    """Case 11. GIVEN `pkill -f` with a word of the command THEN the command gets it once."""
    if not shutil.which("pkill"):
        pytest.skip("no pkill")
    witness = Witness(tmp_path)
    subprocess.run(["pkill", "-USR1", "-f", str(witness.log)], check=True)
    time.sleep(SETTLE_S)
    assert witness.got() == ["SIGUSR1"]
    assert witness.end() == 3


def test_from_the_command_itself(tmp_path: Path) -> None:
    """Case 9. GIVEN a command that signals its parent THEN it does not get its own signal back."""
    done = subprocess.run(
        recorder("sh", "-c", "kill -TERM $PPID; sleep 0.3; exit 5"),
        cwd=tmp_path,
        env=environment(),
        timeout=30,
        check=False,
    )
    assert done.returncode == 5


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM"])
def test_ignored_signals_stay_ignored(tmp_path: Path, name: str) -> None:
    """Case 12. GIVEN nohup or a background job WHEN the signal comes THEN the command lives on."""
    stop = tmp_path / "stop"
    script = f"while [ ! -e {stop} ]; do sleep 0.05; done; exit 9"
    line = f"trap '' {name}; exec \"$@\""
    process = subprocess.Popen(
        ["sh", "-c", line, "sh", *recorder("sh", "-c", script)],
        cwd=tmp_path,
        env=environment(),
        start_new_session=True,
    )
    wait_for(lambda: len(children_of(process.pid)) >= 2, "the recorder")
    os.kill(process.pid, signal.Signals[f"SIG{name}"])
    time.sleep(SETTLE_S)
    assert process.poll() is None
    stop.touch()
    assert process.wait(30) == 9


def test_default_action(tmp_path: Path) -> None:
    """Case 9. GIVEN a command without handlers WHEN SIGTERM is sent to the recorder THEN both die
    of it, and the recording says so."""
    process = start("sleep", "60", cwd=tmp_path)
    wait_for(lambda: (tmp_path / "run.csv").exists(), "the recording")
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(30) == -signal.SIGTERM
    end = Recorded(tmp_path / "run.csv").end
    assert end is not None
    assert end["signal"] == signal.SIGTERM


def test_killed_recorder(tmp_path: Path) -> None:
    """Case 14. GIVEN a recorder killed outright THEN the command goes on, nothing of the recorder's
    is left, and the recording is readable."""
    witness = Witness(tmp_path)
    command = next(
        pid
        for pid in children_of(witness.recorder.pid)
        if b"programs.py" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1]
    )
    others = [pid for pid in children_of(witness.recorder.pid) if pid != command]
    wait_for(lambda: len(Recorded(tmp_path / "run.csv").rows) >= 2, "two rows")
    witness.recorder.kill()
    witness.recorder.wait()
    wait_for(lambda: not any(alive(pid) for pid in others), "the helpers to end")
    assert alive(command)
    recorded = Recorded(tmp_path / "run.csv")
    assert recorded.end is None
    assert len(recorded.rows) >= 2
    witness.stop.touch()
    wait_for(lambda: not alive(command), "the command to end")


def unshared() -> bool:
    probe = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"]
    return (
        shutil.which("unshare") is not None
        and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not unshared(), reason="needs a PID namespace")
def test_process_one_of_a_container(tmp_path: Path) -> None:
    """Cases 2, 18. GIVEN the recorder as process 1 WHEN the container is stopped THEN the command
    gets SIGTERM and the exit code is 143."""
    wrap = ["unshare", "--pid", "--fork", "--mount-proc"]
    process = subprocess.Popen([*wrap, *recorder("sleep", "60")], cwd=tmp_path, env=environment())
    wait_for(lambda: (tmp_path / "run.csv").exists(), "the recording")
    inner = wait_for(lambda: children_of(process.pid), "process 1")[0]
    os.kill(inner, signal.SIGTERM)
    assert process.wait(30) == 143
