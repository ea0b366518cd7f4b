"""① What does not change about the GPUs: asked once, when the stream has woken the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudiag.record.gpu_query import unknown_field

_TEXT, _NUMBER = "text", "number"
# field of nvidia-smi → (name in the start line, kind)
FACTS: Mapping[str, tuple[str, str]] = {
    "index": ("index", _NUMBER),
    "uuid": ("uuid", _TEXT),
    "name": ("name", _TEXT),
    "pci.bus_id": ("bus_id", _TEXT),
    "driver_version": ("driver", _TEXT),
    "vbios_version": ("vbios", _TEXT),
    "memory.total": ("mem_total_mib", _NUMBER),
    "power.limit": ("power_limit_w", _NUMBER),
    "power.default_limit": ("power_default_limit_w", _NUMBER),
    "power.max_limit": ("power_max_limit_w", _NUMBER),
    "clocks.max.sm": ("sm_clock_max_mhz", _NUMBER),
    "clocks.max.memory": ("mem_clock_max_mhz", _NUMBER),
    "pcie.link.gen.max": ("pcie_gen_max", _NUMBER),
    "pcie.link.width.max": ("pcie_lanes_max", _NUMBER),
    "persistence_mode": ("persistence", _TEXT),
    "mig.mode.current": ("mig", _TEXT),
    "ecc.mode.current": ("ecc", _TEXT),
    "compute_mode": ("compute_mode", _TEXT),
}


def fields() -> tuple[str, ...]:
    """All fields, in the order in which they are asked."""
    return tuple(FACTS)


def parse(output: str, asked: Sequence[str]) -> list[dict[str, Any]]:
    """One mapping a GPU, ordered by index; a fact that the driver does not tell is None."""
    gpus = []
    for line in output.replace("\r", "").split("\n"):
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(asked):
            continue
        gpu = {FACTS[name][0]: _fact(name, text) for name, text in zip(asked, cells, strict=True)}
        if isinstance(gpu.get("index"), int):
            gpus.append(gpu)
    return sorted(gpus, key=lambda gpu: int(gpu["index"]))


def refused(output: str) -> str | None:
    """The field that made the driver refuse the query, if one did."""
    return next(filter(None, map(unknown_field, output.splitlines())), None)


def _fact(name: str, text: str) -> Any:
    if not text or text.startswith("[") or text.upper() == "N/A":
        return None
    if FACTS[name][1] == _TEXT:
        return text
    try:
        value = float(text.split()[0])
    except ValueError:
        return None
    return int(value) if value.is_integer() else value
