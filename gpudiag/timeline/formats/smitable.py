"""② Read logs of nvidia-smi's plain table: from `-l`, `watch`, a shell loop, or grep-ed from one.

Cells are told by what stands in them, never by their place: the table had two layouts and three
banners. A GPU takes two lines; the second holds the figures and is the one that counts as read.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from gpudiag.errors import UnreadableError
from gpudiag.timeline import clock
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.formats.gather import Gather
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.trouble import Trouble

NAME = "nvidia-smi tables"
_BANNER = re.compile(r"^\|\s*NVIDIA-SMI\s+\d", re.MULTILINE)
_DRIVER = re.compile(r"(?:Driver|KMD) Version:\s*([\d.]+)")
_FIRST = re.compile(
    r"^\|\s*(?P<index>\d{1,3})\s+(?P<name>\S.*?)\s*\|\s*"
    r"(?P<bus>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\b",
    re.MULTILINE,
)
_MODE = re.compile(r"(.*?)\s+(On|Off|WDDM|TCC|MCDM|N/A|ERR!)")
_NONE = r"N/A|ERR!|\[[^\]]*\]|Unknown Error|GPU is lost|-"
_SECOND = re.compile(
    rf"^[|\s]*(?P<fan>\d+\s?%|{_NONE})\s+(?P<temp>\d+\s?C|{_NONE})\s+(?P<perf>P\d+|{_NONE})\s+"
    rf"(?P<power>\d+(?:\.\d+)?\s?W|{_NONE})\s*/\s*(?P<cap>\d+(?:\.\d+)?\s?W|{_NONE})\s*\|?\s*"
    rf"(?:(?:\d+%\s+)?(?P<used>\d+)\s?Mi?B\s*/\s*(?P<total>\d+)\s?Mi?B"
    rf"|(?P<none>Not Supported|{_NONE})(?:\s*/\s*(?:{_NONE}))?)"
    rf"(?:\s*\|?\s*(?P<util>\d+\s?%|{_NONE})(?:\s+(?P<mode>[A-Z][\w. ]*?))?)?\s*(?:\||$)",
    re.MULTILINE,
)
_PIECE = re.compile(r"\d\s?MiB\s*/|\d\s?C\s+P\d+\s")
_PROCESS = re.compile(
    r"\|\s+\d+\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?\d+\s+(?:C|G|C\+G|M\+C|M)\s+"
    r"(\S.*?)\s+(?:\d+MiB|N/A|Insufficient\w*)\s*\|"
)
_WATCH = re.compile(rf"^Every [\d.,]+s: .*?({clock.DATE})\s*$")
_FAULT = Trouble(
    re.compile("ERR!"),
    "gpu-lost",
    "nvidia-smi cannot read the GPU",
    "look for Xid lines in dmesg; reset the GPU or reboot",
)
_SWITCH = {"On": "Enabled", "Off": "Disabled"}


def recognise(head: str) -> float:
    """By the banner and the rows of the table. One table alone may stand in front of a log."""
    if not _SECOND.search(head):
        return 0.3 if _BANNER.search(head) else 0.0
    banners = len(_BANNER.findall(head))
    return {0: 0.7, 1: 0.4}.get(banners, 0.8)


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    found = _Reader(log).run()
    if not len(found):
        told = next((t for _, _, t in found.troubles), None)
        raise UnreadableError(
            f"{log.path}: tables of nvidia-smi without a row of a GPU"
            + (f" ({told.meaning})" if told else ""),
            told.hint if told else "was it stopped before the table was whole?",
        )
    return timeline(found.readings(), log.path, NAME, found, interval_s)


@dataclass(frozen=True)
class _Head:
    """The first line of a GPU."""

    line: int
    text: str
    cells: dict[str, str]


class _Reader:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._found = Gather(log.notes)
        self._driver = ""
        self._open: _Head | None = None
        self._in_mig = False
        self._processes: Counter[str] = Counter()
        # Rows that were picked out of a table by grep have no first line, and so no index.
        self._indexed = bool(re.search(_FIRST.pattern.encode(), log.data, re.MULTILINE))

    def run(self) -> Gather:
        found = self._found
        for number, line in self._log.lines():
            found.lines += 1
            text = line.strip()
            if not text:
                found.other_lines += 1
            elif text[0] in "|+" or _SECOND.match(text):
                self._table_line(number, text)
            else:
                self._beside(number, text)
        self._orphan("the file ends before its second line")
        if self._processes:
            names = ", ".join(name for name, _ in self._processes.most_common(8))
            found.note(f"Processes seen: {names}.")
        return found

    def _beside(self, number: int, text: str) -> None:
        found = self._found
        if watch := _WATCH.match(text):
            found.stamps.append(watch[1])
            found.other_lines += 1
        elif text.startswith("--") and not text.strip("-"):
            found.rule += 1
            found.other_lines += 1
        elif (dated := clock.stamp(text)) and dated[1].startswith("|"):
            found.stamps.append(dated[0])
            self._table_line(number, dated[1])
        elif _PIECE.search(text):
            found.drop(number, "a damaged row of a table", text)
        else:
            found.other(number, text)

    def _table_line(self, number: int, text: str) -> None:
        found = self._found
        if _BANNER.match(text):
            self._orphan("its second line is missing")
            driver = _DRIVER.search(text)
            self._driver = driver[1] if driver else ""
            self._in_mig = False
            found.head += 1
            found.header_rows += 1
        elif second := _SECOND.match(text):
            self._second(number, text, second)
        elif first := _FIRST.match(text):
            self._orphan("its second line is missing")
            self._open = _Head(number, text, self._facts(first))
        else:
            self._rest(number, text)

    def _facts(self, first: re.Match[str]) -> dict[str, str]:
        """The texts of a GPU's first line, by role."""
        cells = {
            "index": first["index"],
            "bus": first["bus"],
        }
        mode = _MODE.fullmatch(first["name"])
        cells["name"] = mode[1] if mode else first["name"]
        if mode and mode[2] in _SWITCH:
            cells["persistence"] = _SWITCH[mode[2]]
        if self._driver:
            cells["driver"] = self._driver
        return cells

    def _second(self, number: int, text: str, row: re.Match[str]) -> None:
        found, head = self._found, self._open
        if head is None and self._indexed:
            found.drop(number, "the line with its index is missing", text)
            return
        if head is not None:
            found.other_lines += 1
            self._open = None
        cells = dict(head.cells) if head else {}
        cells |= {
            "temp_c": row["temp"],
            "pstate": row["perf"],
            "power_w": row["power"],
            "power_limit_w": row["cap"],
            "mem_used_mib": row["used"] or row["none"],
            "mem_total_mib": row["total"] or row["none"],
        }
        if row["util"]:
            cells["util_pct"] = row["util"]
        if row["mode"]:
            cells["compute_mode"] = row["mode"].strip()
        found.add(number, cells)
        if row["temp"] == row["perf"] == "ERR!":
            found.troubles.append((number, text[:300], _FAULT))

    def _rest(self, number: int, text: str) -> None:
        """A line of a table without figures: rules, heads, the MIG list, processes."""
        found = self._found
        if "MIG devices" in text:
            self._in_mig = True
            found.note(
                "MIG is on: nvidia-smi does not tell the utilisation of a GPU that is split."
            )
        elif "Processes:" in text:
            self._in_mig = False
        elif process := _PROCESS.match(text):
            name = re.split(r"[/\\]", process[1])[-1][:40]
            if name in self._processes or len(self._processes) < 1000:
                self._processes[name] += 1
        elif not self._in_mig and _PIECE.search(text):
            found.drop(number, "a damaged row of a table", text)
            return
        found.other_lines += 1

    def _orphan(self, reason: str) -> None:
        if self._open:
            self._found.drop(self._open.line, reason, self._open.text)
            self._open = None
