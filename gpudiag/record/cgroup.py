"""① The run's control group: CPU quota and how often it stopped the run, memory and its limit.

Both versions of the kernel's interface; the files are found through /proc/PID/cgroup and
/proc/PID/mountinfo, because in a container neither the group nor its place is what it seems.
Limits may stand on any group above: the tightest counts.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

MIB = 1024.0 * 1024.0
_NO_LIMIT = 1 << 60  # version 1 writes a figure near 2^63 for "none"


class Cgroup:
    """Rates are over the time since the last sample; the constructor takes the first one.

    `cpu` and `memory` are the folders of the controller from the run's own group upwards; the
    root group, which is the whole machine, is not among them.
    """

    def __init__(
        self, cpu: list[Path], memory: list[Path], usage: list[Path], version: int
    ) -> None:
        self._version = version
        self._usage = usage[0] if usage else None
        quotas = [(quota, folder) for folder in cpu if (quota := self._quota(folder)) is not None]
        self._cpu_quota: float | None = None
        self._limited: Path | None = None
        if quotas:
            self._cpu_quota, self._limited = min(quotas)
        limits = [(size, folder) for folder in memory if (size := self._limit(folder)) is not None]
        self._mem_limit: float | None = None
        self._memory = memory[0] if memory else None
        if limits:
            self._mem_limit, self._memory = min(limits)
        self._before = self._count()

    @classmethod
    def of(cls, pid: int, proc: str = "/proc") -> Cgroup | None:
        """The control group of process `pid`, or None where there is none to see."""
        try:
            groups = Path(proc, str(pid), "cgroup").read_text()
            mounts = Path(proc, str(pid), "mountinfo").read_text()
        except (OSError, UnicodeDecodeError):
            return None
        found = folders(groups, mounts)
        if "cpu" in found or "memory" in found:
            cpu = found.get("cpu", [])
            return cls(cpu, found.get("memory", []), found.get("cpuacct", cpu), 1)
        if "" in found:
            return cls(found[""], found[""], found[""], 2)
        return None

    def limits(self) -> dict[str, Any]:
        """The `cgroup` of the start line."""
        return {
            "version": self._version,
            "cpu_quota_cores": None if self._cpu_quota is None else round(self._cpu_quota, 3),
            "mem_limit_mib": None if self._mem_limit is None else round(self._mem_limit / MIB),
        }

    def sample(self, elapsed_s: float) -> dict[str, float | None]:
        """The columns of scope `cgroup`."""
        before, self._before = self._before, self._count()
        used, periods, throttled, stopped = (
            None if then is None or now is None or now < then else now - then
            for then, now in zip(before, self._before, strict=True)
        )
        values: dict[str, float | None] = dict(self._memory_columns())
        if elapsed_s <= 0:
            return values
        if used is not None:
            values["cgroup_cpu_cores"] = used / elapsed_s
        if periods and throttled is not None:
            values["cgroup_throttled_pct"] = min(100.0 * throttled / periods, 100.0)
        elif periods == 0:
            values["cgroup_throttled_pct"] = 0.0
        if stopped is not None:
            values["cgroup_stopped_cores"] = stopped / elapsed_s
        return values

    def _count(self) -> tuple[float | None, ...]:
        """CPU seconds used; periods, periods throttled, seconds stopped; since the group began."""
        usage: float | None = None
        if self._usage is not None:
            if self._version == 2:
                usage = _scaled(_table(self._usage / "cpu.stat").get("usage_usec"), 1e-6)
            else:
                usage = _scaled(_figure(self._usage / "cpuacct.usage"), 1e-9)
        if self._limited is None:
            return (usage, None, None, None)
        table = _table(self._limited / "cpu.stat")
        if self._version == 2:
            stopped = _scaled(table.get("throttled_usec"), 1e-6)
        else:
            stopped = _scaled(table.get("throttled_time"), 1e-9)
        return (usage, table.get("nr_periods"), table.get("nr_throttled"), stopped)

    def _memory_columns(self) -> dict[str, float | None]:
        if self._memory is None:
            return {}
        folder, second = self._memory, self._version == 2
        used = _figure(folder / ("memory.current" if second else "memory.usage_in_bytes"))
        cache = _entry(folder / "memory.stat", "inactive_file" if second else "total_inactive_file")
        events = _table(folder / ("memory.events" if second else "memory.oom_control"))
        return {
            "cgroup_mem_used_mib": _scaled(used, 1 / MIB),
            "cgroup_mem_cache_mib": _scaled(cache, 1 / MIB),
            "cgroup_oom_kills": events.get("oom_kill"),
        }

    def _quota(self, folder: Path) -> float | None:
        if self._version == 2:
            words = _text(folder / "cpu.max").split()
            if len(words) != 2 or not words[0].isdigit():
                return None
            quota, period = float(words[0]), float(words[1])
        else:
            given = _figure(folder / "cpu.cfs_quota_us")
            length = _figure(folder / "cpu.cfs_period_us")
            if given is None or length is None:
                return None
            quota, period = given, length
        return quota / period if quota > 0 and period > 0 else None

    def _limit(self, folder: Path) -> float | None:
        name = "memory.max" if self._version == 2 else "memory.limit_in_bytes"
        limit = _figure(folder / name)
        return limit if limit is not None and limit < _NO_LIMIT else None


def folders(groups: str, mounts: str) -> dict[str, list[Path]]:
    """Controller ("" for version 2) → its folders, from the group upwards, without the root group.

    `groups` and `mounts` are the texts of /proc/PID/cgroup and /proc/PID/mountinfo.
    """
    mounted: dict[str, list[tuple[str, str]]] = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        place, kind = before.split(" "), after.split(" ")
        if len(place) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        where = (_unescaped(place[3]), _unescaped(place[4]))
        for controller in [""] if kind[0] == "cgroup2" else kind[2].split(","):
            mounted.setdefault(controller, []).append(where)
    found: dict[str, list[Path]] = {}
    for line in groups.splitlines():
        parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        for controller in parts[1].split(","):
            chain = _chain(parts[2], mounted.get(controller, []))
            if chain:
                found[controller] = chain
    return found


def _chain(group: str, mounts: list[tuple[str, str]]) -> list[Path]:
    for root, place in mounts:
        base = root.rstrip("/")
        if group != root and not group.startswith(base + "/"):
            continue
        top = Path(place)
        folder = Path(os.path.normpath(f"{place}/{group[len(base) :]}"))
        chain = [folder, *folder.parents]
        chain = chain[: chain.index(top) + 1] if top in chain else [top]
        return [path for path in chain if path.is_dir() and not _is_root(path)]
    return []


def _is_root(folder: Path) -> bool:
    """Whether this is the machine's root group and not merely the top of what a container sees."""
    if (folder / "cgroup.controllers").exists():
        return not (folder / "cgroup.type").exists()
    return (folder / "release_agent").exists()


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _figure(path: Path) -> float | None:
    text = _text(path).strip()
    return float(text) if re.fullmatch(r"-?\d+", text, re.ASCII) else None


def _table(path: Path) -> dict[str, float]:
    pairs = (line.split() for line in _text(path).splitlines())
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _entry(path: Path, name: str) -> float | None:
    """One figure of a long table, which need not be taken apart for it."""
    text = "\n" + _text(path)
    at = text.find(f"\n{name} ")
    words = text[at : at + 100].split(None, 2) if at >= 0 else []
    return float(words[1]) if len(words) > 1 and words[1].isdigit() else None


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
