"""② Lines by which nvidia-smi, the driver or a shell say that something is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Trouble:
    """A known message. `kind` is the kind of event it makes of itself; `hint` what to do."""

    pattern: re.Pattern[str]
    kind: str
    meaning: str
    hint: str


def _of(pattern: str, kind: str, meaning: str, hint: str) -> Trouble:
    return Trouble(re.compile(pattern, re.IGNORECASE), kind, meaning, hint)


TROUBLES: tuple[Trouble, ...] = (
    _of(
        r"Driver/library version mismatch",
        "gpu-text",
        "the driver was upgraded under the running system",
        "reboot, or unload and reload the nvidia kernel modules",
    ),
    _of(
        r"Failed to initialize NVML: Unknown Error",
        "gpu-text",
        "the container lost its GPUs, or the driver failed",
        "restart the container; a systemctl daemon-reload on the host takes its devices away",
    ),
    _of(r"Failed to initialize NVML", "gpu-text", "nvidia-smi could not start", "run nvidia-smi"),
    _of(
        r"Unable to determine the device handle for",
        "gpu-lost",
        "a GPU does not answer",
        "look for Xid lines in dmesg; reset or reboot, then check power and seating",
    ),
    _of(
        r"GPU is lost\.?\s+Reboot|Reboot the system to recover this GPU|fallen off the bus",
        "gpu-lost",
        "a GPU was lost",
        "look for Xid lines in dmesg; reboot, then check power and seating",
    ),
    _of(
        r"No devices were found",
        "gpu-text",
        "the driver runs but sees no GPU",
        "check the container's or job's GPU allocation, and lspci",
    ),
    _of(
        r"NVIDIA-SMI has failed because|couldn'?t communicate with the NVIDIA driver",
        "gpu-text",
        "the driver does not run",
        "run nvidia-smi and reinstall or load the driver",
    ),
    _of(
        r"Field \"[^\"]*\" is not a valid field to query",
        "gpu-text",
        "nvidia-smi refused the query: this driver does not know one of the fields",
        "nvidia-smi --help-query-gpu lists those it knows",
    ),
    _of(
        r"nvidia-smi.{0,40}(?:command )?not found|'nvidia-smi' is not recognized",
        "gpu-text",
        "nvidia-smi was not there",
        "install the NVIDIA driver, or log on a machine with a GPU",
    ),
    _of(r"infoROM is corrupted", "gpu-text", "the infoROM of a GPU is damaged", "see nvidia-smi"),
    _of(r"\bXid\b", "gpu-text", "the driver reported an Xid error", "look the number up"),
    _of(r"NVML library version|NVRM:|\bECC error", "gpu-text", "a line of the driver", ""),
)


def find(line: str) -> Trouble | None:
    """The trouble that `line` tells of, if any."""
    return next((trouble for trouble in TROUBLES if trouble.pattern.search(line)), None)
