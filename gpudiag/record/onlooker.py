"""① Looking on without a command: at a process that is running already, or at the machine alone."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import psutil

from gpudiag.errors import UsageError
from gpudiag.record.launch import Exit, Launcher, PlainLauncher

Value = TypeVar("Value")
_LOOK_S = 0.25


def choose(pid: int | None) -> Launcher:
    """The onlooker for this system. Raises UsageError if there is no process `pid`."""
    attached = None if pid is None else Attached(pid)
    if attached is not None and attached.ended():
        raise UsageError(f"--pid {pid}: there is no such process", "see: ps -ef, nvidia-smi")
    if sys.platform == "linux":
        from gpudiag.record.linux.onlooker import LinuxOnlooker

        return LinuxOnlooker(attached)
    return PlainOnlooker(attached)


class Attached:
    """A process that somebody else has started; what cannot be read of it is empty."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._process: psutil.Process | None = psutil.Process(pid)
        except (psutil.Error, OverflowError, ValueError):
            self._process = None

    def ended(self) -> bool:
        """Whether it has ended, or waits for its parent to notice that."""
        if self._process is None:
            return True
        try:
            if not self._process.is_running():
                return True
            return self._process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True
        except psutil.Error:
            return False

    def command(self) -> Sequence[str]:
        """Its command line."""
        return self._ask(psutil.Process.cmdline) or []

    def cwd(self) -> str | None:
        """Its working folder."""
        return self._ask(psutil.Process.cwd)

    def environ(self) -> Mapping[str, str]:
        """The environment that it was started with."""
        return self._ask(psutil.Process.environ) or {}

    def _ask(self, read: Callable[[psutil.Process], Value]) -> Value | None:
        try:
            return None if self._process is None else read(self._process)
        except (psutil.Error, OSError):  # another user's
            return None


class PlainOnlooker(PlainLauncher):
    """Waits for the process, or for Ctrl-C."""

    def __init__(self, attached: Attached | None) -> None:
        super().__init__()
        self._attached = attached
        self.attached_to = None if attached is None else attached.pid
        self.pid = self.attached_to or 0
        self._released = threading.Event()

    def start(self, argv: Sequence[str]) -> float:
        return time.monotonic()

    def wait(self) -> Exit:
        try:
            while not self._released.wait(_LOOK_S):
                if self._attached is not None and self._attached.ended():
                    return Exit(None, None, "process")
        except KeyboardInterrupt:
            return Exit(None, None, "asked")
        return Exit(None, None, "duration")

    def release(self) -> None:
        self._released.set()
