"""What recorders cost: CPU and memory beside their peers on idle trees, and the start-up.

`python benchmarks/recorder.py [--seconds 60] [--sizes 1,9,33,129] [--others 1000] [--venv DIR]`

All recorders of a size run at the same time, each on a tree of its own, so that they share whatever
else the machine does. The simulated nvidia-smi's own CPU is measured and left out for everybody.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil
from peers import PROGRAMS, Peer, environment, install, recorders, versions

from gpudiag.demo import faults

USAGE = "GPUDIAG_BENCH_USAGE"  # the file in which the simulated nvidia-smi says what it used
_SHIM = """\
#!{python} -IS
import os, sys, time
sys.path.insert(0, {root!r})
leave = os._exit
def tell(code):
    with open(os.environ["{usage}"], "a") as file:
        file.write(f"{{time.process_time()}}\\n")
    leave(code)
os._exit = tell
from gpudiag.demo.nvidia_smi import main
main(sys.argv[1:])
"""


class Cost(NamedTuple):
    """Of a recorder and its helpers: CPU seconds, the simulated nvidia-smi's, and peak MiB."""

    cpu_s: float
    gpu_tool_s: float
    rss_mib: float


class Recording:
    """One recorder on a tree of its own."""

    def __init__(self, peer: Peer, size: int, seconds: float, folder: Path, binaries: Path) -> None:
        self.name = peer.name
        self._folder = folder
        self._usage = folder / "usage"
        self._usage.touch()
        self._pid_file = folder / "root.pid"
        python = str(binaries / "python")
        command = [python, PROGRAMS, "tree", str(size), str(seconds), str(self._pid_file)]
        env = environment(binaries)
        env["PATH"] = f"{folder.parent}:{env['PATH']}"
        env["GPUDIAG_SIM_DIR"] = str(folder.parent)
        env[USAGE] = str(self._usage)
        log = (folder / "output").open("wb")
        self.process = subprocess.Popen(
            peer.wrap(command, folder), cwd=folder, env=env, stdout=log, stderr=log
        )
        log.close()
        self._peak = 0.0

    def ready(self) -> bool:
        """Whether its tree stands."""
        return self._pid_file.exists() and bool(self._pid_file.read_text())

    def cost(self) -> Cost:
        """What it has used so far; an ended helper counts through the recorder that reaped it."""
        root = int(self._pid_file.read_text())
        mine, tools = self._own_processes(root)
        cpu = sum(_cpu_s(process, ended=True) for process in mine)
        running = sum(_cpu_s(process, ended=False) for process in tools)
        ended = sum(float(line) for line in self._usage.read_text().split())
        self._peak = max(self._peak, sum(map(_peak_mib, mine)))
        return Cost(max(cpu - ended, 0.0), ended + running, self._peak)

    def _own_processes(self, root: int) -> tuple[list[psutil.Process], list[psutil.Process]]:
        """The recorder and its helpers, and the nvidia-smi processes, without the recorded tree."""
        mine, tools, left = [], [], [psutil.Process(self.process.pid)]
        while left:
            process = left.pop()
            if process.pid == root:
                continue
            with contextlib.suppress(psutil.NoSuchProcess):
                tool = any(word.endswith("/nvidia-smi") for word in process.cmdline()[:3])
                (tools if tool else mine).append(process)
                left += process.children()
        return mine, tools

    def end(self) -> None:
        """Wait for its end."""
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def _cpu_s(process: psutil.Process, *, ended: bool) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    own = times.user + times.system
    return own + times.children_user + times.children_system if ended else own


def _peak_mib(process: psutil.Process) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def measure(size: int, seconds: float, folder: Path, binaries: Path) -> dict[str, Cost]:
    """Run all recorders on trees of `size` processes for `seconds`."""
    folder.mkdir()
    faults.save(folder, gpus=[{} for _ in range(8)], query_s=0.002)
    shim = folder / "nvidia-smi"
    root = str(Path(__file__).resolve().parents[1])
    shim.write_text(_SHIM.format(python=binaries / "python", root=root, usage=USAGE))
    shim.chmod(0o755)
    running = []
    for peer in recorders(binaries):
        own = folder / peer.name
        own.mkdir()
        running.append(Recording(peer, size, seconds + 20, own, binaries))
    deadline = time.monotonic() + 60
    while not all(recording.ready() for recording in running):
        if time.monotonic() > deadline:
            raise SystemExit("a recorder did not start its command")
        time.sleep(0.1)
    costs: dict[str, Cost] = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(5.0, max(end - time.monotonic(), 0.0)))
        costs = {recording.name: recording.cost() for recording in running}
    for recording in running:
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(int((folder / recording.name / "root.pid").read_text()), 15)
    for recording in running:
        recording.end()
    return costs


@contextlib.contextmanager
def bystanders(count: int) -> Iterator[None]:
    """So many other processes on the machine that do nothing."""
    sleepers = [subprocess.Popen(["sleep", "7200"]) for _ in range(count)]
    try:
        yield
    finally:
        for sleeper in sleepers:
            sleeper.kill()
        for sleeper in sleepers:
            sleeper.wait()


def start_up(binaries: Path, folder: Path, runs: int) -> tuple[float, float]:
    """Median seconds until a recorded command runs, and that a Python with three imports takes."""
    env = environment(binaries)
    recorded = recorders(binaries)[0].wrap(["date", "+%s.%N"], folder)
    plain = [str(binaries / "python"), "-c", "import argparse, psutil, subprocess"]
    until_it_runs, until_it_ends = [], []
    for _ in range(runs):
        begin = time.time()
        done = subprocess.run(recorded, env=env, capture_output=True, text=True, check=True)
        until_it_runs.append(float(done.stdout) - begin)
        begin = time.time()
        subprocess.run(plain, env=env, check=True)
        until_it_ends.append(time.time() - begin)
        for old in folder.glob("run*.csv"):
            old.unlink()
    return statistics.median(until_it_runs), statistics.median(until_it_ends)


def main() -> None:
    """Measure and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--sizes", default="1,9,33,129")
    parser.add_argument("--others", type=int, default=1000)
    parser.add_argument("--starts", type=int, default=40, help="alternating runs of the start-up")
    parser.add_argument("--venv", type=Path, help="keep the peers there (default: thrown away)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        binaries = install(args.venv or folder / "peers")
        print(", ".join(f"{n} {v}" for n, v in versions(binaries).items()))
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; all recorders at once\n")
        mine, reference = start_up(binaries, folder, args.starts)
        print(f"start-up until the command runs: {mine * 1e3:.0f} ms, {mine / reference:.2f} times")
        print(f'`python -c "import argparse, psutil, subprocess"` ({reference * 1e3:.0f} ms)\n')
        print("| processes | recorder | CPU s | of psrecord's | peak RSS MiB | its nvidia-smi, s |")
        print("|---|---|---|---|---|---|")
        with bystanders(args.others):
            for size in map(int, args.sizes.split(",")):
                costs = measure(size, args.seconds, folder / str(size), binaries)
                for recorder, cost in costs.items():
                    share = cost.cpu_s / costs["psrecord"].cpu_s if costs["psrecord"].cpu_s else 0
                    print(
                        f"| {size} | {recorder} | {cost.cpu_s:.2f} | {share:.2f} "
                        f"| {cost.rss_mib:.1f} | {cost.gpu_tool_s:.2f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
