"""A recorder with a command in it, and what can be seen of the two from outside."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from faultproc import living
from peers import PROGRAMS, Peer

GOOD = "✓"
_PATIENCE_S = 20.0
_SOON_S = 3.0


class Wrapped:
    """`peer` in `folder`; its processes are known by a variable of their environment."""

    def __init__(self, peer: Peer, folder: Path, env: Mapping[str, str]) -> None:
        self.folder = folder
        self._peer = peer
        self._mark = f"GPUDIAG_BENCH={folder}"
        self._env = {**env, "GPUDIAG_BENCH": str(folder)}
        self._log, self._stop = folder / "log", folder / "stop"
        self._terminal = -1

    def argv(self, *command: str) -> list[str]:
        """The command line of the recorder around `command`."""
        return self._peer.wrap(command, self.folder)

    def run(
        self, *command: str, pass_fds: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        """Record `command` to its end."""
        return subprocess.run(
            self.argv(*command),
            cwd=self.folder,
            env=self._env,
            capture_output=True,
            pass_fds=tuple(pass_fds),
            timeout=_PATIENCE_S,
            check=False,
        )

    def look(self, *arguments: str, on_terminal: bool = False) -> Any:
        """What the command saw; None if it did not run."""
        report = self.folder / "report"
        command = [sys.executable, PROGRAMS, "look", str(report), *arguments]
        if on_terminal:
            pid = self._on_terminal(*command)
            self._wait(pid, _PATIENCE_S)
        else:
            self.run(*command)
        return json.loads(report.read_text()) if report.exists() else None

    def signalled(self, name: str, *, group: bool) -> str:
        """How often the command gets a signal that is sent to the recorder, or to its group."""
        process = subprocess.Popen(
            self.argv(*self._witness()),
            cwd=self.folder,
            env=self._env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._until(lambda: self._told())
        time.sleep(0.8)
        send = os.killpg if group else os.kill
        send(process.pid, signal.Signals[f"SIG{name}"])
        self._until(lambda: f"SIG{name}" in self._told(), _SOON_S)
        time.sleep(0.3)
        times = self._told().count(f"SIG{name}")
        left = process.poll() is not None
        self._stop.touch()
        code = process.wait(_PATIENCE_S)
        if times == 0:
            return "orphaned, not told" if left else "not told"
        if left:
            return f"told {times} times, but left" if times > 1 else "told, but left"
        if times > 1:
            return f"told {times} times"
        return GOOD if code == 3 else f"told, but exit code {code}"

    def typed_interrupt(self) -> str:
        """How often Ctrl-C arrives, and whether the recorder waits for a command that tidies up."""
        pid = self._on_terminal(*self._witness())
        self._until(lambda: self._told())
        time.sleep(0.8)
        os.write(self._terminal, b"\x03")
        self._until(lambda: "SIGINT" in self._told(), _SOON_S)
        time.sleep(0.7)
        times = self._told().count("SIGINT")
        left = self._wait(pid, 0.0) is not None
        self._stop.touch()
        code = None if left else self._wait(pid, _PATIENCE_S)
        if times != 1:
            return f"told {times} times" + (", leaves first" if left else "")
        if left:
            return "leaves first"
        return GOOD if code == 3 else f"exit code {code}"

    def typed_suspend(self) -> str:
        """Whether Ctrl-Z stops the recorder and the command, and both go on afterwards."""
        pid = self._on_terminal(*self._witness())
        self._until(lambda: self._told())
        time.sleep(0.8)
        child = int(self._told()[0])
        os.write(self._terminal, b"\x1a")
        self._until(lambda: _state(pid) == "T" and _state(child) == "T", _SOON_S)
        stopped = {"recorder": _state(pid) == "T", "command": _state(child) == "T"}
        # what `fg` does
        os.killpg(os.getpgid(pid), signal.SIGCONT)
        self._stop.touch()
        code = self._wait(pid, _PATIENCE_S)
        if not all(stopped.values()):
            return ", ".join(f"{who} not stopped" for who, done in stopped.items() if not done)
        return GOOD if code == 3 else f"exit code {code}"

    def killed_outright(self) -> str:
        """What is left when the recorder gets SIGKILL."""
        process = subprocess.Popen(
            self.argv(*self._witness()),
            cwd=self.folder,
            env=self._env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._until(lambda: self._told())
        time.sleep(1.5)
        process.kill()
        process.wait()
        time.sleep(2.0)
        child = int(self._told()[0])
        # a shell between the recorder and the command belongs to the command
        left = living(self._mark).keys() - {child, _parent(child)}
        problems = [] if _state(child) else ["command ends"]
        if len(self._told()) > 1:
            problems.append("command is signalled")
        if left:
            problems.append(f"{len(left)} helper left")
        return ", ".join(problems) or GOOD

    def daemon(self) -> str:
        """How long after the command the recorder ends when a daemon keeps the output open."""
        begin = time.monotonic()
        process = subprocess.Popen(
            self.argv("sh", "-c", "setsid sleep 8 & sleep 1.5"),
            cwd=self.folder,
            env=self._env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        process.wait(_PATIENCE_S)
        return GOOD if time.monotonic() - begin < 6 else "waits for the daemon"

    def clean_up(self) -> None:
        """End whatever is left."""
        self._stop.touch()
        for pid in living(self._mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._terminal >= 0:
            os.close(self._terminal)

    def _witness(self) -> list[str]:
        return [sys.executable, PROGRAMS, "witness", str(self._log), str(self._stop)]

    def _told(self) -> list[str]:
        try:
            return self._log.read_text().split()
        except OSError:
            return []

    def _on_terminal(self, *command: str) -> int:
        """Start the recorder as the foreground group of a terminal, below a shell of sorts."""
        read_end, write_end = os.pipe()
        shell, self._terminal = pty.fork()
        if shell == 0:
            pid = os.fork()
            if pid == 0:
                os.setpgid(0, 0)
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                os.tcsetpgrp(0, os.getpid())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                os.chdir(self.folder)
                os.execvpe(self.argv(*command)[0], self.argv(*command), self._env)
            os.write(write_end, f"{pid}\n".encode())
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            status = os.waitpid(pid, 0)[1]
            (self.folder / "code").write_text(str(os.waitstatus_to_exitcode(status)))
            time.sleep(30)
            os._exit(0)
        return int(os.read(read_end, 32))

    def _wait(self, pid: int, seconds: float) -> int | None:
        """The exit code of what runs on the terminal; None if it has not ended in time."""
        del pid
        code = self.folder / "code"
        self._until(lambda: code.exists() and code.read_text(), seconds)
        return int(code.read_text()) if code.exists() and code.read_text() else None

    def _until(self, condition: Callable[[], Any], seconds: float = _PATIENCE_S) -> None:
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.02)


def _state(pid: int) -> str:
    """The letter of /proc; empty if the process has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    letter = stat[stat.rfind(")") + 2]
    return "" if letter in "ZX" else letter


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text()
        return int(stat[stat.rfind(")") + 2 :].split()[1])
    return 0
