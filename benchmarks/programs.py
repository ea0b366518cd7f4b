"""Programs for the benchmarks to record: `python programs.py NAME ARGUMENTS`."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
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


def burn(rounds: str, report: str) -> None:
    """A fixed amount of CPU work; writes its wall and CPU seconds into `report`."""
    data = bytes(64)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(int(rounds)):
        data = hashlib.sha512(data).digest()
    spent = (time.perf_counter() - wall, time.process_time() - cpu)
    Path(report).write_text(f"{spent[0]} {spent[1]}")


def steps(count: str, pause_s: str, code: str, done_file: str) -> None:
    """Known output and a known exit code, after a known time; the last word goes to `done_file`."""
    for number in range(int(count)):
        print(f"step {number}", flush=True)
        time.sleep(float(pause_s))
    print("saved", file=sys.stderr, flush=True)
    Path(done_file).write_text(f"done {code}")
    raise SystemExit(int(code))


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
    known = (tree, burn, steps, track)
    {function.__name__: function for function in known}[sys.argv[1]](*sys.argv[2:])
