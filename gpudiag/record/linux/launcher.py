"""① The launcher that nobody notices (Linux): signals exactly once, job control, orphans, exit.

All signals are blocked and taken one by one in the main thread, which does nothing else: neither a
stalled disk nor a hung driver may delay them.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudiag.record.launch import Exit, Helper, Received
from gpudiag.record.linux.start import BLOCKED, close_inherited, start

if TYPE_CHECKING:
    from gpudiag.record.linux.canary import Canary

_SENT_BY_PROCESS = {0, -1, -6}  # SI_USER, SI_QUEUE, SI_TKILL
_STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_TERMINAL_STOP_S = 5.0  # a program that tidies up before it stops does so within this time


class LinuxLauncher:
    """See launch.Launcher. `start`, `settle`, `wait` and `leave` belong to the main thread."""

    def __init__(self) -> None:
        self.pid = 0
        self.attached_to: int | None = None
        self._mask: set[int] = set()
        self._canary: Canary | None = None
        self._exit: Exit | None = None
        self._terminal_stop = float("-inf")
        self._lock = threading.Lock()
        self._helpers: dict[int, int | None] = {}
        self._unclaimed: dict[int, int] = {}

    def start(self, argv: Sequence[str]) -> float:
        self.pid, started, self._mask = start(argv)
        close_inherited()
        return started

    def settle(self) -> None:
        from gpudiag.record.linux.canary import Canary
        from gpudiag.record.linux.kernel import adopt_orphans

        adopt_orphans()
        self._canary = Canary()
        self._canary.start()

    def wait(self) -> Exit:
        while True:
            self._reap()
            if self._exit is not None:
                return self._exit
            self._take(signal.sigwaitinfo(BLOCKED))

    def release(self) -> None:
        """The command goes on."""

    def helper(self, argv: Sequence[str], received: Received) -> Helper:
        from gpudiag.record.linux.helper import LinuxHelper

        helper = LinuxHelper(argv, received, self)
        with self._lock:
            self._helpers[helper.pid] = self._unclaimed.pop(helper.pid, None)
        return helper

    def own_pids(self) -> set[int]:
        with self._lock:
            pids = set(self._helpers)
        if self._canary is not None:
            pids.add(self._canary.pid)
        return pids

    def claim(self, pid: int) -> int | None:
        """The exit code of a helper, minus the signal, once; None while it has not ended."""
        with self._lock:
            code = self._helpers.get(pid)
            if code is None:
                try:
                    reaped, status = os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    return None
                if reaped == 0:
                    return None
                code = os.waitstatus_to_exitcode(status)
            self._helpers.pop(pid, None)
            return code

    def signal_helper(self, pid: int, number: signal.Signals) -> None:
        """Send `number` unless the helper has been reaped (its PID may be somebody else's)."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._helpers.get(pid, 0) is None:
                os.kill(pid, number)

    def leave(self, how: Exit) -> int:
        if self._canary is not None:
            self._canary.end()
        while signal.sigtimedwait(BLOCKED, 0):
            pass  # what was meant for a command that has ended
        if how.signal is not None:
            from gpudiag.record.linux.kernel import leave_no_core

            leave_no_core()
            limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (0, limit))
            with contextlib.suppress(OSError, ValueError):  # KILL has no disposition to set
                signal.signal(how.signal, signal.SIG_DFL)
            os.kill(os.getpid(), how.signal)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {how.signal})
            return 128 + how.signal  # process 1 of a container cannot die of a signal
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        return how.code or 0

    def _take(self, info: signal.struct_siginfo) -> None:
        number = info.si_signo
        if number == signal.SIGCHLD:
            return
        if info.si_code not in _SENT_BY_PROCESS and number != signal.SIGHUP:
            # from the terminal or a limit of the recorder's own: the kernel told the group itself
            # (a hang-up it tells the session's leader alone, which the recorder may be)
            if number in _STOPS:
                self._terminal_stop = time.monotonic()
            return
        if info.si_pid == self.pid:
            return  # the command means its parent, and must not get its own signal back
        if self._canary is not None and self._canary.heard(number):
            if number in _STOPS:
                self._terminal_stop = time.monotonic()
            self._canary.renew()
            return
        self._reap()
        if self._exit is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)

    def _reap(self) -> None:
        while True:
            with self._lock:
                try:
                    pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
                except ChildProcessError:
                    return
                if pid == 0:
                    return
                stopped = os.WIFSTOPPED(status)
                if not stopped and pid != self.pid:
                    self._bury(pid, os.waitstatus_to_exitcode(status))
            if pid != self.pid:
                continue
            if stopped:
                self._stop_too(os.WSTOPSIG(status))
            elif os.WIFSIGNALED(status):
                self._exit = Exit(None, os.WTERMSIG(status))
            else:
                self._exit = Exit(os.WEXITSTATUS(status))

    def _bury(self, pid: int, code: int) -> None:
        if pid in self._helpers:
            self._helpers[pid] = code
            return
        # an orphan of the run, or a helper that ended before it was entered
        self._unclaimed[pid] = code
        if len(self._unclaimed) > 64:
            del self._unclaimed[next(iter(self._unclaimed))]

    def _stop_too(self, number: int) -> None:
        """Stop with the command, so that the shell gives the prompt back; `fg` wakes both."""
        recent = time.monotonic() - self._terminal_stop < _TERMINAL_STOP_S
        if number in _STOPS or (number == signal.SIGSTOP and recent):
            os.kill(os.getpid(), signal.SIGSTOP)
