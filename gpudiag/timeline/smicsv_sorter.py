"""② The slow way through an nvidia-smi CSV log, line by line, for logs of any shape."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from gpudiag.timeline import clock, trouble
from gpudiag.timeline.cells import any_figure, is_missing, split
from gpudiag.timeline.fields import Field, header
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Dropped
from gpudiag.timeline.smicsv_rows import CHUNK, OPTIONS, Rows, Sorted

_LONGEST_RECORD = 16
_RULE = re.compile(r"[-=*_#~. ]{2,}|--")
_SECTION = "|+"
# A shell that echoes its commands gives the columns of a log without a header.
_QUERY = re.compile(r"--query-gpu[= ]\"?([\w.,]+)")


@dataclass
class _Pile:
    """Rows of one header on their way into a table."""

    fields: tuple[Field, ...] | None
    width: int
    text: list[str] = field(default_factory=list)
    marks: list[tuple[int, int, int, int]] = field(default_factory=list)

    def empty(self) -> Rows:
        text, marks = "\n".join(self.text) + "\n", np.array(self.marks, dtype=np.int64)
        if '"' in text:
            # Only a record with quotes may hold line ends and commas within a cell.
            # A stray quote may glue cells: such a row stays, empty, and is dropped with its reason.
            records = [_quoted(line) for line in self.text]
            blank = [""] * self.width
            whole = [cells if len(cells) == self.width else blank for cells in records]
            table = pd.DataFrame(whole, dtype=object)
        else:
            table = pd.read_csv(io.StringIO(text), **OPTIONS, names=range(self.width))
        self.text, self.marks = [], []
        line, stamp, rule, head = marks.T
        return Rows(self.fields, table, line, stamp, rule, head, '"' in text)


class Sorter:
    """Sorts the lines of one log; `run` gives the rows and fills `found` with all the rest."""

    def __init__(self, log: Log, found: Sorted) -> None:
        self._log = log
        self._found = found
        self._piles: dict[tuple[str, int], _Pile] = {}
        self._pile: _Pile | None = None
        self._header = ""
        self._stamp, self._rule, self._head = -1, 0, 0
        self._day = ""
        self._first = -1
        self._record_text = ""

    def run(self) -> Iterator[Rows]:
        lines = self._log.lines()
        ahead: deque[tuple[int, str]] = deque()
        while (item := ahead.popleft() if ahead else next(lines, None)) is not None:
            number, text = item[0], item[1].strip()
            self._found.lines += 1
            if self._like_the_last(text):
                self._keep(number, text)
            elif (
                '"' not in text or text.count('"') % 2 == 0 or not self._record(text, ahead, lines)
            ):
                self._take(number, text)
            else:
                # The rest of the record, on lines of its own, was taken with it.
                self._take(number, self._record_text)
            pile = self._pile
            if pile and len(pile.text) >= CHUNK:
                yield pile.empty()
        for pile in self._piles.values():
            if pile.text:
                yield pile.empty()

    def _like_the_last(self, text: str) -> bool:
        """Whether the line looks so much like the row before that nothing else need be tried.

        What it gets wrong is found when the cells are read. A number or a time of the same length
        before the first comma leaves no room for a date before the row.
        """
        if self._pile is None or not text or not text[0].isdigit():
            return False
        first = text.find(",")
        return (
            (0 < first <= 6 or first == self._first)
            and text.count(",") == self._pile.width - 1
            and '"' not in text
        )

    def _keep(self, number: int, text: str) -> None:
        assert self._pile is not None
        self._pile.text.append(text)
        self._pile.marks.append((number, self._stamp, self._rule, self._head))

    def _record(
        self, text: str, ahead: deque[tuple[int, str]], lines: Iterator[tuple[int, str]]
    ) -> bool:
        """Whether a record with a line end within quotes begins here; then it is taken whole.

        A stray quote must not swallow rows: the record must have as many cells as its header.
        """
        while len(ahead) < _LONGEST_RECORD and (item := next(lines, None)):
            ahead.append(item)
        record = text
        for count, (_, line) in enumerate(list(ahead)[:_LONGEST_RECORD], 1):
            record += "\n" + line
            if line.count('"') % 2:
                if not self._pile or len(_quoted(record)) != self._pile.width:
                    return False
                for _ in range(count):
                    ahead.popleft()
                self._found.lines += count
                self._found.other_lines += count
                self._record_text = record
                return True
        return False

    def _take(self, number: int, text: str) -> None:
        found = self._found
        if not text or text[0] in _SECTION:
            found.other_lines += 1
        elif text == self._header:
            self._head += 1
            found.header_rows += 1
        elif _RULE.fullmatch(text):
            self._rule += 1
            found.other_lines += 1
        elif not self._row(number, text):
            self._not_a_row(number, text)

    def _row(self, number: int, text: str, prefixed: bool = False) -> bool:
        """Put `text` on its pile if it is a row."""
        cells = split(text) if '"' not in text else _quoted(text)
        if not cells or (cells[0][:1].isalpha() and trouble.find(text)):
            return False
        if not prefixed and not (cells[0][:1].isdigit() and len(cells) > 1):
            if clock.stamp(text) or clock.day_or_hour(text):
                return False
        elif not prefixed and clock.stamp(text):
            return False
        width = self._pile.width if self._pile else 0
        if not (any_figure(cells) or clock.is_time(cells[0]) or all(map(is_missing, cells))):
            return False
        if self._header and len(cells) != width:
            return False
        if not self._header and not row_like(cells):
            return False
        if not self._pile or width != len(cells):
            self._pile = self._pile_for("", len(cells), None)
        self._keep(number, text)
        if not prefixed:
            self._first = text.find(",")
        return True

    def _pile_for(self, head: str, width: int, fields: tuple[Field, ...] | None) -> _Pile:
        return self._piles.setdefault((head, width), _Pile(fields, width))

    def _not_a_row(self, number: int, text: str) -> None:
        found = self._found
        query = _QUERY.search(text)
        fields = header(split(query[1] if query else text))
        if fields:
            self._pile = self._pile_for(text, len(fields), fields)
            self._header = text
            self._head += 1
            found.header_rows += not query
            found.other_lines += bool(query)
            return
        half = clock.day_or_hour(text)
        if half:
            found.other_lines += 1
            self._half(*half)
            return
        told = trouble.find(text)
        dated = clock.stamp(text)
        if dated:
            found.stamps.append(dated[0])
            self._stamp = len(found.stamps) - 1
            if dated[1] and not told and self._row(number, dated[1], prefixed=True):
                return
        if told:
            found.troubles.append((number, text, told))
            found.other_lines += 1
        elif (dated and not dated[1]) or not _figures_in(text, dated):
            found.other_lines += 1
            if not dated or dated[1]:
                found.first_text = found.first_text if found.text_lines else (number, text[:80])
                found.text_lines += 1
        else:
            found.dropped.append(Dropped(number, self._why(text), text[:80]))

    def _half(self, kind: str, text: str) -> None:
        if kind == "day":
            self._day = text
        elif self._day:
            self._found.stamps.append(f"{self._day} {text}")
            self._stamp = len(self._found.stamps) - 1

    def _why(self, text: str) -> str:
        if self._header and self._pile:
            return f"{len(split(text))} cells where the header has {self._pile.width}"
        return "not a row of readings"


def _quoted(text: str) -> list[str]:
    try:
        records = list(csv.reader(text.splitlines(keepends=True), skipinitialspace=True))
    except csv.Error:
        return []
    return [cell.strip() for cell in records[0]] if len(records) == 1 else []


_FILLED: Callable[[str], object] = re.compile(r"[-+.]?\d|\[|N/A", re.IGNORECASE).match
_TEXT_CELL: Callable[[str], object] = re.compile(
    r"(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|RTX|GTX|GRID|A\d{2,3}|H\d{3}|B\d{3}|L\d{1,2}S?|T4|V100|"
    r"P100|GB?\d{2,3})\b.{0,60}|GPU-[0-9a-f-]{6,}|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d|"
    r"P\d{1,2}|0x[0-9a-fA-F]+|Default|Prohibited|Exclusive\w*|Enabled|Disabled|(?:Not )?Active|"
    r"\d+\.\d+\.\d+|[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f]{2}){4}|None|WDDM|TCC",
    re.IGNORECASE,
).fullmatch


def row_like(cells: list[str]) -> bool:
    """Whether a line without a header above it can be a row of nvidia-smi: every cell is known."""
    return any(_FILLED(cell) for cell in cells) and all(
        is_missing(cell) or any_figure([cell]) or _TEXT_CELL(cell) or clock.is_time(cell)
        for cell in cells
    )


def _figures_in(text: str, dated: tuple[str, str] | None) -> bool:
    """Whether a line that is no row holds figures between commas: then something was lost."""
    return any_figure(split(dated[1] if dated else text))
