"""The simulated nvidia-smi as a command, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudiag.demo import faults
from gpudiag.demo.device import SIM_DIR
from gpudiag.demo.nvidia_smi import install


class Simulated:
    """Runs the wrapper script; `clock` is scripted unless a test says otherwise."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tool = install(folder)
        self._running: list[subprocess.Popen[bytes]] = []
        self.scenario()

    def scenario(self, **told: Any) -> None:
        faults.save(self.folder, **{"clock": "2026/03/01 10:00:00.000", **told})

    def run(self, *arguments: str) -> tuple[int, str]:
        """(exit code, stdout) of a call that ends by itself; stderr is always empty."""
        done = subprocess.run(
            [self.tool, *arguments], env=self._env(), capture_output=True, text=True, timeout=30
        )
        assert done.stderr == ""
        return done.returncode, done.stdout

    def start(self, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([self.tool, *arguments], env=self._env(), stdout=stdout)
        self._running.append(process)
        return process

    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / faults.CALLS).read_text().splitlines()]

    def stop(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()

    def _env(self) -> dict[str, str]:
        return {**os.environ, SIM_DIR: str(self.folder)}


@pytest.fixture
def smi(tmp_path: Path) -> Iterator[Simulated]:
    simulated = Simulated(tmp_path)
    yield simulated
    simulated.stop()
