"""⑤ Where the run took place: GPUs, host, limits and settings, as far as the recording says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpudiag.gpu_names import gpu_name
from gpudiag.language import tr
from gpudiag.masking import MASK, is_secret
from gpudiag.report.clean import clean
from gpudiag.report.labels import mebibytes, number
from gpudiag.report.view import Table
from gpudiag.timeline.model import Timeline

UNKNOWN = "–"


def mapping(value: object) -> Mapping[str, Any]:
    """`value` if it is a mapping, else an empty one: a file may hold anything."""
    return value if isinstance(value, Mapping) else {}


def figure(value: object) -> float | None:
    """`value` as a figure, None if it is none (true, false and what is not finite are none)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -1e15 < value < 1e15 else None


def environment(timeline: Timeline) -> tuple[Table, ...]:
    """The tables of GPUs and host; a table of which nothing is known is left out."""
    return tuple(
        table for table in (_gpus(timeline), _shared(timeline), _host(timeline)) if table.rows
    )


def settings(timeline: Timeline) -> tuple[tuple[str, str], ...]:
    """The environment variables and rank facts that were recorded, by name."""
    found = {**mapping(timeline.start.get("env")), **mapping(timeline.start.get("rank"))}
    return tuple(
        (clean(name, 100), MASK if is_secret(str(name)) else clean(found[name], 500))
        for name in sorted(found, key=str)
    )


def _gpus(timeline: Timeline) -> Table:
    """One row a GPU, with what tells the GPUs apart; what all share is in `_shared`."""
    rows, alike = _facts_of_gpus(timeline)
    apart = [
        place
        for place, name in enumerate(_GPU_FACTS)
        if (name in _ALWAYS or not alike[place]) and any(row[place] != UNKNOWN for row in rows)
    ]
    if len(apart) < 2:
        return Table(tr("GPUs"), (), ())
    head = tuple(tr(list(_GPU_FACTS)[place]) for place in apart)
    return Table(tr("GPUs"), head, tuple(tuple(row[place] for place in apart) for row in rows))


def _shared(timeline: Timeline) -> Table:
    rows, alike = _facts_of_gpus(timeline)
    kept = tuple(
        (tr(name), rows[0][place])
        for place, name in enumerate(_GPU_FACTS)
        if name not in _ALWAYS and alike[place]
    )
    return Table(tr("Every GPU") if len(rows) > 1 else tr("The GPU"), ("", ""), kept)


def _facts_of_gpus(timeline: Timeline) -> tuple[list[list[str]], list[bool]]:
    """The facts of each GPU, and for each fact whether it is known and the same for all."""
    known = [{"index": gpu, **timeline.gpu_facts(gpu)} for gpu in timeline.gpus]
    rows = [[write(facts) for write in _GPU_FACTS.values()] for facts in known]
    alike = [
        bool(rows) and rows[0][place] != UNKNOWN and len({row[place] for row in rows}) == 1
        for place in range(len(_GPU_FACTS))
    ]
    return rows, alike


def _host(timeline: Timeline) -> Table:
    host = mapping(timeline.start.get("host"))
    cgroup = mapping(host.get("cgroup"))
    rows = (
        (tr("Host"), _text(host, "hostname")),
        (tr("System"), _joined(host, "os", "kernel")),
        (tr("Python of the recorder"), _text(host, "python")),
        (tr("Logical CPUs"), _unit(host, "cpus", number)),
        (tr("Physical cores"), _unit(host, "cores", number)),
        (tr("CPUs the run may use"), _unit(host, "affinity_cpus", number)),
        (tr("Cores it can really use"), _unit(host, "effective_cores", number)),
        (tr("CPU quota of the control group"), _unit(cgroup, "cpu_quota_cores", _cores)),
        (tr("Memory"), _unit(host, "mem_total_mib", mebibytes)),
        (tr("Memory limit of the control group"), _unit(cgroup, "mem_limit_mib", mebibytes)),
        (tr("Swap"), _unit(host, "swap_total_mib", mebibytes)),
        ("/dev/shm", _unit(host, "shm_total_mib", mebibytes)),
        (tr("Working folder"), _text(timeline.start, "cwd")),
    )
    kept = tuple((name, value) for name, value in rows if value != UNKNOWN)
    return Table(tr("Host"), ("", ""), kept)


def _cores(value: float) -> str:
    return tr("{count} cores", count=number(value))


def _text(facts: Mapping[str, Any], key: str) -> str:
    value = facts.get(key)
    return UNKNOWN if value is None or value == "" else clean(value, 200)


def _joined(facts: Mapping[str, Any], *keys: str) -> str:
    found = [text for text in (_text(facts, key) for key in keys) if text != UNKNOWN]
    return tr(", ").join(found) or UNKNOWN


def _unit(facts: Mapping[str, Any], key: str, write: Any) -> str:
    value = figure(facts.get(key))
    return UNKNOWN if value is None else str(write(value))


def _number(facts: Mapping[str, Any]) -> str:
    index = facts.get("index", UNKNOWN)
    return clean(gpu_name(index) if isinstance(index, int) else index, 60)


def _pcie(facts: Mapping[str, Any]) -> str:
    gen, lanes = figure(facts.get("pcie_gen_max")), figure(facts.get("pcie_lanes_max"))
    if gen is None or lanes is None:
        return UNKNOWN
    return f"gen {gen:.0f} ×{lanes:.0f}"


_ALWAYS = ("GPU", "Name", "Memory", "UUID")
_GPU_FACTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "GPU": _number,
    "Name": lambda facts: _text(facts, "name"),
    "Memory": lambda facts: _unit(facts, "mem_total_mib", mebibytes),
    "Driver": lambda facts: _text(facts, "driver"),
    "Power limit": lambda facts: _unit(facts, "power_limit_w", lambda w: f"{number(w)} W"),
    "SM clock, max": lambda facts: _unit(facts, "sm_clock_max_mhz", lambda f: f"{f:.0f} MHz"),
    "PCIe, max": _pcie,
    "Persistence": lambda facts: _text(facts, "persistence"),
    "MIG": lambda facts: _text(facts, "mig"),
    "ECC": lambda facts: _text(facts, "ecc"),
    "UUID": lambda facts: _text(facts, "uuid"),
}
