"""① What each `--query-gpu` field answers for one emulated GPU at one moment."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpudiag.demo.activity import Activity
from gpudiag.demo.faults import GPU
from gpudiag.demo.fields import DEPRECATED, Field, generation

NOT_AVAILABLE = "[N/A]"
LOST = "[GPU is lost]"
GPU_IDLE_BIT = 0x1
RESERVED_MIB = 320
_REASON_BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
}
# What a lost GPU still answers, since the tool knows it from the start of the loop.
_KNOWN_WHEN_LOST = frozenset(
    ["timestamp", "driver_version", "count", "name", "uuid", "serial", "pci.bus_id", "index"]
)


class Moment(NamedTuple):
    """One tick: its number, its wall time as text, the driver, and how many GPUs there are."""

    tick: int
    stamp: str
    driver: str
    gpus: int


def answers(
    gpu: GPU, activity: Activity, moment: Moment, throttle: dict[str, Any] | None
) -> dict[str, Any]:
    """Field name → figure or text. A field of the table that is not here answers `[N/A]`."""
    in_use = bool(activity.processes)
    bits = throttle["bits"] if throttle else (0 if activity.load > 0 else GPU_IDLE_BIT)
    clock = gpu.sm_clock_max_mhz if in_use else gpu.sm_clock_idle_mhz
    if throttle and in_use:
        clock = throttle.get("sm_clock_mhz", clock)
    used = min(sum(p.memory_mib for p in activity.processes), gpu.memory_total_mib - RESERVED_MIB)
    running_w = gpu.power_idle_w + (30.0 if in_use else 0.0)
    power = min(
        running_w + activity.load * (gpu.power_limit_w - gpu.power_idle_w), gpu.power_limit_w
    )
    domain, bus, device = gpu.bus_id.split(":")
    mig = "Enabled" if gpu.mig else "Disabled"
    found: dict[str, Any] = {
        "timestamp": moment.stamp,
        "driver_version": moment.driver,
        "count": moment.gpus,
        "name": gpu.name,
        "serial": f"16500{gpu.number:08d}",
        "uuid": gpu.uuid,
        "pci.bus_id": gpu.bus_id,
        "pci.domain": f"0x{domain[-4:]}",
        "pci.bus": f"0x{bus}",
        "pci.device": f"0x{device[:2]}",
        "pci.device_id": "0x233010DE",
        "pci.sub_device_id": "0x16C110DE",
        "pcie.link.gen.current": gpu.pcie_gen_max if in_use else 1,
        "pcie.link.gen.gpucurrent": gpu.pcie_gen_max if in_use else 1,
        "pcie.link.gen.max": gpu.pcie_gen_max,
        "pcie.link.gen.gpumax": gpu.pcie_gen_max,
        "pcie.link.width.current": gpu.pcie_lanes,
        "pcie.link.width.max": gpu.pcie_lanes,
        "index": gpu.number,
        "display_mode": "Disabled",
        "display_attached": "No",
        "display_active": "Disabled",
        "persistence_mode": "Enabled",
        "accounting.mode": "Disabled",
        "accounting.buffer_size": 4000,
        "vbios_version": "96.00.51.00.01",
        "gpu_recovery_action": "None",
        "reset_status.reset_required": "No",
        "reset_status.drain_and_reset_recommended": "No",
        "pstate": "P0" if in_use else "P8",
        "memory.total": gpu.memory_total_mib,
        "memory.reserved": RESERVED_MIB,
        "memory.used": used,
        "memory.free": gpu.memory_total_mib - RESERVED_MIB - used,
        "compute_mode": "Default",
        "compute_cap": "9.0",
        "encoder.stats.sessionCount": 0,
        "encoder.stats.averageFps": 0,
        "encoder.stats.averageLatency": 0,
        "ecc.mode.current": "Enabled",
        "ecc.mode.pending": "Enabled",
        "temperature.gpu": round(33 + 42 * activity.heat),
        "temperature.memory": round(36 + 44 * activity.heat),
        "temperature.gpu.tlimit": round(54 - 42 * activity.heat),
        "power.management": "Supported",
        "edpp_multiplier": 100.0,
        "clocks.current.graphics": clock,
        "clocks.current.sm": clock,
        "clocks.current.memory": gpu.mem_clock_mhz if in_use else gpu.mem_clock_mhz // 5,
        "clocks.current.video": clock * 4 // 5,
        "clocks.applications.graphics": gpu.sm_clock_max_mhz,
        "clocks.applications.memory": gpu.mem_clock_mhz,
        "clocks.default_applications.graphics": gpu.sm_clock_max_mhz,
        "clocks.default_applications.memory": gpu.mem_clock_mhz,
        "clocks.max.graphics": gpu.sm_clock_max_mhz,
        "clocks.max.sm": gpu.sm_clock_max_mhz,
        "clocks.max.memory": gpu.mem_clock_mhz,
        "mig.mode.current": mig,
        "mig.mode.pending": mig,
        "platform.chassis_serial_number": "",
    }
    for draw in ("power.draw", "power.draw.average", "power.draw.instant"):
        found[draw] = float(power)
    for limit in ("power.limit", "enforced.power.limit", "power.default_limit", "power.max_limit"):
        found[limit] = float(gpu.power_limit_w)
    found["power.min_limit"] = float(gpu.power_limit_w) / 3
    if not gpu.mig:  # utilisation is not supported on a GPU that is split
        found["utilization.gpu"] = round(100 * activity.busy)
        found["utilization.memory"] = round(45 * activity.traffic)
        for engine in ("encoder", "decoder", "jpeg", "ofa"):
            found[f"utilization.{engine}"] = 0
    for family in ("clocks_event_reasons", "clocks_throttle_reasons"):
        found[f"{family}.supported"] = f"0x{0x1FF:016X}"
        found[f"{family}.active"] = f"0x{bits:016X}"
        for reason, bit in _REASON_BITS.items():
            found[f"{family}.{reason}"] = "Active" if bits & bit else "Not Active"
    for reason in _REASON_BITS:
        found[f"clocks_event_reasons_counters.{reason}"] = 0
    for kind in ("corrected", "uncorrected"):
        for span in ("volatile", "aggregate"):
            for place in ("device_memory", "sram", "total"):
                found[f"ecc.errors.{kind}.{span}.{place}"] = 0
    for name, value in gpu.values.items():
        found[name] = value[moment.tick % len(value)] if isinstance(value, list) else value
    return found


def cell(field: Field, found: dict[str, Any], driver: str, *, lost: bool, units: bool) -> str:
    """One cell of a row, as the tool prints it."""
    if lost and field.name not in _KNOWN_WHEN_LOST:
        return LOST
    if generation(driver) >= field.deprecated:
        return DEPRECATED
    value = found.get(field.name, NOT_AVAILABLE)
    if isinstance(value, str):
        return value
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return f"{text} {field.unit}" if units and field.unit else text
