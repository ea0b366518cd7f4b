"""④ The figures of both runs side by side, each with what its change may be off."""

from __future__ import annotations

import math

import numpy as np

from gpudiag.compare.bootstrap import Mean
from gpudiag.compare.measure import Measured
from gpudiag.compare.model import Estimate, Quantity

# name, unit: means over the active time of columns of run.csv
_COLUMNS = (
    ("main_cpu_pct", "%"),
    ("workers", ""),
    ("workers_cpu_pct", "%"),
    ("host_idle_cores", "cores"),
    ("tree_disk_read_mib_s", "MiB/s"),
    ("host_net_rx_mib_s", "MiB/s"),
)
_COVERED = 0.95  # of the time must have a reading for a total over it


def quantities(before: Measured, after: Measured) -> tuple[Quantity, ...]:
    """What at least one of the runs was measured for."""
    known = before.signals.clock.known and after.signals.clock.known
    rows = []
    if known:
        rows.append(_plain("run_s", "s", _wall(before), _wall(after)))
        rows.append(_plain("active_s", "s", before.active_s or None, after.active_s or None))
    rows.append(
        _mean("busy_gpus", "GPUs", before.mean(before.busy_gpus), after.mean(after.busy_gpus))
    )
    rows.append(_mean("util_pct", "%", _utilisation(before), _utilisation(after)))
    rows.append(
        _plain("mem_peak_mib", "MiB", before.peak("mem_used_mib"), after.peak("mem_used_mib"))
    )
    rows.append(_mean("power_w", "W", _power(before), _power(after)))
    if known:
        rows.append(_plain("energy_wh", "Wh", _energy(before), _energy(after)))
    rows += [
        _mean(name, unit, before.column_mean(name), after.column_mean(name))
        for name, unit in _COLUMNS
    ]
    host = "host_mem_used_mib"
    rows.append(_plain(host, "MiB", _highest(before, host), _highest(after, host)))
    return tuple(row for row in rows if _told(row))


def _told(row: Quantity) -> bool:
    """Whether one of the runs was measured for it, and not nought in both."""
    return any(value not in (None, 0) for value in (row.before, row.after))


def _plain(name: str, unit: str, before: float | None, after: float | None) -> Quantity:
    both = before is not None and after is not None
    return Quantity(
        name,
        unit,
        before,
        after,
        Estimate(after - before) if both else None,  # type: ignore[operator]
    )


def _mean(name: str, unit: str, before: Mean | None, after: Mean | None) -> Quantity:
    if before is None or after is None:
        return _plain(name, unit, before.value if before else None, after.value if after else None)
    change = Estimate(after.value - before.value)
    if before.half is not None and after.half is not None:
        half = math.hypot(before.half, after.half)
        change = Estimate(change.value, change.value - half, change.value + half)
    return Quantity(name, unit, before.value, after.value, change)


def _wall(run: Measured) -> float | None:
    return run.signals.clock.wall or None


def _utilisation(run: Measured) -> Mean | None:
    table = run.gpu_columns("util_pct")
    return None if table is None else run.mean(np.asarray(table.mean(axis=0)))


def _power(run: Measured) -> Mean | None:
    table = run.gpu_columns("power_w")
    return None if table is None else run.mean(np.asarray(table.sum(axis=0)))


def _energy(run: Measured) -> float | None:
    """Watt-hours of the GPUs of the run; None where more than a little of the time has none."""
    table = run.gpu_columns("power_w")
    if table is None:
        return None
    power, clock = table.sum(axis=0), run.signals.clock
    valid = np.isfinite(power)
    covered = float(clock.weight[valid].sum())
    if clock.wall <= 0 or covered < _COVERED * clock.wall:
        return None
    return float((power[valid] * clock.weight[valid]).sum()) / 3600


def _highest(run: Measured, name: str) -> float | None:
    column = run.timeline.column(name)
    return None if column is None else float(column.max())
