"""On a terminal the command behaves as if it had been typed alone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from recordkit import PATIENCE_S, Recorded, alive, environment, lines, program, recorder, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the transparent launcher")


class Terminal:
    """An interactive bash on a pseudo-terminal."""

    def __init__(self, folder: Path) -> None:
        pid, self.master = pty.fork()
        if pid == 0:
            os.chdir(folder)
            env = environment(PS1="PROMPT> ", TERM="dumb", HISTFILE="")
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], env)
        self.pid = pid
        self.seen = ""
        self.expect("PROMPT> ")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def expect(self, pattern: str) -> re.Match[str]:
        """Read until `pattern` comes; what was before it is forgotten."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if match := re.search(pattern, self.seen):
                self.seen = self.seen[match.end() :]
                return match
            if select.select([self.master], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
        raise AssertionError(f"no {pattern!r} in {self.seen!r}")

    def close(self) -> None:
        os.close(self.master)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(tmp_path: Path) -> object:
    shell = Terminal(tmp_path)
    yield shell
    shell.close()


def test_the_terminal_is_the_commands(terminal: Terminal) -> None:
    """Case 5. GIVEN a terminal THEN all three streams are it, and the command is in front."""
    show = "import os;print([os.isatty(n) for n in (0,1,2)], os.tcgetpgrp(0) == os.getpgrp())"
    terminal.type(shlex.join(recorder(sys.executable, "-c", show)) + "\n")
    terminal.expect(r"\[True, True, True\] True\r\n")
    terminal.expect("PROMPT> ")


def test_window_size(terminal: Terminal, tmp_path: Path) -> None:
    """Case 5. GIVEN a window that changes its size THEN the command gets one SIGWINCH."""
    log, stop = tmp_path / "signals", tmp_path / "stop"
    terminal.type(shlex.join(recorder(*program("witness", log, stop))) + "\n")
    wait_for(lambda: "ready" in lines(log))
    wait_for(lambda: (tmp_path / "run.csv").exists())
    fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    wait_for(lambda: len(lines(log)) > 1)
    time.sleep(0.3)
    stop.touch()
    terminal.expect("PROMPT> ")
    assert lines(log) == ["ready", "SIGWINCH"]


def test_typing(terminal: Terminal) -> None:
    """Case 6. GIVEN a command that asks THEN it gets what is typed."""
    terminal.type(
        shlex.join(recorder(sys.executable, "-c", "print('got', input('name? '))")) + "\n"
    )
    terminal.expect(r"name\? ")
    terminal.type("ada\n")
    terminal.expect("got ada")


def test_control_c(terminal: Terminal, tmp_path: Path) -> None:
    """Case 10. GIVEN Ctrl-C THEN the command gets one SIGINT and may take its time to end."""
    log = tmp_path / "signals"
    terminal.type(shlex.join(recorder(*program("graceful", log))) + "; echo code=$?\n")
    terminal.expect("ready")
    wait_for(lambda: (tmp_path / "run.csv").exists())
    terminal.type("\x03")
    terminal.expect("saved")
    terminal.expect("code=5")
    assert lines(log) == ["SIGINT"]


def test_control_z_and_fg(terminal: Terminal, tmp_path: Path) -> None:
    """Case 13. GIVEN Ctrl-Z THEN the prompt is back; WHEN `fg` THEN it goes on, the gap marked."""
    stop = tmp_path / "stop"
    script = f"echo begun; while [ ! -e {stop} ]; do sleep 0.05; done; exit 4"
    terminal.type(shlex.join(recorder("sh", "-c", script)) + "; echo code=$?\n")
    terminal.expect("begun")
    wait_for(lambda: (tmp_path / "run.csv").exists() and Recorded(tmp_path / "run.csv").rows)
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.expect("PROMPT> ")
    time.sleep(1.5)
    terminal.type("fg; echo code=$?\n")
    time.sleep(0.5)
    stop.touch()
    terminal.expect("code=4")
    recorded = Recorded(tmp_path / "run.csv")
    assert recorded.kinds().count("gap") == 1
    gap = next(event for event in recorded.events if event["kind"] == "gap")
    assert gap["data"]["seconds"] >= 1.4
    times = recorded.column("t_s")
    assert times == sorted(set(times))


def test_hang_up(tmp_path: Path) -> None:
    """Case 9. GIVEN a terminal that is closed THEN the command gets SIGHUP once, even where the
    recorder is the session's leader and the kernel tells the leader alone."""
    log, stop = tmp_path / "signals", tmp_path / "stop"
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        command = recorder(*program("witness", log, stop))
        os.execve(command[0], command, environment())
    wait_for(lambda: "ready" in lines(log))
    wait_for(lambda: (tmp_path / "run.csv").exists())
    time.sleep(0.3)
    os.close(master)
    wait_for(lambda: "SIGHUP" in lines(log))
    time.sleep(0.3)
    stop.touch()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    assert lines(log).count("SIGHUP") == 1


def test_nothing_is_written_while_it_runs(tmp_path: Path) -> None:
    """Case 4. GIVEN a run that is still going THEN the recorder has written nothing."""
    stop = tmp_path / "stop"
    process = subprocess.Popen(
        recorder("sh", "-c", f"while [ ! -e {stop} ]; do sleep 0.05; done", options=()),
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    wait_for(lambda: (tmp_path / "run.csv").exists())
    time.sleep(1.2)
    assert not select.select([process.stderr], [], [], 0)[0]
    stop.touch()
    _, said = process.communicate(timeout=30)
    assert b"gpudiag report run.csv" in said
    assert not alive(process.pid)
