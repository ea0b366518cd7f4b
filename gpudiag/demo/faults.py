"""① The scenario of the simulated nvidia-smi: driver, GPUs and faults, from `sim.json`.

Every key is optional. `gpus` is a list of objects (see `GPU`); `faults` a list of objects with a
`kind` and, to narrow them down:

- `to`: "loop" (`-l`, `-lms`) or "once"; without it both. `calls`: which starts of that sort (1, …).
- `at_tick`: from this tick of a loop on, from 0. `at_s`: from this many seconds after the start.
- `gpu`: the index, for kinds that hit one GPU.

Kinds: `start-error` (`name` of START_ERRORS, or `text` and `code`), `warning` (a start text, data
all the same, exit code 14), `slow-start` (`seconds`), `hang` (`where`: start, mid-row or between;
`ignore_sigterm`; `stopped`: stop itself as if in uninterruptible sleep), `gpu-lost` (`gpu`),
`text` (`text` between rows), `death` (`code`), `clock-step` (`seconds`), `throttle` (`gpu`, `bits`,
`sm_clock_mhz`), `gpu-count` (`count`), `impostor` (a table whatever is asked).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

SCENARIO = "sim.json"
CALLS = "calls.log"

START_ERRORS: dict[str, tuple[int, str]] = {
    "no-devices": (6, "No devices were found\n"),
    "no-permission": (
        4,
        "Failed to initialize NVML: Insufficient Permissions\n",
    ),
    "driver-not-loaded": (
        9,
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
        "Make sure that the latest NVIDIA driver is installed and running.\n\n",
    ),
    "no-library": (
        12,
        "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that "
        "the NVIDIA Display Driver is properly installed and present in your system.\n"
        "Please also try adding directory that contains libnvidia-ml.so to your system PATH.\n",
    ),
    "version-mismatch": (18, "Failed to initialize NVML: Driver/library version mismatch\n"),
    "container-lost-gpu": (255, "Failed to initialize NVML: Unknown Error\n"),
}
INFOROM_TEXT = "WARNING: infoROM is corrupted at gpu {bus_id}\n"
INFOROM_CODE = 14

Buffering = Literal["tty", "line", "block", "exit"]


class GPU(NamedTuple):
    """What does not change about one GPU, and `values`: field name → text or figure instead of the
    emulated one; a list is taken tick by tick, over and over."""

    number: int
    name: str
    uuid: str
    bus_id: str
    memory_total_mib: int
    power_limit_w: float
    power_idle_w: float
    sm_clock_max_mhz: int
    sm_clock_idle_mhz: int
    mem_clock_mhz: int
    pcie_gen_max: int
    pcie_lanes: int
    mig: tuple[str, ...]
    values: dict[str, Any]


class Call(NamedTuple):
    """Which start of the tool this is: `number` counts loops and single queries apart, from 1."""

    sort: Literal["loop", "once"]
    number: int


class Scenario(NamedTuple):
    """A whole scenario; `clock` is None for the real clock, else the wall time of the first tick
    (`start`), and time passes without waiting for it; `ticks` ends a loop cleanly; `query_s` is the
    time that asking one GPU takes."""

    driver: str
    cuda: str
    gpus: tuple[GPU, ...]
    sample_period_s: float
    query_s: float
    buffering: Buffering
    clock: str | None
    ticks: int | None
    faults: tuple[dict[str, Any], ...]

    def for_call(self, call: Call) -> Scenario:
        """The scenario with only the faults that hit `call`, and the GPUs it sees."""
        faults = tuple(
            fault
            for fault in self.faults
            if fault.get("to", call.sort) == call.sort
            and call.number in fault.get("calls", (call.number,))
        )
        counts = [fault["count"] for fault in faults if fault["kind"] == "gpu-count"]
        gpus = self.gpus[: counts[-1]] if counts else self.gpus
        return self._replace(faults=faults, gpus=gpus)

    def find(self, kind: str) -> dict[str, Any] | None:
        """The first fault of this kind."""
        return next((fault for fault in self.faults if fault["kind"] == kind), None)

    def active(self, kind: str, tick: int, elapsed_s: float) -> list[dict[str, Any]]:
        """The faults of this kind that have begun by `tick`, `elapsed_s` after the start."""
        return [
            fault
            for fault in self.faults
            if fault["kind"] == kind
            and tick >= fault.get("at_tick", 0)
            and elapsed_s >= fault.get("at_s", 0.0)
        ]


def load(folder: Path) -> Scenario:
    """The scenario of `folder`; without `sim.json` one healthy GPU."""
    try:
        told = json.loads((folder / SCENARIO).read_text())
    except FileNotFoundError:
        told = {}
    gpus = told.get("gpus", [{}])
    return Scenario(
        driver=told.get("driver", "590.48.01"),
        cuda=told.get("cuda", "13.1"),
        gpus=tuple(_gpu(index, gpu) for index, gpu in enumerate(gpus)),
        sample_period_s=told.get("sample_period_s", 1.0),
        query_s=told.get("query_s", 0.0),
        buffering=told.get("buffering", "tty"),
        clock=told.get("clock"),
        ticks=told.get("ticks"),
        faults=tuple(told.get("faults", ())),
    )


def save(folder: Path, **told: Any) -> None:
    """Write a scenario into `folder`; a tool that already runs keeps the one it began with."""
    unknown = set(told) - set(Scenario._fields)
    if unknown:
        raise TypeError(f"unknown key of a scenario: {', '.join(sorted(unknown))}")
    (folder / SCENARIO).write_text(json.dumps(told, indent=1))


def _gpu(index: int, told: dict[str, Any]) -> GPU:
    known: dict[str, Any] = {
        "number": index,
        "name": "Simulated GPU (gpudiag demo)",
        "uuid": f"GPU-51300000-0000-4000-8000-{index:012x}",
        "bus_id": f"00000000:{0x17 + 0x11 * index:02X}:00.0",
        "memory_total_mib": 16384,
        "power_limit_w": 300.0,
        "power_idle_w": 42.0,
        "sm_clock_max_mhz": 1980,
        "sm_clock_idle_mhz": 345,
        "mem_clock_mhz": 2619,
        "pcie_gen_max": 4,
        "pcie_lanes": 16,
        "mig": (),
        "values": {},
    }
    return GPU(**{**known, **told})


def lost_marker(folder: Path, gpu: int) -> Path:
    """The file that says that GPU `gpu` has fallen off the bus, for all later calls too."""
    return folder / f"lost-{gpu}"
