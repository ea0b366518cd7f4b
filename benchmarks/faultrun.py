"""One run of the fault campaign: start it, break something, and judge what is left."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from faultproc import exit_code, is_command, living
from peers import PROGRAMS, ROOT
from scenes import INTERVAL_S, Scene

import gpudiag
from gpudiag.demo import faults, nvidia_smi
from gpudiag.errors import GpudiagError

STEP_S = 0.1
LEFT_OVER_S = 2.0
SETTLE_S = 10.0  # until the file is there; on a full disk it never is
LATEST_S = 6.0  # the recorder gives up after 2 s, 5 s at its start, whatever holds it
_READING = threading.Lock()
_REFUSE = """\
case "$*" in *{name}*) printf 'Field "{name}" is not a valid field to query.\\n\\n'; exit 2;; esac
"""


class Outcome(NamedTuple):
    """`rows_missing` counts in intervals; `started` is whether the command ran at all."""

    kind: str
    failures: list[str]
    started: bool
    rows_missing: float | None
    end_after_s: float | None


class Run:
    """Run `number` in a folder of its own below `base`."""

    def __init__(self, number: int, scene: Scene, base: Path, clock: Path | None) -> None:
        self.number = number
        self._scene = scene
        self._folder = base / str(number)
        self._output = self._folder / "output"
        self._sim = self._folder / "sim"
        self._clock = clock
        self._killed: float | None = None
        self._killed_wall = 0.0
        self._failures: list[str] = []
        self._begin = 0.0

    def play(self) -> Outcome:
        """Run it and judge it."""
        for folder in (self._folder, self._output, self._sim):
            folder.mkdir()
        self._install()
        mounted = self._scene.disk_kib > 0
        if mounted:
            size = f"size={self._scene.disk_kib}k"
            command = ["mount", "-t", "tmpfs", "-o", size, "none", str(self._output)]
            subprocess.run(command, check=True)
        try:
            return self._play()
        except Exception as error:  # a fault of the campaign's own must not look like a pass
            self._failures.append(f"campaign: {type(error).__name__}: {error}")
            return Outcome(self._scene.kind, self._failures, True, None, None)
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", str(self._output)], check=False)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _install(self) -> None:
        faults.save(self._sim, **self._scene.driver)
        script = nvidia_smi.install(self._sim)
        first, rest = script.read_text().split("\n", 1)
        refusals = "".join(_REFUSE.format(name=name) for name in self._scene.refused)
        script.write_text(f"{first}\n{refusals}{rest}")

    def _command(self) -> list[str]:
        scene = self._scene
        child = [sys.executable, PROGRAMS, "steps", scene.steps, STEP_S, scene.code, self._told]
        options = ["--quiet", "--interval", f"{INTERVAL_S}s", "-o", self._output / "run.csv"]
        words = [sys.executable, "-m", "gpudiag", "record", *options, "--", *child]
        command = [str(word) for word in words]
        if scene.disk_kib < 0:
            return ["bash", "-c", f"ulimit -f {-scene.disk_kib}; exec {shlex.join(command)}"]
        return command

    @property
    def _told(self) -> Path:
        return self._folder / "told"

    def _environment(self) -> dict[str, str]:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "GPUDIAG_SIM_DIR": str(self._sim)}
        env["PATH"] = f"{self._sim}:/usr/local/bin:/usr/bin:/bin"
        if self._scene.step_wall_s and self._clock is not None:
            env["LD_PRELOAD"] = str(self._clock)
            env["STEP_AT"] = str(time.monotonic() + self._scene.at_s)
            env["STEP_BY"] = str(int(self._scene.step_wall_s))
        return env

    def _play(self) -> Outcome:
        out = (self._folder / "stdout").open("wb")
        err = (self._folder / "stderr").open("wb")
        self._begin = time.monotonic()
        process = subprocess.Popen(
            self._command(), cwd=self._folder, env=self._environment(), stdout=out, stderr=err
        )
        out.close()
        err.close()
        while not (self._scene.early or (self._output / "run.csv").exists()):
            time.sleep(0.01)
            if process.poll() is not None or time.monotonic() > self._begin + SETTLE_S:
                break
        time.sleep(self._scene.at_s)
        self._strike(process)
        code = process.wait()
        ended = time.time()
        if self._killed is not None:
            child = self._child_pid()
            if child is None:
                time.sleep(LEFT_OVER_S)
                self._check_left_over(None)
                return Outcome(self._scene.kind, self._failures, False, None, None)
            time.sleep(LEFT_OVER_S)
            self._check_left_over(child)
            code = exit_code(child)
        self._check_command(code)
        end_after = None if self._killed else ended - self._told.stat().st_mtime
        if self._scene.step_wall_s and self._clock:
            end_after = None  # the file's time is on the stepped clock, or not
        if end_after is not None and end_after > LATEST_S:
            self._failures.append(f"ended {end_after:.1f} s after the command")
        if self._killed is None:
            time.sleep(LEFT_OVER_S)
            self._check_left_over(None)
        missing = self._check_file()
        return Outcome(self._scene.kind, self._failures, True, missing, end_after)

    def _strike(self, process: subprocess.Popen[bytes]) -> None:
        """The faults that come from outside."""
        kind = self._scene.kind
        if process.poll() is not None:
            return  # a machine that was too busy for it: the fault came after the end
        with contextlib.suppress(ProcessLookupError):
            if kind.startswith("recorder killed"):
                process.kill()
                self._killed, self._killed_wall = time.monotonic(), time.time()
            elif kind == "output folder removed":
                shutil.rmtree(self._output)
            elif kind == "output folder moved":
                self._output = self._output.rename(self._folder / "elsewhere")
            elif kind == "recorder stopped and continued":
                os.kill(process.pid, signal.SIGSTOP)
                time.sleep(self._scene.pause_s)
                os.kill(process.pid, signal.SIGCONT)
            elif kind.startswith("nvidia-smi ") and kind not in _DRIVER_KINDS:
                tools = [pid for pid, line in self._processes().items() if "-lms" in line]
                for pid in tools:
                    os.kill(pid, signal.SIGSTOP if self._scene.pause_s else signal.SIGKILL)
                time.sleep(self._scene.pause_s)
                for pid in tools:
                    os.kill(pid, signal.SIGCONT)

    def _processes(self) -> dict[int, str]:
        return living(f"GPUDIAG_SIM_DIR={self._sim}")

    def _child_pid(self) -> int | None:
        """The command, which outlives a killed recorder; None if it was never started."""
        time.sleep(0.1)  # it may be on its way from fork to exec
        return next((pid for pid, line in self._processes().items() if is_command(pid, line)), None)

    def _check_command(self, code: int) -> None:
        scene = self._scene
        expected = "".join(f"step {number}\n" for number in range(scene.steps))
        if code != scene.code:
            self._failures.append(f"exit code {code} instead of {scene.code}")
        if (self._folder / "stdout").read_text() != expected:
            self._failures.append("stdout is not the command's")
        said = (self._folder / "stderr").read_text().splitlines()
        if "saved" not in said:
            self._failures.append("stderr of the command is missing")
        if strange := [line for line in said if line != "saved" and "gpudiag: " not in line]:
            self._failures.append(f"strange text on stderr: {strange[-1]}")
        if not self._told.exists() or self._told.read_text() != f"done {scene.code}":
            self._failures.append("the command did not end as it should")

    def _check_left_over(self, child: int | None) -> None:
        left = {pid: line for pid, line in self._processes().items() if pid != child}
        if left:
            shown = [line[:90] for line in left.values()]
            self._failures.append(f"left over: {'; '.join(shown)}")
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _check_file(self) -> float | None:
        """Readable, on one rising clock, and complete up to the fault; intervals without a row."""
        path = self._output / "run.csv"
        said = (self._folder / "stderr").read_text()
        if not path.exists():
            if not ("gpudiag: " in said or (self._killed and self._scene.early)):
                self._failures.append("no recording, and not a word about it")
            return None
        try:
            with _READING:
                timeline = gpudiag.read(path)
        except GpudiagError as error:
            began = _began(path)
            if self._killed is None or (began and self._killed_wall - began > 2 * INTERVAL_S):
                self._failures.append(f"unreadable: {error}")
            return None
        times = timeline.frame.index.to_numpy()
        if (times[1:] <= times[:-1]).any() or (len(times) and times[-1] > 60):
            self._failures.append("its clock does not rise steadily")
        cut_short = self._killed is not None or self._scene.disk_kib
        if timeline.end is None and not cut_short and "gpudiag: " not in said:
            self._failures.append("no end line, and not a word about it")
        if self._scene.disk_kib and timeline.end is None and "gpudiag: " not in said:
            self._failures.append("the disk was full, and not a word about it")
        if self._killed is None or not len(times):
            return None
        begun = datetime.fromisoformat(timeline.start["time"]).timestamp()
        missing = (self._killed_wall - begun - float(times[-1])) / _period(times)
        if missing > 2.0:
            self._failures.append(f"{missing:.1f} intervals from the last row to the kill")
        return missing


def _began(path: Path) -> float | None:
    """Wall time of the start line; None if the recorder was killed before it wrote one."""
    for line in path.read_text().splitlines():
        if line.startswith("# start {"):
            return float(datetime.fromisoformat(json.loads(line[8:])["time"]).timestamp())
    return None


_DRIVER_KINDS = ("nvidia-smi hangs", "nvidia-smi dies")


def _period(times: Any) -> float:
    """The recording's own interval: nvidia-smi's pause and its query."""
    if len(times) < 3:
        return INTERVAL_S
    return max(statistics.median(times[1:] - times[:-1]), INTERVAL_S)
