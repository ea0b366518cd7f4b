"""② The heads of nvidia-smi dmon and pmon: columns by their names, dates and times by theirs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

_DAY_S = 86_400
_DATE = re.compile(r"(\d{4})[-/]?(\d\d)[-/]?(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d\d):(\d\d)", re.ASCII)


@dataclass(frozen=True)
class Columns:
    """The columns of a table. `names` in lower case; `units` beside them, empty if not told."""

    names: tuple[str, ...]
    units: tuple[str, ...]

    def roles(self, known: Mapping[str, str]) -> list[tuple[int, str, str]]:
        """(place, role, unit) for every column whose name is in `known`, one a role."""
        found: dict[str, tuple[int, str, str]] = {}
        for place, name in enumerate(self.names):
            if role := known.get(name):
                found.setdefault(role, (place, role, self.units[place].lower()))
        return list(found.values())


def words(line: str) -> list[str]:
    """The cells of a line of columns, parted by blanks or (with --format csv) by commas."""
    return line.replace(",", " ").split()


def head(line: str, first: tuple[str, ...]) -> Columns | None:
    """The columns of a header line: `#`, perhaps Date and Time, then names that begin so."""
    names = tuple(word.lower() for word in words(line.lstrip("# ")))
    at = 0
    while at < len(names) and names[at] in ("date", "time"):
        at += 1
    if names[at : at + len(first)] != first or len(names) > 200:
        return None
    return Columns(names, ("",) * len(names))


def units(line: str, columns: Columns) -> Columns | None:
    """`columns` with the units of the line below their names; None if it is no such line."""
    found = words(line.lstrip("# "))
    if len(found) != len(columns.names) or "Idx" not in found:
        return None
    return Columns(columns.names, tuple(found))


class DayClock:
    """Seconds from the date and the time of rows. Without a date, midnight starts a new day."""

    def __init__(self) -> None:
        self._last = -1
        self._days = 0
        self._date = ("", 0)
        self.dated = False

    def seconds(self, day: str, time: str) -> float:
        """Seconds since 1970 (or since the first midnight, without a date); NaN if it is none."""
        match = _TIME.fullmatch(time)
        if not match:
            return math.nan
        of_day = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])
        if of_day > _DAY_S:
            return math.nan
        if day:
            return self._day_s(day) + of_day
        if of_day < self._last - _DAY_S // 2:
            self._days += 1
        self._last = of_day
        return float(self._days * _DAY_S + of_day)

    def _day_s(self, text: str) -> float:
        if text != self._date[0]:
            match = _DATE.fullmatch(text)
            try:
                days = date(*map(int, match.groups())).toordinal() if match else None
            except ValueError:
                days = None
            if days is None:
                return math.nan
            self._date = (text, (days - date(1970, 1, 1).toordinal()) * _DAY_S)
        self.dated = True
        return float(self._date[1])
