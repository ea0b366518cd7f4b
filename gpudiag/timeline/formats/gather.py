"""② Gather readings one by one: what the readers of `formats/` share.

A reader finds the cells of a reading; here they become figures with their reasons (ten bytes a
cell), and all other lines are counted, so that every line of the file is accounted for.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpudiag.timeline import cells, clock, trouble
from gpudiag.timeline.fields import FACT_TEXTS
from gpudiag.timeline.model import Dropped
from gpudiag.timeline.readings import Readings

# Different texts of one column that are remembered; a longer log forgets and begins anew.
_REMEMBERED = 50_000
_MOST_WORDS = 10_000
_MOST_DROPPED = 1_000_000
NO_COLUMN = "no such column"

Cell = str | tuple[str, str]


class _Column:
    """The figures of one role, as its texts come; a log repeats few different texts."""

    def __init__(self, role: str, reasons: cells.Reasons) -> None:
        self.values, self.numbers = array("d"), array("h")
        self._role, self._reasons = role, reasons
        self._known: dict[str, dict[str, tuple[float, int]]] = {}

    def known(self, unit: str) -> dict[str, tuple[float, int]]:
        """The texts that were seen, with the figure and the number of the reason of each."""
        return self._known.setdefault(unit, {})

    def learn(self, text: str, unit: str) -> tuple[float, int]:
        """The same for a text that was not seen yet."""
        known = self.known(unit)
        value, reason = cells.figure(text, self._role, unit)
        if len(known) >= _REMEMBERED:
            known.clear()
        known[text] = pair = (value, self._reasons.number(reason) if value != value else 0)
        return pair

    def fill(self, count: int, number: int) -> None:
        """Make it `count` long; the rows it was not in have the reason `number`."""
        more = count - len(self.values)
        if more > 0:
            self.values.extend([math.nan] * more)
            self.numbers.extend([number] * more)


@dataclass(frozen=True)
class Plan:
    """Where in a row which roles stand: what `Gather.add_row` needs."""

    roles: tuple[tuple[int, _Column, str, dict[str, tuple[float, int]]], ...]


class Gather:
    """Readings in file order, and the counts of all lines that were none."""

    def __init__(self, notes: tuple[str, ...] = ()) -> None:
        self.notes = list(notes)
        self.lines = self.header_rows = self.other_lines = 0
        self.rule = self.head = 0
        self.stamps: list[str] = []
        self.dropped: list[Dropped] = []
        self.troubles: list[tuple[int, str, trouble.Trouble]] = []
        self._day = ""
        self._text_lines = 0
        self._first_text = (0, "")
        self._line, self._time = array("q"), array("d")
        self._marks = (array("q"), array("q"), array("q"))
        self._figures: dict[str, _Column] = {}
        self._codes: dict[str, array[int]] = {}
        self._words: dict[str, dict[str, int]] = {}
        self._reasons = cells.Reasons()
        self._absent = self._reasons.number(NO_COLUMN)

    def __len__(self) -> int:
        return len(self._line)

    @property
    def last_line(self) -> int:
        """The line of the last reading; 0 if there is none."""
        return self._line[-1] if self._line else 0

    @property
    def timed(self) -> bool:
        """Whether any reading has a time of its own."""
        return any(time == time for time in self._time)

    def add(self, line: int, found: Mapping[str, Cell], time: float = math.nan) -> None:
        """Add the reading of one GPU at one moment.

        `found`: the text of each role, or (text, unit that the header names). `time`: seconds.
        """
        at = len(self._line)
        self._begin(line, time)
        for role, cell in found.items():
            text, unit = cell if isinstance(cell, tuple) else (cell, "")
            if role in FACT_TEXTS:
                self._word(role, text, at)
                continue
            column = self._column(role)
            column.fill(at, self._absent)
            value, number = column.known(unit).get(text) or column.learn(text, unit)
            column.values.append(value)
            column.numbers.append(number)

    def plan(self, roles: Iterable[tuple[int, str, str]]) -> Plan:
        """A plan for rows of one header: (place, role, unit) for each column of it that is used."""
        planned = []
        for place, role, unit in roles:
            column = self._column(role)
            planned.append((place, column, unit, column.known(unit)))
        return Plan(tuple(planned))

    def add_row(self, line: int, row: Sequence[str], plan: Plan, time: float = math.nan) -> None:
        """Add a reading as `add` does, faster: its figures stand in `row` where `plan` says."""
        at = len(self._line)
        self._begin(line, time)
        for place, column, unit, known in plan.roles:
            text = row[place]
            value, number = known.get(text) or column.learn(text, unit)
            if len(column.values) != at:
                column.fill(at, self._absent)
            column.values.append(value)
            column.numbers.append(number)

    def _begin(self, line: int, time: float) -> None:
        self._line.append(line)
        self._time.append(time)
        stamp, rule, head = self._marks
        stamp.append(len(self.stamps) - 1)
        rule.append(self.rule)
        head.append(self.head)

    def _column(self, role: str) -> _Column:
        column = self._figures.get(role)
        if column is None:
            column = self._figures[role] = _Column(role, self._reasons)
        return column

    def _word(self, role: str, text: str, at: int) -> None:
        words = self._words.setdefault(role, {})
        codes = self._codes.setdefault(role, array("l"))
        codes.extend([-1] * (at - len(codes)))
        text = text.strip()[:200]
        missing = cells.is_missing(text) or (text not in words and len(words) >= _MOST_WORDS)
        codes.append(-1 if missing else words.setdefault(text, len(words)))

    def drop(self, line: int, reason: str, text: str = "") -> None:
        """Count a line that should have been a reading and is none."""
        if len(self.dropped) < _MOST_DROPPED:
            self.dropped.append(Dropped(line, reason, text[:80]))
        else:
            self.other_lines += 1

    def other(self, line: int, text: str) -> str:
        """Count a line that is no row: a date, a message, console text. What follows its date."""
        half = clock.day_or_hour(text) if text[:1].isalnum() else None
        dated = None if half or not text else clock.stamp(text)
        told = trouble.find(text) if text and not half else None
        self.other_lines += 1
        if half:
            self._half(*half)
        elif dated:
            self.stamps.append(dated[0])
        if told:
            self.troubles.append((line, text[:300], told))
        elif text and not half and not (dated and not dated[1]):
            self.console(line, text)
        return dated[1] if dated else ""

    def console(self, line: int, text: str) -> None:
        """Note that text which is no part of the log was passed over; it counts elsewhere."""
        if not self._text_lines:
            self._first_text = (line, text[:80])
        self._text_lines += 1

    def _half(self, kind: str, text: str) -> None:
        if kind == "day":
            self._day = text
        elif self._day:
            self.stamps.append(f"{self._day} {text}")

    def note(self, text: str) -> None:
        """Say `text` once."""
        if text not in self.notes:
            self.notes.append(text)

    def unreadable(self, role: str, why: str) -> None:
        """Take the last reading's figure of `role` back, with the reason `why`."""
        column = self._figures.get(role)
        if column and len(column.values) == len(self._line):
            column.values[-1] = math.nan
            column.numbers[-1] = self._reasons.number(why)

    def readings(self, lines_taken: int | None = None, *, absolute: bool = False) -> Readings:
        """All readings. `lines_taken`, `absolute`: see Readings."""
        count = len(self._line)
        if self._text_lines:
            number, text = self._first_text
            lines = "1 line" if self._text_lines == 1 else f"{self._text_lines:,} lines"
            self.notes.append(f"{lines} of other text passed over, first line {number}: {text!r}.")
        for column in self._figures.values():
            column.fill(count, self._absent)
        for codes in self._codes.values():
            codes.extend([-1] * (count - len(codes)))
        time = np.array(self._time)
        stamp, rule, head = (np.array(mark, dtype=np.int64) for mark in self._marks)
        return Readings(
            line=np.array(self._line, dtype=np.int64),
            figures={role: np.array(c.values) for role, c in self._figures.items()},
            reasons={r: np.array(c.numbers, dtype=np.int16) for r, c in self._figures.items()},
            reason_texts=self._reasons.texts,
            texts={
                role: (np.array(codes, dtype=np.int32), list(self._words[role]))
                for role, codes in self._codes.items()
            },
            time=None if np.isnan(time).all() else time,
            stamp=stamp,
            rule=rule,
            head=head,
            stamp_times=clock.seconds(self.stamps),
            notes=[*self.notes, *clock.day_or_month(self.stamps)],
            dropped=self.dropped,
            troubles=self.troubles,
            lines_taken=lines_taken,
            absolute=absolute,
        )
