"""① How a command is started, waited for and left: the plain launcher, and the choice of one.

On Linux `gpudiag.record.linux` takes over and makes the recorder invisible to the command; the
plain launcher here serves every other system: it starts, waits and passes the exit code on.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from gpudiag.errors import GpudiagError

Received = Callable[[float, bytes], None]


class Exit(NamedTuple):
    """How what was recorded ended: the command with an exit code, or killed by a signal.

    `why` a recording ended: with the `command`, with the `process` that it was attached to, after
    its `duration`, or because it was `asked` to. Only the first has a code or a signal.
    """

    code: int | None
    signal: int | None = None
    why: str = "command"


class StartError(GpudiagError):
    """The command cannot be started; the exit code is what a shell would return: 127 or 126."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = code


class Helper(Protocol):
    """A process of the recorder's own, such as nvidia-smi. It is never waited for."""

    pid: int

    def exit_code(self) -> int | None:
        """Its exit code, minus the signal that killed it, or None while it is not known."""

    def terminate(self) -> None:
        """Ask it to end; harmless if it has ended."""

    def kill(self) -> None:
        """End it; harmless if it has ended."""


class Launcher(Protocol):
    """Starts the command, relays to it, and tells how it ended; or looks on without one."""

    pid: int  # of the command or of the process that is looked at; 0 if there is neither
    attached_to: int | None  # the process that is looked at

    def start(self, argv: Sequence[str]) -> float:
        """Start the command; the monotonic time at which it started. Raises StartError."""

    def settle(self) -> None:
        """What must be arranged after the start (the start must not wait for it)."""

    def wait(self) -> Exit:
        """Block until the command has ended; its leftover children do not delay the return."""

    def release(self) -> None:
        """The recording has ended, from another thread: `wait` for a command only."""

    def helper(self, argv: Sequence[str], received: Received) -> Helper:
        """Start a helper. `received(monotonic time, bytes)` is called from another thread with
        what it prints; empty bytes mean that it has ended. Raises OSError."""

    def own_pids(self) -> set[int]:
        """The recorder's own helpers, which are no part of the run."""

    def leave(self, how: Exit) -> int:
        """The exit code to end with; does not return if the recorder must die of a signal."""


def choose(command: Sequence[str] = ("",), pid: int | None = None) -> Launcher:
    """The launcher for this system; one that looks on at `pid`, or at nothing, without a command.

    Raises UsageError if there is no process `pid`.
    """
    if not command:
        from gpudiag.record import onlooker

        return onlooker.choose(pid)
    if sys.platform == "linux":
        from gpudiag.record.linux.launcher import LinuxLauncher

        return LinuxLauncher()
    return PlainLauncher()


class PlainLauncher:
    """Start, wait, pass the exit code on. Signals reach the command only as the system does it."""

    def __init__(self) -> None:
        self.pid = 0
        self.attached_to: int | None = None
        self._helpers: set[int] = set()

    def start(self, argv: Sequence[str]) -> float:
        import subprocess

        started = time.monotonic()
        try:
            self._process = subprocess.Popen(list(argv), close_fds=False)
        except (FileNotFoundError, NotADirectoryError):
            raise StartError(127, f"{argv[0]}: command not found") from None
        except OSError as error:
            raise StartError(126, f"{argv[0]}: {error.strerror}") from None
        self.pid = self._process.pid
        return started

    def settle(self) -> None:
        """Nothing to arrange."""

    def wait(self) -> Exit:
        while True:
            try:
                code = self._process.wait()
            except KeyboardInterrupt:
                continue  # the command got it too, and decides
            return Exit(None, -code) if code < 0 else Exit(code)

    def release(self) -> None:
        """The command goes on."""

    def helper(self, argv: Sequence[str], received: Received) -> Helper:
        helper = PlainHelper(argv, received)
        self._helpers.add(helper.pid)
        return helper

    def own_pids(self) -> set[int]:
        return self._helpers

    def leave(self, how: Exit) -> int:
        return 128 + how.signal if how.signal else how.code or 0


class PlainHelper:
    """A helper on a pipe."""

    def __init__(self, argv: Sequence[str], received: Received) -> None:
        import subprocess
        import threading

        self._process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.pid = self._process.pid
        self._received = received
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while data := os.read(self._process.stdout.fileno(), 65536):
            self._received(time.monotonic(), data)
        self._process.wait()
        self._received(time.monotonic(), b"")

    def exit_code(self) -> int | None:
        return self._process.poll()

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()
