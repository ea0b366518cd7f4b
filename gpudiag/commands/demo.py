"""`gpudiag demo`: record a simulated training by the real command lines, and report on it."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from gpudiag.errors import UsageError
from gpudiag.units import parse_duration

NAME = "demo"
HELP = "record and explain a simulated training run: needs no GPU"
EPILOG = """\
examples:
  gpudiag demo                               a training that starves its GPU → run.csv, run.html
  gpudiag demo --list                        what else it can show
  gpudiag demo --scenario slow-storage -o d  another one, written into folder d
"""
MARK = b"gpudiag.demo.train"  # in the recorded command: only a demo's own files are replaced
REAL_GPU_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The demo's options."""
    from gpudiag.demo.scenarios import DEFAULT, SCENARIOS

    parser.add_argument("--scenario", choices=SCENARIOS, default=DEFAULT, metavar="NAME")
    parser.add_argument(
        "--seconds",
        metavar="N",
        help="how long to train, such as 90 or 30m (default: about a minute)",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIR")
    parser.add_argument("--list", action="store_true", help="list the scenarios")


def run(args: argparse.Namespace) -> int:
    """Record, report, and say where the page lies. Raises UsageError."""
    from gpudiag.demo.scenarios import SCENARIOS

    if args.list:
        for scenario in SCENARIOS.values():
            print(f"{scenario.name:16}{scenario.shows}")
        return 0
    chosen = SCENARIOS[args.scenario]
    seconds = _seconds(args.seconds, chosen.seconds)
    recording, page = _outputs(args.output)
    real = _real_gpu()
    if real:
        print(
            f"A real GPU is here ({real}). To record your own training on it:\n"
            "  gpudiag record -- python train.py\n"
            "The demo runs on a simulated GPU all the same."
        )
    print(f"Scenario {chosen.name}: {chosen.shows}.")
    print(f"The GPU is simulated; processes, CPU and file reads are real. Recording {seconds:g} s.")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        print(
            f"Other programs keep this machine busy (load {load:.1f} on {cores} cores): they slow "
            "the demo's training down too, and its report may say so."
        )
    with tempfile.TemporaryDirectory(prefix="gpudiag-demo-") as folder:
        code = _record(Path(folder), chosen.name, seconds, len(chosen.gpu_share), recording)
    if code:
        print(f"The recording ended with exit code {code}.", file=sys.stderr)
        return code
    return _gpudiag("report", str(recording), "-o", str(page))


def _seconds(text: str | None, default: float) -> float:
    if text is None:
        return default
    try:
        seconds = parse_duration(text)
    except ValueError:
        raise UsageError(f"--seconds {text}: not a duration", "For example 90 or 30m.") from None
    if not 1 <= seconds <= 86400:
        raise UsageError(f"--seconds {text}: it takes 1 s to 24 h")
    return seconds


def _outputs(folder: Path) -> tuple[Path, Path]:
    """Where to write. Raises UsageError rather than replace a file that no demo has written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = folder / "run.csv", folder / "run.html"
        for path in paths:
            if path.exists() and MARK not in path.read_bytes():
                raise UsageError(
                    f"{path} exists and is no recording of the demo", "Use -o DIR for a new folder."
                )
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}", "Use -o DIR for another folder.") from error
    paths[0].unlink(missing_ok=True)
    return paths


def _real_gpu() -> str:
    """The first line of a real `nvidia-smi -L`, "" without one.

    The tool is not waited for: with a sick driver it cannot even be killed.
    """
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    process = subprocess.Popen(
        [tool, "-L"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    )
    try:
        listed, _ = process.communicate(timeout=REAL_GPU_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return ""
    first = listed.partition("\n")[0]
    return first if process.returncode == 0 and first.startswith("GPU ") else ""


def _record(folder: Path, scenario: str, seconds: float, gpus: int, recording: Path) -> int:
    """Run `gpudiag record` with the simulated nvidia-smi in front of PATH."""
    from gpudiag.demo import faults
    from gpudiag.demo.device import SIM_DIR
    from gpudiag.demo.nvidia_smi import install

    state, tools, data = folder / "state", folder / "bin", folder / "data"
    for made in (state, tools, data):
        made.mkdir()
    faults.save(state, gpus=[{}] * gpus)
    install(tools)
    environment = {
        **os.environ,
        SIM_DIR: str(state),
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(gpus))),  # not the user's, for real GPUs
        "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "TMPDIR": str(data),  # what a killed training leaves goes with the folder
    }
    train = [sys.executable, "-m", MARK.decode(), "--scenario", scenario, "--seconds", f"{seconds}"]
    return _gpudiag("record", "-o", str(recording), "--", *train, environment=environment)


def _gpudiag(*arguments: str, environment: dict[str, str] | None = None) -> int:
    """Show and run a gpudiag command; it ends first, on Ctrl-C and on a signal to this process."""
    shown = ["python" if word == sys.executable else word for word in arguments]
    print(f"\n$ gpudiag {shlex.join(shown)}", flush=True)
    before = {signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None)}  # the group has it
    process = subprocess.Popen([sys.executable, "-m", "gpudiag", *arguments], env=environment)
    for number in (signal.SIGTERM, signal.SIGHUP):
        before[number] = signal.signal(number, lambda told, _: process.send_signal(told))
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
