"""① Waiting without a command of one's own (Linux): for a process, for Ctrl-C, for the duration."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Sequence

from gpudiag.record.launch import Exit
from gpudiag.record.linux.launcher import LinuxLauncher
from gpudiag.record.onlooker import Attached

_ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_LOOK_S = 0.25


class LinuxOnlooker(LinuxLauncher):
    """See launch.Launcher. Nothing is relayed: a signal to the recorder is for the recorder."""

    def __init__(self, attached: Attached | None) -> None:
        super().__init__()
        self._attached = attached
        self.attached_to = None if attached is None else attached.pid
        self.pid = self.attached_to or 0
        self._why = ""

    def start(self, argv: Sequence[str]) -> float:
        ignored = {n for n in _ENDS if signal.getsignal(n) == signal.SIG_IGN}  # nohup
        self._taken = (_ENDS - ignored) | {signal.SIGCHLD}
        self._mask = {int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, self._taken)}
        return time.monotonic()

    def settle(self) -> None:
        if self._attached is not None:
            threading.Thread(target=self._watch, name="watch", daemon=True).start()

    def wait(self) -> Exit:
        while not self._why:
            if signal.sigwaitinfo(self._taken).si_signo != signal.SIGCHLD:
                self._why = "asked"
            self._reap()
        return Exit(None, None, self._why)

    def release(self) -> None:
        self._wake("duration")

    def own_pids(self) -> set[int]:
        return super().own_pids() | {os.getpid()}  # which may have been started by what it looks at

    def leave(self, how: Exit) -> int:
        while signal.sigtimedwait(self._taken, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        return 0

    def _watch(self) -> None:
        """Wait for the end of the process; the kernel tells, or it is looked at now and then."""
        assert self._attached is not None
        try:
            file = os.pidfd_open(self._attached.pid)
        except (OSError, AttributeError):  # before Linux 5.3
            while not self._attached.ended():
                time.sleep(_LOOK_S)
        else:
            # asked once more, for the file may belong to a later process of that number
            if not self._attached.ended():
                select.select([file], [], [])
            os.close(file)
        self._wake("process")

    def _wake(self, why: str) -> None:
        self._why = self._why or why
        os.kill(os.getpid(), signal.SIGCHLD)
