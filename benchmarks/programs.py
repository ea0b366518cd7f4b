"""Programs for the benchmarks to record: `python programs.py NAME ARGUMENTS`."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from array import array
from pathlib import Path


def tree(processes: str, seconds: str, pid_file: str) -> None:
    """An idle run of so many processes: one that waits, and forked workers that wait for it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    workers = []
    for _ in range(int(processes) - 1):
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            time.sleep(float(seconds) + 60)
            os._exit(0)
        workers.append(pid)
    Path(pid_file).write_text(str(os.getpid()))
    try:
        time.sleep(float(seconds))
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGKILL)


def burn(rounds: str, processes: str, warm_up_s: str, report: str) -> None:
    """A fixed amount of CPU work in each of some processes, after a wait (a recorder starts up).

    Writes the wall seconds and the CPU seconds, each the mean of all processes, into `report`.
    """
    time.sleep(float(warm_up_s))
    pipe_in, pipe_out = os.pipe()
    for _ in range(int(processes)):
        if os.fork() == 0:
            data = bytes(64)
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(int(rounds)):
                data = hashlib.sha512(data).digest()
            spent = f"{time.perf_counter() - wall} {time.process_time() - cpu}\n"
            os.write(pipe_out, spent.encode())
            os._exit(0)
    for _ in range(int(processes)):
        os.wait()
    pairs = [line.split() for line in os.read(pipe_in, 65536).decode().splitlines()]
    means = [sum(map(float, column)) / len(pairs) for column in zip(*pairs, strict=True)]
    Path(report).write_text(" ".join(map(str, means)))


def slices(rounds: str, processes: str, seconds: str, folder: str) -> None:
    """Slices of so many rounds of CPU work, one after the other, in each of some processes.

    Each writes when its slices began (monotonic seconds) and how long they took, as doubles in
    turns, into a file `slices-N` of `folder`; `clock` says the wall clock at monotonic 0.
    """
    Path(folder, "clock").write_text(repr(time.time() - time.monotonic()))
    children = []
    for number in range(int(processes)):
        pid = os.fork()
        if pid == 0:
            data, told, now = bytes(64), array("d"), time.monotonic()
            end = now + float(seconds)
            while now < end:
                for _ in range(int(rounds)):
                    data = hashlib.sha512(data).digest()
                before, now = now, time.monotonic()
                told.extend((before, now - before))
            Path(folder, f"slices-{number}").write_bytes(told.tobytes())
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


def hog(seconds: str) -> None:
    """Keep a core busy."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        pass


def steps(count: str, pause_s: str, code: str, done_file: str) -> None:
    """Known output and a known exit code, after a known time; the last word goes to `done_file`."""
    for number in range(int(count)):
        print(f"step {number}", flush=True)
        time.sleep(float(pause_s))
    print("saved", file=sys.stderr, flush=True)
    Path(done_file).write_text(f"done {code}")
    raise SystemExit(int(code))


def witness(log: str, stop: str) -> None:
    """Log every signal that arrives, a name a line; end with 3 once the file `stop` exists."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda n, _: os.write(file, f"{signal.Signals(n).name}\n".encode()))
    os.write(file, f"{os.getpid()}\n".encode())
    end = time.monotonic() + 60
    while time.monotonic() < end and not Path(stop).exists():
        time.sleep(0.02)
    raise SystemExit(3)


def look(report: str, *arguments: str) -> None:
    """Write the arguments, and which of the standard streams is a terminal, into `report`."""
    facts = {"arguments": arguments, "tty": [os.isatty(stream) for stream in (0, 1, 2)]}
    Path(report).write_text(json.dumps(facts))


def track(*command: str) -> None:
    """Start `command` and resource-tracker on it (which has no command line of its own)."""
    import subprocess

    from resource_tracker import ResourceTracker

    process = subprocess.Popen(command)
    tracker = ResourceTracker(
        pid=process.pid, interval=1, discover_server=False, discover_cloud=False, autostart=True
    )
    process.wait()
    tracker.stop()


if __name__ == "__main__":
    known = (tree, burn, slices, hog, steps, witness, look, track)
    {function.__name__: function for function in known}[sys.argv[1]](*sys.argv[2:])
