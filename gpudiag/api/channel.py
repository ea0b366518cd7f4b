"""① The program's end of the socket to its recorder: start it, hear of it, end it.

Nothing here raises but `start`, and nothing waits for longer than it says.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from contextlib import suppress
from typing import Any

from gpudiag.api.companion import END, command
from gpudiag.record.recorder import Options

# a program may have given SIGPIPE its default back, which would end it here
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
_STARTER_S = 1.0


class Channel:
    """A recorder that was started. What it says is kept in `told`."""

    def __init__(self, options: Options) -> None:
        """Raises OSError."""
        self.told: dict[str, Any] = {}
        self.ended = False
        self._data = b""
        argv = command(options)
        self._socket, theirs = socket.socketpair()
        try:
            # a session of its own: Ctrl-C in a terminal or notebook is for the training
            self._starter = subprocess.Popen(
                argv,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            self._socket.close()
            raise
        finally:
            theirs.close()

    def hear(self, *names: str, seconds: float) -> bool:
        """Wait until it has said one of `names`; False if it has gone, or has not in time."""
        deadline = time.monotonic() + seconds
        while not any(name in self.told for name in names):
            left = deadline - time.monotonic()
            if self.ended or left <= 0:
                return False
            self._take(left)
        # it has handed over long ago; left as it is, a training that waits for a child would get it
        with suppress(subprocess.TimeoutExpired, OSError):
            self._starter.wait(_STARTER_S)
        return True

    def end(self) -> None:
        """Ask it to finish."""
        with suppress(OSError):
            self._socket.send(END, _NO_SIGNAL)

    def close(self) -> None:
        """Let go of it; a recorder that is still there ends by itself."""
        self._socket.close()
        with suppress(subprocess.TimeoutExpired, OSError):
            self._starter.wait(_STARTER_S)

    def _take(self, seconds: float) -> None:
        self._socket.settimeout(max(seconds, 0.001))
        try:
            data = self._socket.recv(65536)
        except TimeoutError:
            return
        except OSError:
            data = b""
        self.ended = not data
        self._data += data
        *lines, self._data = self._data.split(b"\n")
        for line in lines:
            with suppress(ValueError):
                self.told |= json.loads(line)


def can_fork() -> bool:
    """Whether this system can start a recorder beside a program."""
    return hasattr(os, "fork") and hasattr(socket, "socketpair")
