"""① A simulated `nvidia-smi`, for the demo and the tests; `python -m gpudiag.demo.nvidia_smi ARGS`.

It answers from the emulated GPUs and the scenario of the folder in `GPUDIAG_SIM_DIR` (see `device`
and `faults`), and logs each start and end to `calls.log` there, so that a test can count processes.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Literal, NoReturn

from gpudiag.demo import tables
from gpudiag.demo.arguments import Arguments, ArgumentsError, parse
from gpudiag.demo.device import SIM_DIR
from gpudiag.demo.faults import CALLS, Call, load
from gpudiag.demo.output import Output
from gpudiag.demo.session import ExitRequest, Session

_IMPOSTOR = """\
+---------------------+
| NVIDIA-SMI (not it) |
| H100    0%    0MiB  |
+---------------------+
"""


def install(folder: str | Path) -> Path:
    """Put an executable `nvidia-smi` into `folder`, to be prefixed to PATH; returns its path.

    It starts Python without site-packages, which halves the start-up time.
    """
    root = Path(__file__).resolve().parents[2]
    start = (
        f"import sys; sys.path.insert(0, {str(root)!r}); "
        "from gpudiag.demo.nvidia_smi import main; main(sys.argv[1:])"
    )
    script = Path(folder) / "nvidia-smi"
    script.write_text(
        "#!/bin/sh\n# A simulated nvidia-smi, written by gpudiag: no real GPU is behind it.\n"
        f'exec {shlex.quote(sys.executable)} -I -S -c {shlex.quote(start)} "$@"\n'
    )
    script.chmod(0o755)
    return script


def main(argv: list[str]) -> NoReturn:
    """Run the tool and end the process with its exit code, or by the signal that ended it."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    folder = Path(os.environ.get(SIM_DIR, "."))
    call = _log_start(folder, argv)
    signal.signal(signal.SIGTERM, lambda number, _: _die(folder, number))
    signal.signal(signal.SIGINT, _interrupt)
    output: Output | None = None
    code = 0
    try:
        scenario = load(folder).for_call(call)
        if scenario.find("impostor"):
            os.write(1, _IMPOSTOR.encode())
            raise ExitRequest(0)
        asked = parse(argv)
        output = Output(scenario.buffering, asked.filename)
        session = Session(folder, scenario, asked, output)
        session.start()
        code = _answer(session, asked, output)
    except ArgumentsError as error:
        os.write(1, error.text.encode())
        code = 2
    except ExitRequest as end:
        code = end.code
    except KeyboardInterrupt:
        code = -signal.SIGINT
    if output is not None:
        output.flush()
    if code == -signal.SIGINT:
        _die(folder, signal.SIGINT)
    _log(folder, {"event": "end", "pid": os.getpid(), "code": code, "t": time.time()})
    os._exit(code)


def _answer(session: Session, asked: Arguments, output: Output) -> int:
    scenario = session.scenario
    if asked.action == "list":
        output.write(tables.gpu_list(scenario))
    elif asked.action == "version":
        output.write(tables.version(scenario))
    elif asked.action == "help":
        output.write(tables.usage(scenario))
    elif asked.action == "help_query_gpu":
        output.write(tables.help_query("--query-gpu", scenario))
    elif asked.action == "help_query_apps":
        output.write(tables.help_query("--query-compute-apps", scenario))
    else:
        return session.run()
    return 0


def _log_start(folder: Path, argv: list[str]) -> Call:
    """Log this start; its place among the starts of its sort is what a fault's `calls` names."""
    sort: Literal["loop", "once"] = "once"
    if any(word.partition("=")[0] in ("-l", "-lms", "--loop", "--loop-ms") for word in argv):
        sort = "loop"
    pid = os.getpid()
    _log(folder, {"event": "start", "pid": pid, "sort": sort, "argv": argv, "t": time.time()})
    number = 0
    try:
        lines = (folder / CALLS).read_text().splitlines()
    except OSError:
        return Call(sort, 1)
    for line in lines:
        entry = json.loads(line)
        if entry["event"] == "start" and entry["sort"] == sort:
            number += 1
            if entry["pid"] == pid:
                break
    return Call(sort, max(number, 1))


def _log(folder: Path, entry: dict[str, object]) -> None:
    line = json.dumps(entry) + "\n"
    try:
        log = os.open(folder / CALLS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError:
        return  # the folder is gone: the test or demo that owned it has ended
    os.write(log, line.encode())
    os.close(log)


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _die(folder: Path, number: int) -> NoReturn:
    """End by a signal as if it had never been caught: what stdio still holds is lost."""
    _log(folder, {"event": "end", "pid": os.getpid(), "signal": number, "t": time.time()})
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


if __name__ == "__main__":
    main(sys.argv[1:])
