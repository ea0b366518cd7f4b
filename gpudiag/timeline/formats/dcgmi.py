"""② Read logs of `dcgmi dmon`: DCGM's columns by their tags.

GRACT is the share of time in which the graphics or compute engine was active: what
utilization.gpu is meant to say, measured without gaps. It stands in where GPUTL was not logged.
"""

from __future__ import annotations

import re

from gpudiag.errors import UnreadableError
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.formats.gather import Cell, Gather
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "dcgmi dmon"
_HEAD = re.compile(r"^#\s*Entity((?:[ \t]+[A-Z0-9]{2,8})+)[ \t]*$", re.MULTILINE)
_ROW = re.compile(r"(GPU|GPU-I|GPU-CI|Switch|CPU|Core|Link)\s+(\d{1,3})((?:\s+\S+)+)")
_ROLES = {
    "GPUTL": ("util_pct", ""), "MCUTL": ("mem_util_pct", ""), "POWER": ("power_w", ""),
    "TMPTR": ("temp_c", ""), "SMCLK": ("sm_clock_mhz", ""), "MMCLK": ("mem_clock_mhz", ""),
    "FBUSD": ("mem_used_mib", ""), "FBTTL": ("mem_total_mib", ""), "GRACT": ("util_pct", "ratio"),
    "PCILG": ("pcie_gen", ""), "PCILW": ("pcie_lanes", ""),
}  # fmt: skip


def recognise(head: str) -> float:
    """By its header line."""
    return 0.95 if _HEAD.search(head) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    found = Gather(log.notes)
    tags: list[str] = []
    for number, line in log.lines():
        found.lines += 1
        text = line.strip()
        if head := _HEAD.fullmatch(text):
            tags = head[1].split()
            found.header_rows += 1
            found.head += 1
            if "GRACT" in tags and "GPUTL" not in tags:
                found.note("Utilisation is DCGM's share of time with an active engine (GRACT).")
        elif text == "ID" or text.startswith("ID "):
            found.other_lines += 1
        elif tags and (row := _ROW.fullmatch(text)):
            _row(found, number, row, tags)
        else:
            found.other(number, text)
    if not len(found):
        raise UnreadableError(
            f"{log.path}: a dcgmi dmon log without a reading of a GPU gpudiag can use",
            f"of its columns gpudiag uses {', '.join(_ROLES)}",
        )
    return timeline(found.readings(), log.path, NAME, found, interval_s)


def _row(found: Gather, number: int, row: re.Match[str], tags: list[str]) -> None:
    if row[1] != "GPU":
        found.other_lines += 1
        found.note(f"Rows of {row[1]} entities were left aside: they are parts of a GPU, or none.")
        return
    values = row[3].split()
    if len(values) != len(tags):
        found.drop(number, f"{len(values)} cells where the header has {len(tags)}", row[0])
        return
    cells: dict[str, Cell] = {"index": row[2]}
    for tag, value in zip(tags, values, strict=True):
        role, unit = _ROLES.get(tag, ("", ""))
        if role and not (tag == "GRACT" and "GPUTL" in tags):
            cells[role] = (value, unit)
    if len(cells) == 1 or int(row[2]) > 255:
        found.drop(number, "no column of it is a reading that gpudiag uses", row[0])
        return
    found.add(number, cells)
