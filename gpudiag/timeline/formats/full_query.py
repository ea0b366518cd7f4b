"""② What `nvidia-smi -q` tells of a GPU, as text and as XML: where each figure stands.

The index is in neither: GPUs are numbered by their bus ids, as nvidia-smi does, unless only some
were asked for (`-i`).
"""

from __future__ import annotations

from collections.abc import Mapping

from gpudiag.timeline.cells import is_missing
from gpudiag.timeline.fields import FIGURES
from gpudiag.timeline.formats.gather import Gather

# Role, then the places of -q and (after |) those of -q -x, the best first.
_PLACES = """
name: product name | product_name
bus: pci/bus id | pci/pci_bus_id
uuid: gpu uuid | uuid
vbios: vbios version | vbios_version
persistence: persistence mode | persistence_mode
mig: mig mode/current | mig_mode/current_mig
ecc: ecc mode/current | ecc_mode/current_ecc
compute_mode: compute mode | compute_mode
util_pct: utilization/gpu | utilization/gpu_util
mem_util_pct: utilization/memory | utilization/memory_util
mem_used_mib: fb memory usage/used | fb_memory_usage/used
mem_total_mib: fb memory usage/total | fb_memory_usage/total
power_w: power readings/power draw; gpu power readings/power draw; gpu power readings/average power draw; gpu power readings/instantaneous power draw | power_readings/power_draw; gpu_power_readings/power_draw; gpu_power_readings/average_power_draw; gpu_power_readings/instant_power_draw
power_limit_w: power readings/power limit; gpu power readings/current power limit | power_readings/power_limit; gpu_power_readings/current_power_limit
power_default_limit_w: power readings/default power limit; gpu power readings/default power limit | power_readings/default_power_limit; gpu_power_readings/default_power_limit
power_max_limit_w: power readings/max power limit; gpu power readings/max power limit | power_readings/max_power_limit; gpu_power_readings/max_power_limit
temp_c: temperature/gpu current temp; temperature/gpu | temperature/gpu_temp
sm_clock_mhz: clocks/sm | clocks/sm_clock
mem_clock_mhz: clocks/memory | clocks/mem_clock
sm_clock_max_mhz: max clocks/sm | max_clocks/sm_clock
mem_clock_max_mhz: max clocks/memory | max_clocks/mem_clock
pstate: performance state | performance_state
pcie_gen: pci/gpu link info/pcie generation/current | pci/pci_gpu_link_info/pcie_gen/current_link_gen
pcie_gen_max: pci/gpu link info/pcie generation/max | pci/pci_gpu_link_info/pcie_gen/max_link_gen
pcie_lanes: pci/gpu link info/link width/current | pci/pci_gpu_link_info/link_widths/current_link_width
pcie_lanes_max: pci/gpu link info/link width/max | pci/pci_gpu_link_info/link_widths/max_link_width
"""  # noqa: E501 - one role a line

_BITS = {
    "idle": 1, "gpu idle": 1, "applications clocks setting": 2, "sw power cap": 4,
    "hw slowdown": 8, "sync boost": 16, "sw thermal slowdown": 32, "hw thermal slowdown": 64,
    "hw power brake slowdown": 128, "display clock setting": 256, "display clocks setting": 256,
}  # fmt: skip


def _table() -> dict[str, tuple[str, int]]:
    places: dict[str, tuple[str, int]] = {}
    for line in _PLACES.strip().splitlines():
        role, _, rest = line.partition(": ")
        for side in rest.split(" | "):
            for rank, place in enumerate(side.split("; ")):
                places[place] = (role, rank)
    return places


_ROLES = _table()


class Gpu:
    """What one GPU tells at one moment, found place by place."""

    def __init__(self, line: int, bus: str, place: int) -> None:
        self.line, self.bus, self.place = line, bus, place
        self._cells: dict[str, tuple[bool, int, str]] = {}
        self._bits: list[tuple[int, str]] = []

    def tell(self, place: str, text: str) -> None:
        """Take in what stands at `place`: `utilization/gpu`, in lower case."""
        if "reason" in place:
            self._reason(place, text)
            return
        role, rank = _ROLES.get(place, ("", 0))
        if not role:
            return
        if role.startswith("pcie_lanes"):
            text = text.removesuffix("x")
        new = (is_missing(text), rank, text)
        if role not in self._cells or new[:2] < self._cells[role][:2]:
            self._cells[role] = new

    def _reason(self, place: str, text: str) -> None:
        section, _, leaf = place.partition("/")
        if section.replace("_", " ") not in ("clocks event reasons", "clocks throttle reasons"):
            return
        name = leaf.rpartition("/")[2].rpartition("_reason_")[2].replace("_", " ")
        if name in _BITS:
            self._bits.append((_BITS[name], text.lower()))

    def cells(self) -> dict[str, str]:
        """The texts by role; the clock event reasons as one mask."""
        cells = {role: text for role, (_, _, text) in self._cells.items()}
        if self._bits:
            told = [(bit, text) for bit, text in self._bits if text in ("active", "not active")]
            active = sum({bit for bit, text in told if text == "active"})
            cells["throttle_bits"] = str(active) if told else self._bits[0][1]
        if self.bus and "bus" not in cells:
            cells["bus"] = self.bus
        return cells


class Numbers:
    """GPU numbers: by bus id where there is one, else by the place in the output."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}

    def add(self, gpus: list[Gpu], found: Gather, shared: Mapping[str, str]) -> set[int]:
        """Add the readings of `gpus` (one output of nvidia-smi) to `found`; the lines taken."""
        lines = set()
        for gpu in gpus:
            cells = gpu.cells()
            if not cells.keys() & {*FIGURES}:
                continue
            key = cells.get("bus", "").upper() or f"place {gpu.place}"
            number = self._of.setdefault(key, len(self._of))
            if number < 256:
                found.add(gpu.line, {**cells, **shared, "index": str(number)})
                lines.add(gpu.line)
        if len(self._of) > 1:
            found.note("The log has no GPU index; GPUs are numbered in the order of their bus ids.")
        return lines
