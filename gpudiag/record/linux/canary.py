"""① Tell a signal for the recorder alone from one for its whole process group (Linux).

The kernel does not say how a signal was addressed. The canary is a process in the recorder's
group, session and control group with all signals blocked: a signal that is pending there as well
was sent to everybody, so the command has it already and must not get it twice.
"""

# ruff: noqa: PTH119  pathlib takes longer to load than the start may wait

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time

from gpudiag.record.linux.kernel import die_with_parent

# somebody who signals every process of a job one by one (scancel, pkill) needs a moment
_PATIENCE_S = (0.0, 0.002, 0.008, 0.02)


class Canary:
    """One sleeping process. `start` must be called from the main thread with signals blocked."""

    def __init__(self) -> None:
        self.pid = 0

    def start(self) -> None:
        """Start it; without fork or `sleep` there is none, and every signal is relayed."""
        path = shutil.which("sleep")
        if path is None:
            return
        parent = os.getpid()
        # the same command line as the recorder's, so that `pkill -f` reaches it too
        own_name = os.path.basename(os.path.realpath(path)) == "sleep"
        name = " ".join(sys.orig_argv) if own_name else "sleep"
        try:
            pid = os.fork()
        except OSError:
            return
        if pid == 0:
            with contextlib.suppress(BaseException):
                die_with_parent(signal.SIGKILL)
                if os.getppid() == parent:
                    null = os.open(os.devnull, os.O_RDWR)
                    for stream in (0, 1, 2):
                        os.dup2(null, stream)
                    os.execv(path, [name, "2147483647"])
            os._exit(127)
        self.pid = pid

    def heard(self, number: int) -> bool:
        """Whether signal `number` was sent to the whole group; up to 30 ms of waiting."""
        for pause in _PATIENCE_S:
            if pause:
                time.sleep(pause)
            pending = self._pending()
            if pending is None:
                return False
            if pending >> (number - 1) & 1:
                return True
        return False

    def renew(self) -> None:
        """Replace it, since a pending signal stays pending."""
        self.end()
        self.start()

    def end(self) -> None:
        """End it and leave no zombie."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            self.pid = 0

    def _pending(self) -> int | None:
        if not self.pid:
            return None
        try:
            with open(f"/proc/{self.pid}/status", "rb") as file:
                text = file.read()
        except OSError:
            return None
        pending = 0
        for line in text.splitlines():
            if line.startswith((b"SigPnd:", b"ShdPnd:")):
                pending |= int(line.split()[1], 16)
        return pending
