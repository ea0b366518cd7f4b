"""① Ask NVML and answer as nvidia-smi does; a program of its own (see gpu_tool).

It understands what the recorder asks: `--query-gpu=` or `--query-compute-apps=`, `-lms N`,
`-i LIST`, and prints CSV without header and units. Needs nvidia-ml-py, the extra `nvml`.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NoReturn

from gpudiag.record.gpu_tool import NO_LIBRARY

Ask = Callable[[Any, Any, int], object]  # the library, a device, its index
_MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")


def _switch(value: int) -> str:
    return "Enabled" if value else "Disabled"


def _memory(nvml: Any, device: Any) -> Any:
    """As nvidia-smi counts since driver 510: without what the driver keeps for itself."""
    with contextlib.suppress(nvml.NVMLError, AttributeError, TypeError):
        return nvml.nvmlDeviceGetMemoryInfo(device, version=nvml.nvmlMemory_v2)
    return nvml.nvmlDeviceGetMemoryInfo(device)


def _reasons(nvml: Any, device: Any) -> str:
    ask = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None)
    ask = ask or nvml.nvmlDeviceGetCurrentClocksThrottleReasons
    return f"0x{ask(device):016x}"


def _pstate(nvml: Any, device: Any) -> str | None:
    state = nvml.nvmlDeviceGetPerformanceState(device)
    return f"P{state}" if 0 <= state <= 15 else None


def _watts(milliwatts: int) -> str:
    return f"{milliwatts / 1000:.2f}"


QUERY_GPU: dict[str, Ask] = {
    "index": lambda n, d, i: i,
    "uuid": lambda n, d, i: n.nvmlDeviceGetUUID(d),
    "name": lambda n, d, i: n.nvmlDeviceGetName(d),
    "pci.bus_id": lambda n, d, i: n.nvmlDeviceGetPciInfo(d).busId,
    "driver_version": lambda n, d, i: n.nvmlSystemGetDriverVersion(),
    "vbios_version": lambda n, d, i: n.nvmlDeviceGetVbiosVersion(d),
    "memory.total": lambda n, d, i: _memory(n, d).total >> 20,
    "memory.used": lambda n, d, i: _memory(n, d).used >> 20,
    "utilization.gpu": lambda n, d, i: n.nvmlDeviceGetUtilizationRates(d).gpu,
    "utilization.memory": lambda n, d, i: n.nvmlDeviceGetUtilizationRates(d).memory,
    "power.draw": lambda n, d, i: _watts(n.nvmlDeviceGetPowerUsage(d)),
    "power.limit": lambda n, d, i: _watts(n.nvmlDeviceGetPowerManagementLimit(d)),
    "power.default_limit": lambda n, d, i: _watts(n.nvmlDeviceGetPowerManagementDefaultLimit(d)),
    "power.max_limit": lambda n, d, i: _watts(n.nvmlDeviceGetPowerManagementLimitConstraints(d)[1]),
    "temperature.gpu": lambda n, d, i: n.nvmlDeviceGetTemperature(d, n.NVML_TEMPERATURE_GPU),
    "clocks.current.sm": lambda n, d, i: n.nvmlDeviceGetClockInfo(d, n.NVML_CLOCK_SM),
    "clocks.current.memory": lambda n, d, i: n.nvmlDeviceGetClockInfo(d, n.NVML_CLOCK_MEM),
    "clocks.max.sm": lambda n, d, i: n.nvmlDeviceGetMaxClockInfo(d, n.NVML_CLOCK_SM),
    "clocks.max.memory": lambda n, d, i: n.nvmlDeviceGetMaxClockInfo(d, n.NVML_CLOCK_MEM),
    "pstate": lambda n, d, i: _pstate(n, d),
    "clocks_throttle_reasons.active": lambda n, d, i: _reasons(n, d),
    "pcie.link.gen.current": lambda n, d, i: n.nvmlDeviceGetCurrPcieLinkGeneration(d),
    "pcie.link.width.current": lambda n, d, i: n.nvmlDeviceGetCurrPcieLinkWidth(d),
    "pcie.link.gen.max": lambda n, d, i: n.nvmlDeviceGetMaxPcieLinkGeneration(d),
    "pcie.link.width.max": lambda n, d, i: n.nvmlDeviceGetMaxPcieLinkWidth(d),
    "persistence_mode": lambda n, d, i: _switch(n.nvmlDeviceGetPersistenceMode(d)),
    "mig.mode.current": lambda n, d, i: _switch(n.nvmlDeviceGetMigMode(d)[0]),
    "ecc.mode.current": lambda n, d, i: _switch(n.nvmlDeviceGetEccMode(d)[0]),
    "compute_mode": lambda n, d, i: _MODES[n.nvmlDeviceGetComputeMode(d)],
}


def main(argv: Sequence[str]) -> NoReturn:
    """Answer, and end with an exit code as nvidia-smi would."""
    with contextlib.suppress(ValueError, AttributeError):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        code = answer(argv, import_module("pynvml"), sys.stdout.write)
        sys.stdout.flush()
    except ImportError as error:
        print(f"nvidia-ml-py cannot be loaded: {error}")
        code = NO_LIBRARY
    except OSError:  # nobody reads any more
        code = 1
    sys.exit(code)


def answer(argv: Sequence[str], nvml: Any, write: Callable[[str], object]) -> int:
    """Write what is asked for; the exit code. Loops until it is ended, with -lms."""
    given = dict(word.split("=", 1) for word in argv if word.startswith("--") and "=" in word)
    loop_ms = int(argv[argv.index("-lms") + 1]) if "-lms" in argv else None
    only = argv[argv.index("-i") + 1].split(",") if "-i" in argv else []
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        write(f"NVML cannot be used: {error}\n")
        missing = isinstance(error, getattr(nvml, "NVMLError_LibraryNotFound", ()))
        return NO_LIBRARY if missing else 255
    if "--query-compute-apps" in given:
        rows = _apps
        fields: list[str] = []
    else:
        rows = _gpus
        fields = given["--query-gpu"].split(",")
        unknown = next((name for name in fields if name not in QUERY_GPU), None)
        if unknown is not None:
            write(f'Field "{unknown}" is not a valid field to query.\n\n')
            return 2
    due = time.monotonic()
    while True:
        write("".join(rows(nvml, only, fields)))
        if loop_ms is None:
            return 0
        sys.stdout.flush()
        due = max(due + loop_ms / 1000, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def _devices(nvml: Any, only: Sequence[str]) -> Iterator[tuple[int, Any]]:
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            device = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError:  # lost; the others can still be asked
            continue
        if only and str(index) not in only:
            uuid = _text(nvml.nvmlDeviceGetUUID(device))
            if not any(uuid.lower().startswith(name.lower()) for name in only):
                continue
        yield index, device


def _gpus(nvml: Any, only: Sequence[str], fields: Sequence[str]) -> Iterator[str]:
    for index, device in _devices(nvml, only):
        yield ", ".join(_cell(nvml, QUERY_GPU[name], device, index) for name in fields) + "\n"


def _apps(nvml: Any, only: Sequence[str], fields: Sequence[str]) -> Iterator[str]:
    for _, device in _devices(nvml, only):
        uuid = _text(nvml.nvmlDeviceGetUUID(device))
        with contextlib.suppress(nvml.NVMLError):
            for process in nvml.nvmlDeviceGetComputeRunningProcesses(device):
                used = process.usedGpuMemory
                memory = "[N/A]" if used is None else str(used >> 20)
                yield f"{uuid}, {process.pid}, {memory}\n"


def _cell(nvml: Any, ask: Ask, device: Any, index: int) -> str:
    try:
        value = ask(nvml, device, index)
    except nvml.NVMLError as error:
        if isinstance(error, getattr(nvml, "NVMLError_GpuIsLost", ())):
            return "[GPU is lost]"
        supported = not isinstance(error, getattr(nvml, "NVMLError_NotSupported", ()))
        return "[Unknown Error]" if supported else "[N/A]"
    except (AttributeError, IndexError, ValueError):  # a library older than the question
        return "[N/A]"
    return "[N/A]" if value is None else _text(value).replace(",", " ")


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
