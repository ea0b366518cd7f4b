"""② What the columns of a log without a header are: by units, by values, by NVIDIA's usual order.

Only what admits one reading is named; each assumption becomes a note, and so does what was left
out because it cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import pandas as pd

from gpudiag.timeline.fields import Field
from gpudiag.timeline.smicsv_look import Column, look

_LETTERS = {
    "U": "util_pct",
    "V": "mem_util_pct",
    "M": "mem_used_mib",
    "T": "mem_total_mib",
    "C": "temp_c",
    "P": "power_w",
    "L": "power_limit_w",
}
_NVIDIA_NAMES = {
    "util_pct": "utilization.gpu",
    "mem_util_pct": "utilization.memory",
    "mem_used_mib": "memory.used",
    "mem_total_mib": "memory.total",
    "temp_c": "temperature.gpu",
    "power_w": "power.draw",
    "power_limit_w": "power.limit",
}


def guess(table: pd.DataFrame) -> tuple[tuple[Field, ...], list[str]]:
    """A field for each column of `table` (text cells), and the notes that say what was assumed."""
    columns = [look(at, table[at]) for at in range(table.shape[1])]
    roles = {c.at: c.kind for c in columns if c.kind not in ("figure", "missing", "other")}
    for role in ("time", "uuid", "bus", "name", "driver"):
        for double in [at for at, r in roles.items() if r == role][1:]:
            roles[double] = ""
    rest = [c for c in columns if c.kind == "figure"]
    if any(c.unit for c in rest):
        index = _index(rest, roles, columns)
        found, notes = _by_units([c for c in rest if c is not index])
    else:
        index = _index(rest, roles, columns)
        found, notes = _by_order(rest)
        if index and (not found or _named(index, roles)):
            found, notes = _by_order([c for c in rest if c is not index])
        else:
            index = None
    if index:
        roles[index.at] = "index"
    roles |= found
    if found:
        listed = ", ".join(
            f"column {at + 1} {_NVIDIA_NAMES.get(role, role)}" for at, role in sorted(found.items())
        )
        notes.insert(
            0, f"The log has no header. By units, values and order it was read as {listed}."
        )
    return tuple(Field(roles.get(c.at, ""), c.unit.lower(), name="") for c in columns), notes


def _index(
    rest: Sequence[Column], roles: dict[int, str], columns: Sequence[Column]
) -> Column | None:
    """The column of GPU numbers: whole, small, first but for the time, and counting up."""
    first = next((c for c in columns if c.kind not in ("time", "missing")), None)
    if first is None or first not in rest or first.unit or first.decimals or len(rest) < 2:
        beside = {at - 1 for at, role in roles.items() if role in ("name", "uuid", "bus")}
        first = next((c for c in rest if c.at in beside and not c.unit and c.whole), None)
    if first is None or first.figures.max() > 63 or first.figures.min() < 0:
        return None
    values = first.figures
    if first.constant:
        return first if values[0] < 16 else None
    up = (np.diff(values) == 1) | (values[1:] <= values[:-1]) & (values[1:] == values.min())
    gapless = len(np.unique(values)) == values.max() - values.min() + 1
    return first if _named(first, roles) or (gapless and up.mean() > 0.95) else None


def _named(column: Column, roles: dict[int, str]) -> bool:
    """Whether a name, UUID or bus id stands beside the column."""
    return any(roles.get(column.at + step) in ("name", "uuid", "bus") for step in (-1, 1))


def _by_units(rest: Sequence[Column]) -> tuple[dict[int, str], list[str]]:
    found: dict[int, str] = {}
    notes: list[str] = []
    left_out: list[Column] = []
    shares = [c for c in rest if c.unit == "%"]
    if len(shares) == 1:
        found[shares[0].at] = "util_pct"
    elif len(shares) == 2 and shares[0].figures.mean() >= shares[1].figures.mean() - 1:
        found[shares[0].at], found[shares[1].at] = "util_pct", "mem_util_pct"
    else:
        left_out += shares
    sizes = [c for c in rest if c.unit in ("MiB", "MB", "GiB")]
    memory = _memory(sizes, shares)
    found |= memory
    left_out += [c for c in sizes if c.at not in memory]
    watts = [c for c in rest if c.unit == "W"]
    draws = [c for c in watts if not (c.constant and c.figures[0] == round(c.figures[0]))]
    if len(draws) == 1:
        found[draws[0].at] = "power_w"
        if len(watts) == 2:
            found[next(c.at for c in watts if c is not draws[0])] = "power_limit_w"
    else:
        left_out += watts
    left_out += [c for c in rest if c.unit == "MHz"]
    plain = [c for c in rest if c.unit in ("", "C")]
    warm = [c for c in plain if c.whole and c.figures.min() > 16 and c.figures.max() <= 110]
    if warm:
        # temperature.memory stands behind temperature.gpu in NVIDIA's list.
        found[warm[0].at] = "temp_c"
    left_out += [c for c in plain if c.at not in found]
    if left_out:
        notes.append(_left_out(left_out))
    return found, notes


def _memory(sizes: Sequence[Column], shares: Sequence[Column]) -> dict[int, str]:
    """Which of the MiB columns is used, which total; empty for what cannot be told."""
    if len(sizes) == 1:
        return {sizes[0].at: "mem_used_mib"}
    if len(sizes) not in (2, 3) or any(len(c.figures) != len(sizes[0].figures) for c in sizes):
        return {}
    fixed = [c for c in sizes if len(np.unique(c.figures)) <= 4]
    total = max(sizes, key=lambda c: float(c.figures.min()))
    others = [c for c in sizes if c is not total]
    above = all(np.all(total.figures >= c.figures) for c in others)
    if total in fixed and above and total.figures.min() >= 1000:
        if len(others) == 1:
            ordered = total.at > others[0].at or not others[0].constant
            return {total.at: "mem_total_mib"} | ({others[0].at: "mem_used_mib"} if ordered else {})
        used = _used(others[0], others[1], shares)
        return {total.at: "mem_total_mib"} | ({used.at: "mem_used_mib"} if used else {})
    if len(sizes) == 2:
        used = _used(sizes[0], sizes[1], shares)
        return {used.at: "mem_used_mib"} if used else {}
    return {}


def _used(one: Column, other: Column, shares: Sequence[Column]) -> Column | None:
    """Of memory used and free (their sum stands still), the one that rises with the load."""
    total = one.figures + other.figures
    if np.ptp(total) > 0.02 * total.max() or one.constant or not shares:
        return None
    load = shares[0].values
    if load is None or len(load) != len(one.figures) or np.isnan(load).any() or np.ptp(load) == 0:
        return None
    r = float(np.corrcoef(load, one.figures)[0, 1])
    return None if abs(r) < 0.05 or len(load) < 30 else (one if r > 0 else other)


def _orders() -> dict[int, list[str]]:
    """The orders in which people ask for these figures, by length."""
    found = set()
    loads = ("U", "UV", "UC", "UVC")
    for front, load, memory in product(("", "C", "P", "PC", "CP"), loads, ("", "M", "MT", "TM")):
        if "C" in front and "C" in load:
            continue
        ends = [letter for letter in ("C", "P") if letter not in front + load]
        tails = {"".join(p) for n in range(len(ends) + 1) for p in permutations(ends, n)}
        for tail in tails | {tail.replace("P", "PL") for tail in tails}:
            found.add(front + load + memory + tail)
            if not front:
                found.add(memory + load + tail)
    return {n: sorted(o for o in found if len(o) == n) for n in range(1, 10)}


_ORDERS = _orders()


def _by_order(rest: Sequence[Column]) -> tuple[dict[int, str], list[str]]:
    """Name bare figures by the usual orders: only where all orders that fit agree."""
    fitting = [order for order in _ORDERS.get(len(rest), []) if _fits(order, rest)]
    found = {}
    for at, column in enumerate(rest):
        letters = {order[at] for order in fitting}
        if len(letters) == 1:
            found[column.at] = _LETTERS[letters.pop()]
    if not found:
        found = _sum_of_two(rest)
    left_out = [c for c in rest if c.at not in found]
    return found, [_left_out(left_out)] if left_out else []


def _fits(order: str, rest: Sequence[Column]) -> bool:
    by_letter = dict(zip(order, rest, strict=True))
    for letter, column in by_letter.items():
        low, high = float(column.figures.min()), float(column.figures.max())
        if letter in "UV" and not (column.whole and low >= 0 and high <= 100):
            return False
        if letter == "V" and column.figures.mean() > by_letter["U"].figures.mean() + 1:
            return False
        if letter == "C" and not (column.whole and low > 15 and high <= 95):
            return False
        if letter == "T" and not (
            column.whole and low >= 1900 and len(np.unique(column.figures)) <= 4
        ):
            return False
        if letter == "M" and not (
            column.whole and low >= 0 and high <= by_letter.get("T", column).figures.max()
        ):
            return False
        if letter == "P" and (not column.decimals or column.constant or low < 0 or high > 2000):
            return False
        if letter == "L" and not (column.decimals and column.constant and low > 30):
            return False
    return True


def _sum_of_two(rest: Sequence[Column]) -> dict[int, str]:
    """Total memory where it is the sum of the two columns beside it (used and free)."""
    for a, b, c in zip(rest, rest[1:], rest[2:], strict=False):
        for total, one, two in ((a, b, c), (c, a, b)):
            same = len(total.figures) == len(one.figures) == len(two.figures)
            big = total.whole and total.figures.min() >= 1900
            if same and big and np.array_equal(total.figures, one.figures + two.figures):
                return {total.at: "mem_total_mib"}
    return {}


def _left_out(columns: Sequence[Column]) -> str:
    listed = ", ".join(
        f"{c.at + 1} ({c.figures[0]:g}{' ' + c.unit if c.unit else ''} …)" for c in columns[:8]
    )
    return (
        f"Without a header it cannot be told what column {listed} holds; it was left out. "
        "Log with --format=csv (not noheader) to keep it."
    )
