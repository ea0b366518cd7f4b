"""① A helper process on a pseudo-terminal of its own (Linux).

A terminal, because a program that loops may hold its output back for seconds on a pipe. Its own
session, so that Ctrl-C and signals to the run's group pass it by; and it ends with the recorder.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import tty
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudiag.record.launch import Received
from gpudiag.record.linux.kernel import die_with_parent

if TYPE_CHECKING:
    from gpudiag.record.linux.launcher import LinuxLauncher


class LinuxHelper:
    """See launch.Helper. The thread that creates it must live as long as it is needed."""

    def __init__(self, argv: Sequence[str], received: Received, launcher: LinuxLauncher) -> None:
        self._launcher = launcher
        self._received = received
        self._code: int | None = None
        self._master, slave = os.openpty()
        tty.setraw(slave)
        parent = os.getpid()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the new process only execs; no lock is taken
                self.pid = os.fork()
        except OSError:
            os.close(self._master)
            os.close(slave)
            raise
        if self.pid == 0:
            _become(argv, slave, parent)
        os.close(slave)
        threading.Thread(target=self._read, daemon=True).start()

    def exit_code(self) -> int | None:
        if self._code is None:
            self._code = self._launcher.claim(self.pid)
        return self._code

    def terminate(self) -> None:
        self._launcher.signal_helper(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        self._launcher.signal_helper(self.pid, signal.SIGKILL)

    def _read(self) -> None:
        data = b"-"
        while data:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # EIO: nobody has the other side open any more
                data = b""
            self._received(time.monotonic(), data)
        os.close(self._master)


def _become(argv: Sequence[str], slave: int, parent: int) -> None:
    with contextlib.suppress(BaseException):
        die_with_parent(signal.SIGTERM)
        if os.getppid() == parent:  # otherwise the recorder has died before the line above
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(slave, 1)
            os.dup2(slave, 2)
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.execv(argv[0], list(argv))
    os._exit(127)
