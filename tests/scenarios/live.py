"""Run a live scenario: the recorder, the emulated GPUs, the program, the diagnosis."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gpudiag.demo import faults
from gpudiag.demo.device import SIM_DIR
from gpudiag.demo.nvidia_smi import install
from gpudiag.diagnose.engine import diagnose
from gpudiag.diagnose.model import Finding
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.read import read
from tests.scenarios.model import Outcome, Scenario

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
HOG = "while True: pass"
TENANT = "import sys, time; from gpudiag.demo.device import EmulatedGPU as G; g = G(0); \
g.allocate(int(sys.argv[1])); time.sleep(900)"
MOST_S = 900


def run(scenario: Scenario, twin: bool = False, keep: Path | None = None) -> Outcome:
    """The outcome of `scenario`, or of its fixed twin; the recording is left at `keep`."""
    if scenario.make is not None:
        return judge(scenario, twin, scenario.make(), None)
    with tempfile.TemporaryDirectory(prefix="scenario-") as name:
        folder = Path(name)
        try:
            _record(scenario, twin, folder)
            if keep is not None:
                shutil.copy(folder / "run.csv", keep)
            rate = folder / "rate"
            measured = float(rate.read_text()) if rate.exists() else None
            return judge(scenario, twin, read(str(folder / "run.csv")), measured)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            return Outcome(scenario, twin, (), (), (), None, None, "", 0.0, f"{error}"[:200])


def judge(scenario: Scenario, twin: bool, timeline: Timeline, rate: float | None) -> Outcome:
    """What is said of `timeline`."""
    found = diagnose(timeline)
    meant = next((f for f in found if f.rule.code in scenario.truth), None)
    return Outcome(
        scenario,
        twin,
        tuple(f.rule.code for f in found),
        tuple(f.rule.code for f in found if f.severity != "info"),
        _causes(meant, "holds"),
        meant.bound if meant else None,
        rate,
        found.sentence,
        found.ledger.wall_s,
        undecided=_causes(meant, "unknown"),
    )


def _causes(finding: Finding | None, verdict: str) -> tuple[str, ...]:
    return tuple(c.cause.name for c in finding.causes if c.verdict == verdict) if finding else ()


def _record(scenario: Scenario, twin: bool, folder: Path) -> None:
    state, tools = folder / "state", folder / "bin"
    state.mkdir()
    tools.mkdir()
    faults.save(state, gpus=[dict(g) for g in scenario.gpus], faults=list(scenario.faults))
    install(tools)
    spec = {**scenario.spec, **((scenario.twin or {}) if twin else {})}
    (folder / "spec.json").write_text(json.dumps(spec))
    env = {
        **os.environ,
        SIM_DIR: str(state),
        "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "TMPDIR": str(folder),
        "PYTHONPATH": str(ROOT),
        "SCENARIO_RATE": str(folder / "rate"),
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(len(scenario.gpus)))),
    }
    for variable in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        env.pop(variable, None)
    hogs = scenario.twin_hogs if twin and scenario.twin_hogs is not None else scenario.hogs
    lowest = ["nice", "-n", "19"] if scenario.niced else []
    beside = [subprocess.Popen([*lowest, sys.executable, "-c", HOG]) for _ in range(hogs)]
    if scenario.tenant_mib:
        tenant = [sys.executable, "-c", TENANT, str(scenario.tenant_mib)]
        beside.append(subprocess.Popen(tenant, env=env))
    out = str(folder / "run.csv")
    command = [sys.executable, "-m", "gpudiag", "record", "--quiet", "-o", out, "--"]
    try:
        subprocess.run(
            [*command, sys.executable, str(PROGRAMS / scenario.program), str(folder / "spec.json")],
            env=env, cwd=folder, timeout=MOST_S, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    finally:
        for process in beside:
            process.kill()
            process.wait()
