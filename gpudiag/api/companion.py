"""① The recorder beside a Python program: started by `gpudiag.record()`, a process of its own.

It looks on at the program as `gpudiag record --pid` does, so that nothing of it can disturb the
training. The two talk over one socket: a JSON line when it has begun and one when it has ended
come from here; `end`, or the end of the program, from there.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from gpudiag.errors import GpudiagError
from gpudiag.record.recorder import Options, record

END = b"end\n"


def command(options: Options) -> list[str]:
    """How the recorder is started. Raises OSError where there is no Python to start it with."""
    if getattr(sys, "frozen", False) or not sys.executable:
        raise OSError(None, "this program is no Python that could start a recorder")
    root = str(Path(__file__).resolve().parents[2])
    # -P: our modules are not looked for in the folder that the program happens to be in
    start = (
        f"import sys; sys.path.append({root!r}); "
        "from gpudiag.api.companion import main; main(sys.argv[1])"
    )
    return [sys.executable, "-P", "-c", start, json.dumps(options._asdict())]


def main(told: str) -> NoReturn:
    """Record as `told` (the fields of Options as JSON), and tell on file 0 how it went."""
    # a grandchild: a training that waits for all of its children does not wait for this one, and
    # it is none of the run's processes
    if os.fork():
        os._exit(0)
    channel = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)
    try:
        _say(channel, **_record(channel, Options(**json.loads(told))))
    except GpudiagError as error:
        _say(channel, failure=error.message)
    except Exception as error:  # whatever it is, the training hears of it in one line
        _say(channel, failure=f"{type(error).__name__}: {error}")
    sys.exit(0)


def _record(channel: socket.socket, options: Options) -> dict[str, Any]:
    # the program may ignore or block these, and what it does is handed down
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    if sys.platform == "linux":
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGINT})  # the launcher takes it
    threading.Thread(target=_wait_for_the_end, args=(channel,), daemon=True).start()
    recording = record(options, begun=lambda path: _say(channel, begun=str(path)))
    return {
        "path": None if recording.path is None else str(recording.path),
        "lines": recording.lines,
        "warnings": recording.warnings,
    }


def _wait_for_the_end(channel: socket.socket) -> None:
    with contextlib.suppress(OSError):
        channel.recv(len(END))
    os.kill(os.getpid(), signal.SIGINT)


def _say(channel: socket.socket, **told: Any) -> None:
    # the program may be gone: the recording is whole without it
    with contextlib.suppress(OSError):
        channel.sendall(json.dumps(told).encode() + b"\n")
