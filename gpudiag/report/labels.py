"""⑤ What a column of run.csv is called on the page, and how its figures are written there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpudiag.gpu_names import gpu_name
from gpudiag.language import tr
from gpudiag.timeline.columns import Column, parse_name


@dataclass(frozen=True)
class Label:
    """A column on the page: its title, the unit shown, the colour family, and a fixed axis top."""

    title: str
    unit: str
    family: str
    top: float | None = None


_TITLES: dict[str, tuple[str, str]] = {
    "skew_s": ("Time between GPU and host sample", "tick"),
    "gpu_batch_s": ("Time for one batch of GPU rows", "tick"),
    "util_pct": ("utilisation", "gpu"),
    "mem_util_pct": ("memory controller busy", "gpu"),
    "mem_used_mib": ("memory used", "memory"),
    "power_w": ("power", "power"),
    "temp_c": ("temperature", "power"),
    "sm_clock_mhz": ("SM clock", "power"),
    "mem_clock_mhz": ("memory clock", "power"),
    "pstate": ("performance state (0 is fastest)", "power"),
    "throttle_bits": ("reasons that hold the clock down (bit mask)", "power"),
    "pcie_gen": ("PCIe generation", "power"),
    "pcie_lanes": ("PCIe width", "power"),
    "own_procs": ("processes of the run", "gpu"),
    "foreign_procs": ("processes that are not of the run", "gpu"),
    "foreign_mem_mib": ("memory that those hold", "memory"),
    "host_cpu_pressure_pct": ("Host: time in which a program waited for a core", "host"),
    "host_io_pressure_pct": ("Host: time in which a program waited for a disk", "host"),
    "host_mem_pressure_pct": ("Host: time in which a program waited for memory", "host"),
    "main_cpu_wait_pct": ("Training process: its threads waited for a core", "process"),
    "workers_cpu_wait_pct": ("Workers: their threads waited for a core", "process"),
    "workers_pss_mib": ("Memory of the workers, shared pages counted once", "memory"),
    "host_cpu_pct": ("Host CPU, all cores", "host"),
    "host_core_max_pct": ("Busiest core of the host", "host"),
    "host_iowait_pct": ("Host I/O wait (unreliable)", "host"),
    "host_idle_cores": ("Idle cores that the run may use", "host"),
    "host_mem_used_mib": ("Host memory used", "memory"),
    "host_mem_avail_mib": ("Host memory available", "memory"),
    "host_swap_used_mib": ("Swap used", "memory"),
    "host_disk_read_mib_s": ("Disk reads, whole host", "io"),
    "host_disk_write_mib_s": ("Disk writes, whole host", "io"),
    "host_net_rx_mib_s": ("Network received, whole host", "io"),
    "host_net_tx_mib_s": ("Network sent, whole host", "io"),
    "host_load": ("Load average over one minute", "host"),
    "host_shm_used_mib": ("Used in /dev/shm", "memory"),
    "cgroup_cpu_cores": ("CPU of the run's control group", "host"),
    "cgroup_throttled_pct": ("CPU quota: periods in which the group was stopped", "host"),
    "cgroup_stopped_cores": ("CPU quota: cores lost to it", "host"),
    "cgroup_mem_used_mib": ("Memory charged to the control group", "memory"),
    "cgroup_mem_cache_mib": ("File cache within it", "memory"),
    "cgroup_oom_kills": ("Processes killed for memory", "memory"),
    "main_cpu_pct": ("CPU of the training process (100 % is one core)", "process"),
    "main_thread_cpu_pct": ("CPU of its busiest thread", "process"),
    "main_threads": ("Threads of the training process", "process"),
    "main_rss_mib": ("Memory of the training process", "memory"),
    "main_read_mib_s": ("Read by the training process", "io"),
    "main_write_mib_s": ("Written by the training process", "io"),
    "workers": ("Data-loader workers", "process"),
    "workers_cpu_pct": ("CPU of all data-loader workers (100 % is one core)", "process"),
    "workers_cpu_min_pct": ("CPU of the least busy worker", "process"),
    "workers_cpu_median_pct": ("CPU of the median worker", "process"),
    "workers_cpu_max_pct": ("CPU of the busiest worker", "process"),
    "workers_running": ("Workers running", "process"),
    "workers_sleeping": ("Workers asleep", "process"),
    "workers_blocked": ("Workers blocked, mostly on storage", "process"),
    "workers_new": ("Workers started since the last sample", "process"),
    "workers_gone": ("Workers ended since the last sample", "process"),
    "workers_rss_mib": ("Memory of the workers, added up", "memory"),
    "workers_read_mib_s": ("Read by the workers", "io"),
    "workers_switches_per_s": ("Voluntary context switches of the workers", "process"),
    "others": ("Other processes of the run", "process"),
    "others_cpu_pct": ("CPU of other processes of the run", "process"),
    "others_rss_mib": ("Memory of other processes of the run", "memory"),
    "tree_disk_read_mib_s": ("Read from storage by the run", "io"),
    "tree_disk_write_mib_s": ("Written to storage by the run", "io"),
    "tree_write_mib_s": ("Written by the run", "io"),
}
_WHOLE = {"util_pct", "mem_util_pct", "host_cpu_pct", "host_core_max_pct", "cgroup_throttled_pct",
          "host_cpu_pressure_pct", "host_io_pressure_pct", "host_mem_pressure_pct"}  # fmt: skip
_UNITS = {"%": "%", "1/s": "per s"}


def label(name: str) -> Label | None:
    """The label of the column `name` as it stands in the file, None if there is no such column."""
    parsed = parse_name(name)
    if parsed is None:
        return None
    column, device = parsed
    return _label(column, device)


def _label(column: Column, device: int | None) -> Label:
    title, family = _TITLES.get(column.name, (column.name, "host"))
    title = tr(title)
    if device is not None:
        title = tr(
            "GPU {gpu} {title}" if column.scope == "gpu" else "Rank {gpu} {title}",
            gpu=gpu_name(device) if column.scope == "gpu" else device,
            title=title,
        )
    unit = tr(_UNITS.get(column.unit, column.unit))
    return Label(title, unit, family, 100.0 if column.name in _WHOLE else None)


def number(value: float) -> str:
    """Three significant digits, and no exponent in the usual range: `0.034`, `1,250`."""
    if not math.isfinite(value):
        return tr("not a number") if math.isnan(value) else tr("infinite")
    if value == 0:
        return "0"
    if abs(value) >= 1e7 or abs(value) < 1e-4:
        return f"{value:.2e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """`34 %`, `0.6 %`, `< 0.1 %`: a share of 0 to 1 with no more digits than it is worth."""
    value = share * 100
    if value == 0:
        return "0 %"
    if 0 < value < 0.1:
        return "< 0.1 %"
    return f"{value:.1f} %" if abs(value) < 0.95 else f"{value:.0f} %"


def percents(shares: Sequence[float]) -> list[str]:
    """Whole percents of shares that add up to 1, so rounded that they add up to 100.

    The largest remainders are rounded up; a share below half a percent is `< 1 %`.
    """
    whole = [math.floor(share * 100) for share in shares]
    left = max(0, round(sum(shares) * 100) - sum(whole))
    ranked = sorted(range(len(shares)), key=lambda place: whole[place] - shares[place] * 100)
    for place in ranked[:left]:
        whole[place] += 1
    return [f"{value} %" if value else "< 1 %" for value in whole]


def mebibytes(value: float) -> str:
    """`512 MiB`, `3.2 GiB`, `79.6 GiB`."""
    return f"{value:.0f} MiB" if abs(value) < 1024 else f"{number(value / 1024)} GiB"
