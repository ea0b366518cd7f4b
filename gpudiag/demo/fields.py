"""① The `--query-gpu` fields of the simulated nvidia-smi: names, aliases, units, drivers.

A field prints under its canonical name, whichever alias was asked for. The generations 465, 535,
590 and 610 are modelled; a first driver that lies between two of them is an estimate. Left out are
families that say nothing about a training (vGPU, power smoothing, fabric health, SRAM details).
"""

from __future__ import annotations

from typing import NamedTuple

DEPRECATED = "[Requested functionality has been deprecated]"
_FOREVER = 9999


class Field(NamedTuple):
    """One property: its canonical name, unit ("" for none) and the drivers that know it.

    `deprecated` is the first driver that answers with a notice instead of a value.
    """

    name: str
    aliases: tuple[str, ...]
    unit: str
    since: int
    until: int
    deprecated: int


# canonical name | aliases | unit | first driver | first driver without it | deprecated from
_TABLE = """
timestamp
driver_version
vgpu_driver_capability.heterogenous_multivGPU |||550
count
name|gpu_name
serial|gpu_serial
uuid|gpu_uuid
pci.bus_id|gpu_bus_id
pci.domain
pci.bus
pci.device
pci.baseClass|||550
pci.subClass|||550
pci.device_id
pci.sub_device_id
pcie.link.gen.current
pcie.link.gen.gpucurrent|||510
pcie.link.gen.max
pcie.link.gen.gpumax|||510
pcie.link.gen.hostmax|||510
pcie.link.width.current
pcie.link.width.max
index
display_mode|||||590
display_attached|||590
display_active
persistence_mode
addressing_mode|||550
accounting.mode
accounting.buffer_size
driver_model.current
driver_model.pending
vbios_version
inforom.img|inforom.image
inforom.oem
inforom.ecc
inforom.pwr|inforom.power
inforom.checksum_validation|||580
reset_status.reset_required|||510|560
reset_status.drain_and_reset_recommended|||510|560
gpu_recovery_action|||560
gom.current|gpu_operation_mode.current
gom.pending|gpu_operation_mode.pending
fan.speed||%
pstate
memory.total||MiB
memory.reserved||MiB|510
memory.used||MiB
memory.free||MiB
compute_mode
compute_cap|||510
utilization.gpu||%
utilization.memory||%
utilization.encoder||%|530
utilization.decoder||%|530
utilization.jpeg||%|530
utilization.ofa||%|530
encoder.stats.sessionCount
encoder.stats.averageFps
encoder.stats.averageLatency
dramEncryption.mode.current|||570
dramEncryption.mode.pending|||570
ecc.mode.current
ecc.mode.pending
retired_pages.single_bit_ecc.count|retired_pages.sbe
retired_pages.double_bit.count|retired_pages.dbe
retired_pages.pending
remapped_rows.correctable|remapped_rows.sbe||550
remapped_rows.uncorrectable|remapped_rows.dbe||550
remapped_rows.pending|||550
remapped_rows.failure|||550
temperature.gpu
temperature.gpu.tlimit|||535
temperature.memory
power.management|||||590
power.draw||W
power.draw.average|gpu.power.draw.average|W|535
power.draw.instant|gpu.power.draw.instant|W|535
power.limit|gpu.power.requested_limit|W
enforced.power.limit|gpu.power.current_limit|W
power.default_limit|gpu.power.default_limit|W
power.min_limit|gpu.power.min_limit|W
power.max_limit|gpu.power.max_limit|W
module.power.draw.average||W|550
module.power.draw.instant||W|550
module.power.limit|module.power.requested_limit|W|550
edpp_multiplier||%|580
clocks.current.graphics|clocks.gr|MHz
clocks.current.sm|clocks.sm|MHz
clocks.current.memory|clocks.mem|MHz
clocks.current.video|clocks.video|MHz
clocks.applications.graphics|clocks.applications.gr|MHz|||590
clocks.applications.memory|clocks.applications.mem|MHz|||590
clocks.default_applications.graphics|clocks.default_applications.gr|MHz|||590
clocks.default_applications.memory|clocks.default_applications.mem|MHz|||590
clocks.max.graphics|clocks.max.gr|MHz
clocks.max.sm||MHz
clocks.max.memory|clocks.max.mem|MHz
mig.mode.current
mig.mode.pending
gsp.mode.current|||535
gsp.mode.default|||535
c2c.mode|||545
protected_memory.total||MiB|545
protected_memory.used||MiB|545
protected_memory.free||MiB|545
fabric.state|||535
fabric.status|||535
platform.chassis_serial_number|||570
platform.slot_number|||570
platform.module_id|||570
bbx.time_run|||610
hostname|||580
"""

_REASONS = (
    "supported",
    "active",
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "sw_thermal_slowdown",
    "sync_boost",
)
_COUNTED = (
    "sw_power_cap",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
)
_ECC_PLACES = (
    "device_memory",
    "register_file",
    "l1_cache",
    "l2_cache",
    "texture_memory",
    "cbu",
    "sram",
    "total",
)
_CLOCK_REASONS_RENAMED = 535


def generation(driver: str) -> int:
    """The leading number of a driver version such as `535.113.01`. Raises ValueError."""
    return int(driver.partition(".")[0])


def query_gpu_fields(driver: str) -> tuple[Field, ...]:
    """The properties that `--query-gpu` of `driver` accepts, in the order of its help."""
    version = generation(driver)
    fields: list[Field] = []
    for line in _TABLE.strip().splitlines():
        cells = [cell.strip() for cell in line.split("|")] + [""] * 6
        name, aliases, unit, since, until, deprecated = cells[:6]
        fields.append(
            Field(
                name,
                tuple(aliases.split()),
                unit,
                int(since or 0),
                int(until or _FOREVER),
                int(deprecated or _FOREVER),
            )
        )
        if name == "pstate":
            fields += _clock_reasons(version)
        elif name == "ecc.mode.pending":
            fields += _ecc_counters()
    return tuple(f for f in fields if f.since <= version < f.until)


def _clock_reasons(version: int) -> list[Field]:
    """535 renamed `clocks_throttle_reasons` and kept the old name as an alias."""
    new, old = "clocks_event_reasons", "clocks_throttle_reasons"
    if version < _CLOCK_REASONS_RENAMED:
        return [Field(f"{old}.{r}", (), "", 0, _FOREVER, _FOREVER) for r in _REASONS]
    renamed = [Field(f"{new}.{r}", (f"{old}.{r}",), "", 0, _FOREVER, _FOREVER) for r in _REASONS]
    counters = [Field(f"{new}_counters.{r}", (), "us", 590, _FOREVER, _FOREVER) for r in _COUNTED]
    return renamed + counters


def _ecc_counters() -> list[Field]:
    return [
        Field(f"ecc.errors.{kind}.{span}.{place}", (), "", 0, _FOREVER, _FOREVER)
        for kind in ("corrected", "uncorrected")
        for span in ("volatile", "aggregate")
        for place in _ECC_PLACES
    ]


COMPUTE_APPS_FIELDS = (
    Field("timestamp", (), "", 0, _FOREVER, _FOREVER),
    Field("gpu_name", (), "", 0, _FOREVER, _FOREVER),
    Field("gpu_bus_id", (), "", 0, _FOREVER, _FOREVER),
    Field("gpu_serial", (), "", 0, _FOREVER, _FOREVER),
    Field("gpu_uuid", (), "", 0, _FOREVER, _FOREVER),
    Field("pid", (), "", 0, _FOREVER, _FOREVER),
    Field("process_name", ("name",), "", 0, _FOREVER, _FOREVER),
    Field("used_gpu_memory", ("used_memory",), "MiB", 0, _FOREVER, _FOREVER),
)


class UnknownFieldError(Exception):
    """The first name that a query asks for and the driver does not know."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def resolve(query: str, fields: tuple[Field, ...]) -> list[Field]:
    """The fields of a comma-separated query, in the order asked. Raises UnknownFieldError."""
    known = {name: field for field in fields for name in (field.name, *field.aliases)}
    chosen = []
    for name in query.split(","):
        if name.strip() not in known:
            raise UnknownFieldError(name.strip())
        chosen.append(known[name.strip()])
    return chosen
