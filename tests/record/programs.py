"""Programs for the recorder to run: `python programs.py NAME ARGUMENTS`."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WATCHED = ("HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM", "WINCH", "CONT")


def loader(seconds: str, report: str) -> None:
    """A training with two data-loader workers at full CPU; the GPU is busy a third of the time.

    Writes into `report` what it knows of itself: CPU seconds and life of each worker, and the
    busy share of the emulated GPU.
    """
    from gpudiag.demo.device import EmulatedGPU

    context: Any = multiprocessing.get_context("fork")
    stop, results = context.Event(), context.Queue()
    workers = [context.Process(target=_work, args=(stop, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    gpu = EmulatedGPU(0)
    begin = time.monotonic()
    while time.monotonic() - begin < float(seconds):
        gpu.launch(0.1)
        gpu.synchronize("sleep")
        time.sleep(0.2)
    length = time.monotonic() - begin
    stop.set()
    told = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    facts = {"workers": told, "busy": gpu.busy_s / length, "length": length}
    Path(report).write_text(json.dumps(facts))


def _work(stop: Any, results: Any) -> None:
    begin, used = time.monotonic(), time.process_time()
    while not stop.is_set():
        for _ in range(100_000):
            pass
    results.put((time.process_time() - used, time.monotonic() - begin))


def witness(log: str, stop: str = "", seconds: str = "30") -> None:
    """Log every signal that arrives, one name a line; end with 3 once the file `stop` exists."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for name in WATCHED:
        number = signal.Signals[f"SIG{name}"]
        signal.signal(number, lambda n, _: os.write(file, f"{signal.Signals(n).name}\n".encode()))
    os.write(file, b"ready\n")
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end and not (stop and Path(stop).exists()):
        time.sleep(0.01)
    raise SystemExit(3)


def graceful(log: str) -> None:
    """Need a while to end after SIGINT, as a training that writes a checkpoint does."""
    with open(log, "a", encoding="ascii") as file:
        got: list[int] = []

        def note(*_: object) -> None:
            got.append(file.write("SIGINT\n"))

        signal.signal(signal.SIGINT, note)
        print("ready", flush=True)
        while not got:  # pause() would miss a signal that comes before it
            time.sleep(0.02)
        time.sleep(1.0)
        print("saved", flush=True)
    raise SystemExit(5)


def state(report: str) -> None:
    """Write everything that a process is given at its start into `report`."""
    with open("/proc/self/status", encoding="utf-8") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    kept = ("Umask", "SigBlk", "SigIgn", "SigCgt", "SigPnd", "Cpus_allowed_list", "Seccomp")
    limits = [n for n in dir(resource) if n.startswith("RLIMIT_")]
    facts = {
        "argv": sys.argv,
        "environ": sorted(os.environb.items()).__repr__(),
        "cwd": str(Path.cwd()),
        "status": {name: status.get(name) for name in kept},
        "limits": {n: resource.getrlimit(getattr(resource, n)) for n in limits},
        "nice": os.nice(0),
        "oom": Path("/proc/self/oom_score_adj").read_text(),
        "affinity": sorted(os.sched_getaffinity(0)),
        "session": os.getsid(0),
        "tty": [os.isatty(n) for n in (0, 1, 2)],
        "groups": os.getgroups(),
        "fds": sorted(n for n in os.listdir("/proc/self/fd") if _open(n)),  # noqa: PTH208
    }
    Path(report).write_text(json.dumps(facts))


def _open(number: str) -> bool:
    try:
        os.fstat(int(number))
    except OSError:
        return False
    return True


def daemon(seconds: str, pid_file: str) -> None:
    """Leave a daemon behind that holds stdout and lives on, and end at once."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path(pid_file).write_text(str(os.getpid()))
            time.sleep(float(seconds))
        os._exit(0)
    os.wait()
    time.sleep(1.5)


def orphans(count: str, stop: str) -> None:
    """Have `count` grandchildren whose parents end before them; end once the file `stop` exists."""
    for _ in range(int(count)):
        if os.fork() == 0:
            if os.fork() == 0:
                time.sleep(0.05)
            os._exit(0)
        os.wait()
    Path("made").touch()
    while not Path(stop).exists():
        time.sleep(0.05)


def ranks(count: str, seconds: str) -> None:
    """Start `count` ranks in sessions of their own, as torchrun does."""
    script = f"import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            start_new_session=True,
            env={**os.environ, "RANK": str(rank)},
        )
        for rank in range(int(count))
    ]
    for process in started:
        process.wait()


if __name__ == "__main__":
    known = (loader, witness, graceful, state, daemon, orphans, ranks)
    {function.__name__: function for function in known}[sys.argv[1]](*sys.argv[2:])
