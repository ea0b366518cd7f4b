"""A machine to look at: a folder tree as its root, a simulated nvidia-smi on its PATH."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from doctorkit import host

from gpudiag import cli
from gpudiag.commands import doctor
from gpudiag.demo import faults
from gpudiag.demo.device import SIM_DIR
from gpudiag.demo.nvidia_smi import install

_NAMED = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
_ALSO = ("VIRTUAL_ENV", "CONDA_PREFIX", "KUBERNETES_SERVICE_HOST", "SLURM_JOB_ID", "container")
HEALTHY = {"values": {"persistence_mode": "Enabled"}}


class Patient:
    """A machine of the tests: change its tree and environment, then `ask`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.bin, self.sim = folder / "root", folder / "bin", folder / "sim"
        self.packages = folder / "site-packages"
        for made in (self.bin, self.sim, self.packages, folder / "out"):
            made.mkdir()
        self._monkeypatch = monkeypatch
        self._capsys: Any = None
        for name in (*_NAMED, *_ALSO):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        monkeypatch.setenv(SIM_DIR, str(self.sim))
        monkeypatch.setattr(doctor, "ROOT", self.root)
        monkeypatch.setattr(sys, "path", [str(self.packages)])
        monkeypatch.chdir(folder / "out")
        # whether this Python has the NVML extra, and this machine a real tool, must not matter
        monkeypatch.setattr("gpudiag.record.gpu_tool.find_spec", lambda name: None)
        monkeypatch.setattr("gpudiag.record.gpu_tool._ELSEWHERE", ())

    def simulate(self, **told: Any) -> None:
        """Put the simulated nvidia-smi on the PATH; healthy unless told otherwise."""
        install(self.bin)
        faults.save(self.sim, **{"gpus": [HEALTHY], **told})

    def script(self, text: str) -> None:
        """Put a program of our own there as nvidia-smi."""
        path = self.bin / "nvidia-smi"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def hide_tools(self) -> None:
        """A PATH without any nvidia-smi."""
        self._monkeypatch.setenv("PATH", str(self.bin))

    def environ(self, told: Mapping[str, str]) -> None:
        for name, value in told.items():
            self._monkeypatch.setenv(name, value)

    def ask(self, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
        """(exit code, check by name) of `gpudiag doctor --json`."""
        code = cli.main(["doctor", "--json", *more])
        told = json.loads(capsys.readouterr().out)
        assert told["ready"] == (code == 0)
        return code, {check["name"]: check for check in told["checks"]}


@pytest.fixture
def patient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Patient:
    return Patient(tmp_path, monkeypatch)


@pytest.fixture
def healthy(patient: Patient) -> Patient:
    host(patient.root)
    patient.simulate()
    return patient
