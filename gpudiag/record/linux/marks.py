"""① Take marks from the run's processes (Linux): the other side of record/marking.py.

A connection a mark, and the kernel says who is at its other end: nobody but the recorder's own
user, root and the run's own processes is listened to.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from gpudiag.masking import masked
from gpudiag.record.marking import LONGEST, address, credentials, lineage

# (kind, text, data, monotonic time)
Tell = Callable[[str, str, dict[str, Any], float], None]

_SIZE = 16384
_BACKLOG = 64
_PATIENCE_S = 0.2
_LATE_S = 5.0
_BURST = 200.0
_PER_S = 10.0
_MOST = 20_000


class Marks:
    """Listens in a thread of its own for the marks of process `pid` and its descendants."""

    def __init__(self, pid: int, tell: Tell) -> None:
        """Raises OSError, above all if another recorder listens for the same process."""
        self._pid = pid
        self._tell = tell
        self._allowance = _BURST
        self._refilled = time.monotonic()
        self._left = _MOST
        self._full = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.bind(address(pid))
            self._socket.listen(_BACKLOG)
            self._socket.setblocking(False)
            self._wake_read, self._wake_write = os.pipe()
        except OSError:
            self._socket.close()
            raise
        self._thread = threading.Thread(target=self._listen, name="marks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take what was sent before, and listen no more."""
        os.close(self._wake_write)
        self._thread.join(2 * _PATIENCE_S)

    def _listen(self) -> None:
        with self._socket:
            ending = False
            while not ending:
                ready, _, _ = select.select([self._socket.fileno(), self._wake_read], [], [])
                ending = self._wake_read in ready
                with contextlib.suppress(BlockingIOError):
                    while True:
                        connection, _ = self._socket.accept()
                        with connection, contextlib.suppress(OSError, ValueError):
                            self._serve(connection)
        os.close(self._wake_read)

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(_PATIENCE_S)
        pid, user = credentials(connection)
        if user not in (os.geteuid(), 0) and self._pid not in lineage(pid):
            return
        message = json.loads(connection.recv(_SIZE))
        if not isinstance(message, dict):
            return
        now = time.monotonic()
        then = message.get("time")
        # both sides read the same clock, unless the other one is in a container with its own
        if not isinstance(then, int | float) or not now - _LATE_S <= then <= now:
            then = now
        if self._may(now):
            text = masked(str(message.get("text", ""))[:LONGEST])
            self._tell("mark", text, {"pid": pid}, float(then))
        elif not self._full:
            self._full = True
            text = "marks came too fast, or too many: some were left out"
            self._tell("note", text, {"per_second": _PER_S, "most": _MOST}, now)
        connection.send(b"ok")

    def _may(self, now: float) -> bool:
        """Whether the file should grow by one more; a mark a step would outgrow the samples."""
        self._allowance = min(_BURST, self._allowance + (now - self._refilled) * _PER_S)
        self._refilled = now
        if self._allowance < 1 or self._left <= 0:
            return False
        self._allowance -= 1
        self._left -= 1
        return True
