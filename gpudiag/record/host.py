"""① The machine: CPU, memory, disks, network, load, through psutil."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from gpudiag.record.linux.pressure import Pressure

MIB = 1024.0 * 1024.0
_RATES = ("disk_read", "disk_write", "net_rx", "net_tx")
_SHM = "/dev/shm"
# devices that stand on other devices would count the same bytes twice
_STACKED = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")


class HostSampler:
    """Rates are over the time since the last sample; the constructor takes the first one."""

    def __init__(self, cores: Collection[int]) -> None:
        self._cores = cores
        self._linux = sys.platform == "linux"
        self._has_swap = psutil.swap_memory().total > 0
        self._times = psutil.cpu_times(percpu=True)
        self._counters = self._count()
        self._pressure: Pressure | None = None
        if self._linux:
            from gpudiag.record.linux.pressure import Pressure

            self._pressure = Pressure()

    def sample(self, elapsed_s: float) -> dict[str, float | None]:
        """The columns of scope `host`."""
        memory = psutil.virtual_memory()
        values = self._cpu()
        values["host_mem_used_mib"] = memory.used / MIB
        values["host_mem_avail_mib"] = memory.available / MIB
        values["host_swap_used_mib"] = psutil.swap_memory().used / MIB if self._has_swap else 0.0
        values["host_load"] = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        values["host_shm_used_mib"] = _shm("used")
        before, self._counters = self._counters, self._count()
        for name, then, now in zip(_RATES, before, self._counters, strict=True):
            values[f"host_{name}_mib_s"] = _rate(then, now, elapsed_s)
        return values | (self._pressure.sample(elapsed_s) if self._pressure else {})

    def _cpu(self) -> dict[str, float | None]:
        before, self._times = self._times, psutil.cpu_times(percpu=True)
        if len(before) != len(self._times):  # a core went on- or offline
            return {}
        busy, waiting, total = [], 0.0, 0.0
        for then, now in zip(before, self._times, strict=True):
            spent = max(_total(now) - _total(then), 0.0)
            wait = max(getattr(now, "iowait", 0.0) - getattr(then, "iowait", 0.0), 0.0)
            idle = max(now.idle - then.idle, 0.0) + wait
            busy.append(1 - min(idle / spent, 1.0) if spent > 0 else None)
            waiting += wait
            total += spent
        known = [share for share in busy if share is not None]
        if not known or total <= 0:
            return {}
        mine = [busy[core] for core in self._cores if core < len(busy)]
        return {
            "host_cpu_pct": 100 * sum(known) / len(known),
            "host_core_max_pct": 100 * max(known),
            "host_iowait_pct": 100 * waiting / total if sys.platform == "linux" else None,
            "host_idle_cores": sum(1 - share for share in mine if share is not None),
        }

    def _count(self) -> tuple[int | None, int | None, int | None, int | None]:
        """Bytes read from and written to disks, received and sent, since the machine started."""
        try:
            disks = psutil.disk_io_counters(perdisk=True, nowrap=False) or {}
        except (OSError, RuntimeError, NotImplementedError):  # a /proc/diskstats psutil cannot read
            disks = {}
        if self._linux:
            disks = {name: io for name, io in disks.items() if self._is_whole_disk(name)}
        cards = psutil.net_io_counters(pernic=True, nowrap=False) or {}
        cards = {name: io for name, io in cards.items() if not name.startswith(("lo", "Loopback"))}
        return (
            sum(io.read_bytes for io in disks.values()) if disks else None,
            sum(io.write_bytes for io in disks.values()) if disks else None,
            sum(io.bytes_recv for io in cards.values()) if cards else None,
            sum(io.bytes_sent for io in cards.values()) if cards else None,
        )

    def _is_whole_disk(self, name: str) -> bool:
        if name not in _WHOLE_DISKS:
            path = Path("/sys/block", name.replace("/", "!"))
            _WHOLE_DISKS[name] = not name.startswith(_STACKED) and path.exists()
        return _WHOLE_DISKS[name]


_WHOLE_DISKS: dict[str, bool] = {}


def _rate(then: int | None, now: int | None, elapsed_s: float) -> float | None:
    """MiB/s, or None if it is not known (a card or disk that went away takes its count along)."""
    if then is None or now is None or now < then or elapsed_s <= 0:
        return None
    return (now - then) / MIB / elapsed_s


def _total(times: Any) -> float:
    # guest time is in user time already
    extra = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return float(sum(times)) - extra


def _shm(what: str) -> float | None:
    try:
        usage = shutil.disk_usage(_SHM)
    except OSError:
        return None
    return float(getattr(usage, what)) / MIB


def facts(cores: Collection[int]) -> dict[str, Any]:
    """What does not change during a run (the `host` of the start line, without the cgroup)."""
    total_shm = _shm("total")
    return {
        "hostname": socket.gethostname(),
        "os": _os_name(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "cpus": psutil.cpu_count() or None,
        "cores": psutil.cpu_count(logical=False),
        "mem_total_mib": round(psutil.virtual_memory().total / MIB),
        "swap_total_mib": round(psutil.swap_memory().total / MIB),
        "affinity_cpus": len(cores),
        "shm_total_mib": None if total_shm is None else round(total_shm),
    }


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def usable_cores(pid: int) -> list[int]:
    """The logical cores that process `pid` may run on."""
    try:
        if hasattr(os, "sched_getaffinity"):
            return sorted(os.sched_getaffinity(pid))
    except OSError:
        pass  # it has ended already
    return list(range(psutil.cpu_count() or 1))
