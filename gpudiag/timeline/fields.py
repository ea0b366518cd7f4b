"""② What a column of a foreign log is, by its name: nvidia-smi's fields, aliases, home-made names.

A role is a column of run.csv (`util_pct`), a fact of a GPU (`mem_total_mib`), what tells rows apart
(`time`, `index`, `uuid`, `bus`), a throttle word (`word:4`), or empty: known, but of no use here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

FIGURES = (
    "util_pct", "mem_util_pct", "mem_used_mib", "power_w", "temp_c", "sm_clock_mhz",
    "mem_clock_mhz", "pstate", "throttle_bits", "pcie_gen", "pcie_lanes",
)  # fmt: skip
FACT_FIGURES = (
    "mem_total_mib", "power_limit_w", "power_default_limit_w", "power_max_limit_w",
    "sm_clock_max_mhz", "mem_clock_max_mhz", "pcie_gen_max", "pcie_lanes_max",
)  # fmt: skip
FACT_TEXTS = (
    "uuid", "bus", "name", "driver", "vbios", "persistence", "mig", "ecc", "compute_mode",
)  # fmt: skip

# Role, then the names nvidia-smi has given the field from driver 465 to 610, the best first.
_NVIDIA = """
time: timestamp
index: index
uuid: uuid gpu_uuid
bus: pci.bus_id gpu_bus_id
name: name gpu_name
driver: driver_version kmd_version
vbios: vbios_version
persistence: persistence_mode
mig: mig.mode.current
ecc: ecc.mode.current
compute_mode: compute_mode
util_pct: utilization.gpu gpu_utilization gpu_util
mem_util_pct: utilization.memory
mem_used_mib: memory.used
mem_total_mib: memory.total
power_w: power.draw power.draw.average power.draw.instant
power_limit_w: power.limit enforced.power.limit
power_default_limit_w: power.default_limit
power_max_limit_w: power.max_limit
temp_c: temperature.gpu
sm_clock_mhz: clocks.current.sm clocks.sm clocks.current.graphics clocks.gr
mem_clock_mhz: clocks.current.memory clocks.mem
sm_clock_max_mhz: clocks.max.sm clocks.max.graphics clocks.max.gr
mem_clock_max_mhz: clocks.max.memory clocks.max.mem
pstate: pstate
pcie_gen: pcie.link.gen.current pcie.link.gen.gpucurrent
pcie_lanes: pcie.link.width.current
pcie_gen_max: pcie.link.gen.max pcie.link.gen.gpumax
pcie_lanes_max: pcie.link.width.max
throttle_bits: clocks_event_reasons.active clocks_throttle_reasons.active
word:1: clocks_event_reasons.gpu_idle clocks_throttle_reasons.gpu_idle
word:2: clocks_event_reasons.applications_clocks_setting clocks_throttle_reasons.applications_clocks_setting
word:4: clocks_event_reasons.sw_power_cap clocks_throttle_reasons.sw_power_cap
word:8: clocks_event_reasons.hw_slowdown clocks_throttle_reasons.hw_slowdown
word:16: clocks_event_reasons.sync_boost clocks_throttle_reasons.sync_boost
word:32: clocks_event_reasons.sw_thermal_slowdown clocks_throttle_reasons.sw_thermal_slowdown
word:64: clocks_event_reasons.hw_thermal_slowdown clocks_throttle_reasons.hw_thermal_slowdown
word:128: clocks_event_reasons.hw_power_brake_slowdown clocks_throttle_reasons.hw_power_brake_slowdown
word:256: clocks_event_reasons.display_clock_setting clocks_throttle_reasons.display_clock_setting
"""  # noqa: E501 - one role a line

# Role, then names that people's own scripts use, after `gpu` and the unit were taken off.
_OWN = """
time: time timestamp timestamps datetime date_time epoch unix_time unixtime elapsed elapsed_time time_elapsed t
date: date day
index: id index idx device device_id device_index number num
util_pct: utilization utilisation util usage load utilization_rate
mem_used_mib: memory_used mem_used used_memory used_mem vram_used memory_mem_used
mem_used_mib?: memory mem memory_usage mem_usage vram vram_usage
mem_total_mib: memory_total mem_total total_memory total_mem vram_total memory_max memory_capacity
power_w: power power_draw power_used power_usage power_consumption
power_limit_w: power_limit power_cap
temp_c: temperature temp
sm_clock_mhz: sm_clock clock_sm clocks_sm core_clock graphics_clock clock_graphics
mem_clock_mhz: memory_clock mem_clock clock_memory clock_mem
pstate: pstate p_state performance_state
name: name model product product_name device_name
uuid: uuid
bus: bus_id pci_bus_id pci
driver: driver driver_version
: fan fan_speed serial count power_max power_min memory_free mem_free free_memory free_mem processes
"""  # noqa: E501 - one role a line


def _table(text: str) -> dict[str, tuple[str, int]]:
    table = {}
    for line in text.strip().splitlines():
        role, _, names = line.rpartition(": ") if ": " in line else ("", "", line)
        for rank, name in enumerate(names.split()):
            table[name] = (role, rank)
    return table


_CANONICAL = _table(_NVIDIA)
_HOME_MADE = _table(_OWN)
_DOTTED = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-zA-Z0-9_]+)+")
_UNIT = re.compile(r"(.*?)\s*[\[(]\s*([^\])]{0,16}?)\s*[\])]\s*")
_PLAIN = frozenset({
    "serial", "count", "compute_cap", "display_mode", "display_active", "display_attached",
    "addressing_mode", "hostname", "gpu_recovery_action", "kmd_version", "edpp_multiplier",
})  # fmt: skip
_NAME_UNITS = {
    "pct": "%", "percent": "%", "percentage": "%", "perc": "%", "%": "%", "ratio": "ratio",
    "mb": "mib", "mib": "mib", "gb": "gib", "gib": "gib", "kb": "kib", "kib": "kib",
    "bytes": "b", "w": "w", "watt": "w", "watts": "w", "mw": "mw", "c": "c", "celsius": "c",
    "degc": "c", "mhz": "mhz", "ghz": "ghz", "s": "s", "sec": "s", "secs": "s", "seconds": "s",
    "ms": "ms",
}  # fmt: skip
_HOST = frozenset({
    "cpu", "ram", "host", "disk", "net", "network", "swap", "system", "sys", "iowait", "process",
    "proc", "pid",
})  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A column of a log: its role, the unit its name says (lower case), and the name as written.

    `rank` orders fields of one role: that with the lowest figure is taken. `known` tells a name
    that is understood (be it of no use) from one that is not.
    """

    role: str
    unit: str = ""
    rank: int = 0
    known: bool = True
    name: str = ""


@lru_cache(maxsize=4096)
def field(text: str) -> Field:
    """The field that the header cell `text` names."""
    name = text.strip().strip('"').strip().lstrip("#").strip()
    match = _UNIT.fullmatch(name)
    base, unit = (match[1], match[2].lower()) if match else (name, "")
    unit = _NAME_UNITS.get(unit, unit)
    base = base.strip().lower()
    if base in _CANONICAL:
        role, rank = _CANONICAL[base]
        return Field(role, unit, rank, name=name)
    if base in _PLAIN or _DOTTED.fullmatch(base):
        return Field("", unit, name=name)
    words = [word for word in re.split(r"[^a-z0-9%]+", base) if word]
    if len(words) > 5 or _HOST.intersection(words):
        return Field("", unit, known=False, name=name)
    if len(words) > 1 and words[-1] in _NAME_UNITS:
        unit = unit or _NAME_UNITS[words[-1]]
        words = words[:-1]
    about_gpu = bool({"gpu", "nvidia", "cuda"}.intersection(words))
    words = [word for word in words if word not in ("gpu", "nvidia", "cuda", "current")]
    if about_gpu and not words:
        return Field("util_pct" if unit in ("%", "ratio") else "index", unit, 5, name=name)
    if "_".join(words) not in _HOME_MADE:
        return Field("", unit, known=False, name=name)
    role, rank = _HOME_MADE["_".join(words)]
    if role.startswith("mem_") and unit in ("%", "ratio"):
        role = ""  # how full or how busy: the name does not tell
    if role.endswith("?"):
        # "memory" alone may be a share or a size: only a unit tells.
        role, unit = role[:-1], unit or "?"
    return Field(role, unit, 5 + rank, name=name)


def header(cells: Sequence[str]) -> tuple[Field, ...] | None:
    """The fields of a header line, or None if `cells` are none."""
    if len(cells) > 1024 or any(len(cell) > 120 for cell in cells):
        return None
    if any(cell.strip()[:1].isdigit() for cell in cells):
        return None
    found = tuple(field(cell) for cell in cells)
    known = sum(f.known for f in found)
    used = [f for f in found if f.role]
    if not used or known < 0.6 * len(found):
        return None
    if len(found) == 1 and found[0].rank >= 5 and "gpu" not in cells[0].lower():
        return None  # a single word may be prose
    return found
