"""② The metrics of GPU exporters for Prometheus: what each is, and which GPU its labels name."""

from __future__ import annotations

from collections.abc import Mapping

# Role and unit; dcgm-exporter, nvidia_gpu_exporter (nvidia_smi_*), nvidia_gpu_prometheus_exporter.
METRICS: dict[str, tuple[str, str]] = {
    "DCGM_FI_DEV_GPU_UTIL": ("util_pct", ""),
    "DCGM_FI_DEV_MEM_COPY_UTIL": ("mem_util_pct", ""),
    "DCGM_FI_DEV_FB_USED": ("mem_used_mib", ""),
    "DCGM_FI_DEV_FB_TOTAL": ("mem_total_mib", ""),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w", ""),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": ("power_limit_w", ""),
    "DCGM_FI_DEV_GPU_TEMP": ("temp_c", ""),
    "DCGM_FI_DEV_SM_CLOCK": ("sm_clock_mhz", ""),
    "DCGM_FI_DEV_MEM_CLOCK": ("mem_clock_mhz", ""),
    "DCGM_FI_DEV_PSTATE": ("pstate", ""),
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": ("throttle_bits", ""),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": ("throttle_bits", ""),
    "DCGM_FI_DEV_PCIE_LINK_GEN": ("pcie_gen", ""),
    "DCGM_FI_DEV_PCIE_LINK_WIDTH": ("pcie_lanes", ""),
    "nvidia_smi_utilization_gpu_ratio": ("util_pct", "ratio"),
    "nvidia_smi_utilization_memory_ratio": ("mem_util_pct", "ratio"),
    "nvidia_smi_memory_used_bytes": ("mem_used_mib", "b"),
    "nvidia_smi_memory_total_bytes": ("mem_total_mib", "b"),
    "nvidia_smi_power_draw_watts": ("power_w", ""),
    "nvidia_smi_power_limit_watts": ("power_limit_w", ""),
    "nvidia_smi_power_default_limit_watts": ("power_default_limit_w", ""),
    "nvidia_smi_power_max_limit_watts": ("power_max_limit_w", ""),
    "nvidia_smi_temperature_gpu": ("temp_c", ""),
    "nvidia_smi_clocks_current_sm_clock_hz": ("sm_clock_mhz", "hz"),
    "nvidia_smi_clocks_current_memory_clock_hz": ("mem_clock_mhz", "hz"),
    "nvidia_smi_clocks_max_sm_clock_hz": ("sm_clock_max_mhz", "hz"),
    "nvidia_smi_clocks_max_memory_clock_hz": ("mem_clock_max_mhz", "hz"),
    "nvidia_smi_pstate": ("pstate", ""),
    "nvidia_smi_clocks_event_reasons_active": ("throttle_bits", ""),
    "nvidia_smi_clocks_throttle_reasons_active": ("throttle_bits", ""),
    "nvidia_smi_pcie_link_gen_current": ("pcie_gen", ""),
    "nvidia_smi_pcie_link_width_current": ("pcie_lanes", ""),
    "nvidia_smi_pcie_link_gen_max": ("pcie_gen_max", ""),
    "nvidia_smi_pcie_link_width_max": ("pcie_lanes_max", ""),
    "nvidia_gpu_duty_cycle": ("util_pct", ""),
    "nvidia_gpu_memory_used_bytes": ("mem_used_mib", "b"),
    "nvidia_gpu_memory_total_bytes": ("mem_total_mib", "b"),
    "nvidia_gpu_power_usage_milliwatts": ("power_w", "mw"),
    "nvidia_gpu_temperature_celsius": ("temp_c", ""),
}
# Used where the driver's own utilisation is not among the metrics.
ENGINE_ACTIVE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
XID = "DCGM_FI_DEV_XID_ERRORS"
INFO = "nvidia_smi_gpu_info"
_TEXTS = {
    "uuid": ("UUID", "uuid", "gpu_uuid"),
    "name": ("modelName", "name"),
    "bus": ("pci_bus_id",),
    "driver": ("DCGM_FI_DRIVER_VERSION", "driver_version"),
}


class Gpus:
    """Numbers for GPUs: the label `gpu` where it is free, or the next free number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self.hosts: dict[str, None] = {}
        self.assumed = False

    def number(self, labels: Mapping[str, str]) -> int | None:
        """The number of the GPU that `labels` name; None if they name none."""
        label = labels.get("gpu") or labels.get("minor_number") or labels.get("index") or ""
        uuid = next((labels[k] for k in _TEXTS["uuid"] if labels.get(k)), "")
        if not (label or uuid):
            return None
        host = labels.get("Hostname") or labels.get("hostname") or labels.get("instance") or ""
        key = (uuid or host, label)
        if key in self._numbers:
            return self._numbers[key]
        self.hosts.setdefault(host)
        taken = set(self._numbers.values())
        wanted = int(label) if label.isascii() and label.isdigit() and len(label) < 3 else -1
        if wanted < 0 or wanted in taken:
            self.assumed = True
            wanted = next(n for n in range(len(taken) + 1) if n not in taken)
        if wanted > 255 or len(taken) > 1000:
            return None
        self._numbers[key] = wanted
        return wanted

    def note(self) -> str:
        """What must be said about the numbers; empty if they stand in the log."""
        if len([host for host in self.hosts if host]) > 1:
            shown = ", ".join(list(self.hosts)[:5])
            return f"The log is of several hosts ({shown}); their GPUs are numbered on."
        return "GPUs without a number got the next free one." if self.assumed else ""


def texts(labels: Mapping[str, str]) -> dict[str, str]:
    """The facts of a GPU that stand in the labels of its metrics, by role."""
    found = {}
    for role, names in _TEXTS.items():
        for name in names:
            if labels.get(name):
                found[role] = labels[name]
                break
    return found


def is_mig(labels: Mapping[str, str]) -> bool:
    """Whether a metric is of a part of a GPU."""
    return bool(labels.get("GPU_I_ID") or labels.get("GPU_I_PROFILE"))
