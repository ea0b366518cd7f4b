"""② Read the text of sar and mpstat (sysstat): the whole machine's CPU, memory, disks, network.

%user, %system and so on add up to the time that was neither idle nor waiting for a disk, which is
what host_cpu_pct means. kbmemused is left aside: versions differ on whether the cache is in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from gpudiag.errors import UnreadableError
from gpudiag.timeline.host.model import HostGather, HostLog
from gpudiag.timeline.load import Log

NAME = "sar"
_TITLE = re.compile(
    r"^Linux \S+ \([^)]*\)\s+(\d\d/\d\d/\d\d(?:\d\d)?|\d{4}-\d\d-\d\d)\b.*?(?:\((\d+) CPU\))?\s*$",
    re.MULTILINE,
)
_LINE = re.compile(r"(\d\d:\d\d:\d\d)(?: ([AP]M))?\s+(\S.*)")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
_DATES = ("%m/%d/%Y", "%d/%m/%Y", "%Y-%m-%d", "%m/%d/%y", "%d/%m/%y")
_KEYS = ("CPU", "IFACE")
# Column of sar, ours, and what to multiply by.
_PLAIN = {
    "kbavail": ("host_mem_avail_mib", 1 / 1024),
    "kbswpused": ("host_swap_used_mib", 1 / 1024),
    "ldavg-1": ("host_load", 1.0),
    "bread/s": ("host_disk_read_mib_s", 512 / 2**20),
    "bwrtn/s": ("host_disk_write_mib_s", 512 / 2**20),
}


def recognise(head: str) -> float:
    """By the title line of sysstat."""
    return 0.9 if _TITLE.search(head) else 0.0


def read(log: Log) -> HostLog:
    """The samples in `log`. Raises UnreadableError if there is none that gpudiag uses."""
    found = _Reader(log).run()
    if not len(found):
        raise UnreadableError(
            f"{log.path}: a sar log without a figure that gpudiag uses",
            "it uses sar -u, -P ALL, -r, -S, -q, -b and -n DEV",
        )
    return found.log(log.path, NAME, "wall")


class _Reader:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._found = HostGather(log.notes)
        self._date: datetime | None = None
        self._day: datetime | None = None
        self._names: list[str] = []
        self._last: datetime | None = None
        self._at = 0.0
        self._cores: dict[str, float] = {}
        self._net: dict[str, tuple[float, float]] = {}

    def run(self) -> HostGather:
        found = self._found
        for number, line in self._log.lines():
            found.lines += 1
            text = line.strip()
            if title := _TITLE.match(text):
                self._title(title)
            elif self._date and (match := _LINE.fullmatch(text)):
                self._row(number, match)
        return found

    def _title(self, title: re.Match[str]) -> None:
        for form in _DATES:
            try:
                self._date = datetime.strptime(title[1], form)
                break
            except ValueError:
                continue
        if title[2]:
            self._found.facts["cpus"] = int(title[2][:6])
        self._day, self._names, self._last = self._date, [], None

    def _row(self, number: int, match: re.Match[str]) -> None:
        cells = match[3].split()
        if any(cell[0] in "%k" or cell in (*_KEYS, "runq-sz", "tps") for cell in cells):
            if cells != self._names:
                # The next table of the same day, not the head of the next page of this one.
                self._date, self._last = self._day, None
            self._names = cells
            return
        if not self._names:
            return
        if len(cells) != len(self._names):
            self._found.drop(number, f"{len(cells)} cells under {len(self._names)}", match[0])
            return
        time = self._time(match)
        if time is None:
            self._found.drop(number, "its time cannot be read", match[0])
            return
        row = dict(zip(self._names, cells, strict=True))
        self._found.add(number, time, self._figures(row, time))

    def _time(self, match: re.Match[str]) -> float | None:
        assert self._date is not None
        form = "%H:%M:%S" if not match[2] else "%I:%M:%S %p"
        try:
            clock = datetime.strptime(f"{match[1]} {match[2] or ''}".strip(), form)
        except ValueError:
            return None
        at = self._date.replace(hour=clock.hour, minute=clock.minute, second=clock.second)
        if self._last and at < self._last - timedelta(hours=12):
            self._date += timedelta(days=1)
            at += timedelta(days=1)
        self._last = at
        return (at - datetime(1970, 1, 1)).total_seconds()

    def _figures(self, row: Mapping[str, str], time: float) -> dict[str, float]:
        if time != self._at:
            self._at, self._cores, self._net = time, {}, {}
        figures = {
            column: _number(row[name]) * by for name, (column, by) in _PLAIN.items() if name in row
        }
        if "%idle" in row and "CPU" in row:
            iowait = _number(row["%iowait"]) if "%iowait" in row else 0.0
            busy = min(max(100 - _number(row["%idle"]) - iowait, 0.0), 100.0)
            if row["CPU"] == "all":
                figures["host_cpu_pct"] = busy
                if "%iowait" in row:
                    figures["host_iowait_pct"] = iowait
            else:
                self._cores[row["CPU"]] = busy
                figures["host_core_max_pct"] = max(self._cores.values())
        if "IFACE" in row and "rxkB/s" in row and row["IFACE"] != "lo":
            self._net[row["IFACE"]] = (_number(row["rxkB/s"]), _number(row.get("txkB/s", "")))
            figures["host_net_rx_mib_s"] = sum(rx for rx, _ in self._net.values()) / 1024
            figures["host_net_tx_mib_s"] = sum(tx for _, tx in self._net.values()) / 1024
        return figures


def _number(text: str) -> float:
    return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else float("nan")
