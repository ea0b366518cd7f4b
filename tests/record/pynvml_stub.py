"""Stands in for nvidia-ml-py: two GPUs, the second without power figures; see its environment."""

# ruff: noqa: N801, N802, N816, N818  the names are the library's

from __future__ import annotations

import os
from types import SimpleNamespace

NVML_TEMPERATURE_GPU = 0
NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
nvmlMemory_v2 = 2


class NVMLError(Exception):
    pass


class NVMLError_NotSupported(NVMLError):
    pass


class NVMLError_GpuIsLost(NVMLError):
    pass


class NVMLError_LibraryNotFound(NVMLError):
    pass


def nvmlInit() -> None:
    if os.environ.get("STUB") == "no library":
        raise NVMLError_LibraryNotFound("NVML Shared Library Not Found")
    if os.environ.get("STUB") == "no driver":
        raise NVMLError("Driver Not Loaded")


def nvmlDeviceGetCount() -> int:
    return 2


def nvmlDeviceGetHandleByIndex(index: int) -> int:
    return index


def nvmlDeviceGetUUID(device: int) -> str:
    return f"GPU-{device:08x}-stub"


def nvmlDeviceGetName(device: int) -> bytes:
    return b"Stub, 16 GB"


def nvmlDeviceGetPciInfo(device: int) -> SimpleNamespace:
    return SimpleNamespace(busId=f"00000000:0{device}:00.0")


def nvmlSystemGetDriverVersion() -> str:
    return "595.10"


def nvmlDeviceGetMemoryInfo(device: int, version: int | None = None) -> SimpleNamespace:
    assert version == nvmlMemory_v2
    return SimpleNamespace(total=16384 << 20, used=(1000 + device) << 20)


def nvmlDeviceGetUtilizationRates(device: int) -> SimpleNamespace:
    if os.environ.get("STUB") == "lost" and device == 1:
        raise NVMLError_GpuIsLost
    return SimpleNamespace(gpu=37, memory=12)


def nvmlDeviceGetPowerUsage(device: int) -> int:
    if device:
        raise NVMLError_NotSupported
    return 123456


def nvmlDeviceGetTemperature(device: int, sensor: int) -> int:
    return 44


def nvmlDeviceGetClockInfo(device: int, clock: int) -> int:
    return 1410 if clock == NVML_CLOCK_SM else 2619


def nvmlDeviceGetPerformanceState(device: int) -> int:
    return 32 if device else 0


def nvmlDeviceGetCurrentClocksThrottleReasons(device: int) -> int:
    return 4


def nvmlDeviceGetCurrPcieLinkGeneration(device: int) -> int:
    raise NVMLError("Unknown Error")


def nvmlDeviceGetMigMode(device: int) -> list[int]:
    return [1, 1] if device else [0, 0]


def nvmlDeviceGetComputeMode(device: int) -> int:
    return 3


def nvmlDeviceGetComputeRunningProcesses(device: int) -> list[SimpleNamespace]:
    return [SimpleNamespace(pid=4_000_000, usedGpuMemory=None if device else 512 << 20)]
