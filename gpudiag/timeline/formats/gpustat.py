"""② Read logs of gpustat, as text (with its colours or `-p`) and as `--json`.

gpustat writes MB and means MiB.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gpudiag.errors import UnreadableError
from gpudiag.timeline import clock
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.formats.gather import Cell, Gather
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "gpustat"
_ROW = re.compile(
    r"^\[(\d{1,3})\]\s+(.*?)\s*\|\s*(\d+|\?\?|--)\s*(?:[^\s\w,]{1,4}C|'C|C),([^|]*)\|"
    r"\s*(\d+|\?\?)\s*/\s*(\d+|\?\?)\s*MB\b",
    re.MULTILINE,
)
_PERCENT = re.compile(r"(?<![EDP]: )(?<!\d)(\d+|\?\?)\s*%")
_POWER = re.compile(r"(\d+|\?\?)\s*/\s*(\d+|\?\?)\s*W")
_TITLE = re.compile(rf"^(\S+)\s+({clock.DATE})(?:\s+([\d.]+))?\s*$")
_JSON = re.compile(r"\A\s*\{[^{}]{0,400}\"gpus\"\s*:\s*\[")
_KEYS = {
    "index": "index", "uuid": "uuid", "name": "name", "temperature.gpu": "temp_c",
    "utilization.gpu": "util_pct", "power.draw": "power_w",
    "enforced.power.limit": "power_limit_w", "memory.used": "mem_used_mib",
    "memory.total": "mem_total_mib",
}  # fmt: skip
_LONGEST = 1 << 20


def recognise(head: str) -> float:
    """By a row with index, temperature, utilisation and memory, or by the frame of its JSON."""
    return 0.95 if _ROW.search(head) or _JSON.search(head) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    found = Gather(log.notes)
    taken = _json(log, found) if _JSON.search(log.head) else _text(log, found)
    if not len(found):
        raise UnreadableError(
            f"{log.path}: a gpustat log without a reading of a GPU", "was it stopped at once?"
        )
    return timeline(found.readings(taken), log.path, NAME, found, interval_s)


def _text(log: Log, found: Gather) -> int | None:
    driver = ""
    for number, line in log.lines():
        found.lines += 1
        text = line.strip()
        if row := _ROW.match(text):
            _row(found, number, row, driver)
        elif title := _TITLE.match(text):
            found.stamps.append(title[2])
            driver = title[3] or ""
            found.header_rows += 1
            found.head += 1
        elif re.match(r"\[\d{1,3}\] .*\|", text):
            found.drop(number, "a damaged row of gpustat", text)
        else:
            found.other(number, text)
    return None


def _row(found: Gather, number: int, row: re.Match[str], driver: str) -> None:
    if int(row[1]) > 255:
        found.drop(number, "no GPU has such an index", row[0])
        return
    # A fan's share stands before the utilisation, the encoder's (in brackets) behind it.
    shares = _PERCENT.findall(re.sub(r"\([^)]*\)", "", row[4]))
    power = _POWER.search(row[4])
    cells: dict[str, Cell] = {
        "index": row[1],
        "name": row[2],
        "temp_c": _told(row[3]),
        "mem_used_mib": _told(row[5]),
        "mem_total_mib": _told(row[6]),
    }
    if shares:
        cells["util_pct"] = _told(shares[-1])
    if power:
        cells |= {"power_w": _told(power[1]), "power_limit_w": _told(power[2])}
    if driver:
        cells["driver"] = driver
    found.add(number, cells)


def _told(text: str) -> str:
    return "N/A" if text == "??" else text


def _json(log: Log, found: Gather) -> int:
    """Documents one after another, on one line each or over many; how many lines they took."""
    taken: set[int] = set()
    document: list[str] = []
    first = 0
    for number, line in log.lines():
        found.lines += 1
        if line.startswith("{") and document:
            taken |= _document(found, first, document)
            document = []
        if line.startswith("{") or document:
            first = first if document else number
            document.append(line)
            found.other_lines += 1
            if len(document) > _LONGEST:
                document = []
        else:
            found.other(number, line.strip())
    if document:
        taken |= _document(found, first, document)
    return len(taken)


def _document(found: Gather, first: int, lines: list[str]) -> set[int]:
    try:
        document = json.loads("\n".join(lines))
        gpus = document["gpus"]
    except (ValueError, KeyError, TypeError, RecursionError):
        found.other_lines -= 1
        found.drop(first, "a damaged JSON document", lines[0])
        return set()
    time = document.get("query_time")
    if isinstance(time, str):
        found.stamps.append(time[:40])
    count = len(found)
    for gpu in gpus if isinstance(gpus, list) else []:
        cells = _cells(gpu)
        if cells is not None:
            found.add(first, cells)
    if len(found) == count:
        return set()
    found.head += 1
    found.other_lines -= 1
    return {first}


def _cells(gpu: Any) -> dict[str, Cell] | None:
    if not isinstance(gpu, dict) or not isinstance(gpu.get("index"), int):
        return None
    if not 0 <= gpu["index"] < 256:
        return None
    return {
        role: "N/A" if gpu[key] is None else str(gpu[key])[:200]
        for key, role in _KEYS.items()
        if key in gpu and isinstance(gpu[key], str | int | float | None)
    }
