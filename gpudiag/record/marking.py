"""① `gpudiag.mark("epoch 3")`: write an event into the recording that this process is part of.

Called from a training: standard library only, cheap, and it never raises. The recorder is found by
walking up the parents, since a command's environment and descriptors are left as they were; each
that might be one is asked through a socket named by its number (record/linux/marks.py listens).
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Iterator

LONGEST = 500  # characters of a mark
_DEEPEST = 64
# so long nothing is looked for after nothing was found: little at first, since a recorder listens
# a moment after it has started its command only
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_ANSWER_S = 2.0
_found: tuple[int, int] | None = None  # this process, and the one whose recorder it has found
_none_until = float("-inf")
_pause = _FIRST_PAUSE_S


def mark(text: object) -> bool:
    """Write `text` as an event `mark`, at this moment; whether a recording took it.

    False, quietly, if no recording encloses this process or it does not listen. Linux only.
    """
    global _found, _none_until, _pause
    try:
        me = os.getpid()
        if _found is not None and _found[0] == me:
            if send(str(text), _found[1]):
                return True
            _found = None
        elif time.monotonic() < _none_until:
            return False
        for pid in lineage(me):
            if send(str(text), pid):
                _found, _pause = (me, pid), _FIRST_PAUSE_S
                return True
        _none_until = time.monotonic() + _pause
        _pause = min(2 * _pause, _LONGEST_PAUSE_S)
    except Exception:  # whatever it is, a training does not end for a mark
        pass
    return False


def look_again() -> None:
    """Forget which recording was found, or that none was: one has begun, nearer than that."""
    global _found, _none_until, _pause
    _found, _none_until, _pause = None, float("-inf"), _FIRST_PAUSE_S


def mark_and_wait(text: str) -> bool:
    """The same, but wait until the recorder has taken it."""
    return any(send(text, pid, wait=True) for pid in lineage(os.getpid()))


def address(pid: int) -> str:
    """The name of the socket for marks of process `pid` and its descendants.

    In the abstract namespace: it leaves no file, and the kernel removes it with its owner.
    """
    return f"\0gpudiag/mark/{pid}"


def lineage(pid: int) -> Iterator[int]:
    """`pid`, its parent, and so on to the first process that can be seen."""
    for _ in range(_DEEPEST):
        yield pid
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                stat = file.read(1024)
            pid = int(stat[stat.rfind(b")") + 2 :].split(b" ", 2)[1])
        except (OSError, ValueError, IndexError):
            return
        if pid == 0:
            return


def credentials(connection: socket.socket) -> tuple[int, int]:
    """PID and user of the other side, as the kernel knows them."""
    size = struct.calcsize("3i")
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid, user, _ = struct.unpack("3i", data)
    return pid, user


def send(text: str, pid: int, wait: bool = False) -> bool:
    """Offer a mark to the recorder of process `pid`; False if there is none."""
    if not hasattr(socket, "SO_PEERCRED"):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.setblocking(False)
        try:
            connection.connect(address(pid))
            owner, user = credentials(connection)
            # anybody may take a name; our words are for a parent of ours, or for our own user
            if owner != pid and user not in (os.geteuid(), 0):
                return False
            message = {"text": text[:LONGEST], "time": time.monotonic()}
            connection.send(json.dumps(message).encode())
            if not wait:
                return True
            connection.settimeout(_ANSWER_S)
            return connection.recv(16) == b"ok"
        except OSError:
            return False
