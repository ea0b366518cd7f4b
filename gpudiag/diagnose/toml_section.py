"""④ Typed access to a TOML table that a stranger wrote: every mistake is noted, none raises.

`Section` hands out checked values and a harmless stand-in where a value is wrong, so that one pass
over a file finds all its mistakes. `Mistakes` knows the file and the line of each key.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gpudiag.units import parse_duration

Key = tuple[str | int, ...]
Choice = TypeVar("Choice", bound=str)

MAX_TEXT = 4000
MAX_TABLES = 60
MAX_SECONDS = 30 * 86400.0
_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\- ]+?)\s*\]\]?\s*(?:#.*)?")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z0-9_\-]+)\s*=")


@dataclass(frozen=True)
class Mistake:
    """One thing wrong with a rule file: where, as exactly as is known, and what."""

    path: str
    line: int | None
    key: str
    problem: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        said = (
            f"{place}: {self.key[:200]}: {self.problem}" if self.key else f"{place}: {self.problem}"
        )
        # names of files and keys are a stranger's: they must not steer a terminal
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in said)


@dataclass
class Mistakes:
    """The mistakes of one file, found so far."""

    path: str
    lines: Mapping[Key, int] = field(default_factory=dict)
    found: list[Mistake] = field(default_factory=list)

    def add(self, key: Key, problem: str) -> None:
        """Note `problem` at `key`, with the line of the key or of the nearest table around it."""
        line = next(
            (self.lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.lines), None
        )
        self.found.append(Mistake(self.path, line, in_words(key), problem))


def in_words(key: Key) -> str:
    """`cause[1].remedy[0].text`, counted from 1 as a reader counts."""
    words = ""
    for part in key:
        words += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if words else part
    return words


def line_numbers(text: str) -> dict[Key, int]:
    """The line (from 1) of each key and table header of a TOML text that `tomllib` accepts.

    Best effort: a line within a multi-line string is never taken for a key.
    """
    lines: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    table: Key = ()
    quote = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not quote:
            if header := _HEADER.fullmatch(line):
                table = _table(header[1], header[2], counts)
                lines.setdefault(table, number)
            elif assignment := _ASSIGNMENT.match(line):
                lines.setdefault((*table, assignment[1]), number)
        for mark in re.findall(r'"""|\'\'\'', line):
            quote = "" if quote == mark else quote or mark
    return lines


def _table(brackets: str, name: str, counts: dict[Key, int]) -> Key:
    """The key of a table; each part that was opened as `[[…]]` carries its latest number."""
    key: Key = ()
    parts = [part.strip() for part in name.split(".")]
    for index, part in enumerate(parts):
        key = (*key, part)
        if brackets == "[[" and index == len(parts) - 1:
            counts[key] = counts.get(key, -1) + 1
        if key in counts:
            key = (*key, counts[key])
    return key


class Section:
    """A table of a rule file at `key`; what is not asked for is an unknown key (`finish`)."""

    def __init__(self, table: Mapping[str, Any], key: Key, mistakes: Mistakes) -> None:
        self.table = table
        self.key = key
        self.mistakes = mistakes
        self.asked: set[str] = set()

    def wrong(self, name: str, problem: str) -> None:
        """Note a mistake at the key `name` of this table."""
        self.mistakes.add((*self.key, name), problem)

    def has(self, name: str) -> bool:
        """Whether the file gives `name`."""
        return name in self.table

    def text(self, name: str, default: str | None = None, longest: int = MAX_TEXT) -> str:
        """A text without control characters; required where there is no `default`."""
        value = self._value(name, default)
        if value is None:
            return default or ""
        if not isinstance(value, str):
            self.wrong(name, "must be text in quotes")
        elif len(value) > longest:
            self.wrong(name, f"longer than {longest} characters")
        elif not value.replace("\n", "").replace("\t", "").isprintable():
            self.wrong(name, "holds a control character")
        elif default is None and not value.strip():
            self.wrong(name, "is empty")
        else:
            return value.strip()
        return default or ""

    def choice(self, name: str, choices: Sequence[Choice]) -> Choice:
        """One of `choices`."""
        value = self._value(name, None)
        if value is not None and value not in choices:
            self.wrong(name, f"must be one of {', '.join(choices)}")
        return next((choice for choice in choices if choice == value), choices[0])

    def flag(self, name: str, default: bool | None = None) -> bool:
        """true or false."""
        value = self._value(name, default)
        if value is not None and not isinstance(value, bool):
            self.wrong(name, "must be true or false")
        return value is True

    def figure(self, name: str, default: float | None, low: float, high: float) -> float:
        """A finite figure from `low` to `high`."""
        value = self._value(name, default)
        fallback = low if default is None else default
        if value is None:
            return fallback
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(name, "must be a figure")
        elif not low <= value <= high or not math.isfinite(value):
            self.wrong(name, f"must be from {low:g} to {high:g}")
        else:
            return float(value)
        return fallback

    def duration(self, name: str, default: float, least: float = 0.0) -> float:
        """Seconds from a text such as "5s" or "20min"."""
        if not self.has(name):
            self.asked.add(name)
            return default
        value = self._value(name, None)
        try:
            seconds = parse_duration(value) if isinstance(value, str) and len(value) < 40 else -1.0
        except ValueError:
            seconds = -1.0
        if not least <= seconds <= MAX_SECONDS:
            self.wrong(name, 'must be a time in quotes such as "5s" or "20min", 30 days at most')
            return default
        return seconds

    def texts(self, name: str, longest: int = 200) -> tuple[str, ...]:
        """A list of texts; empty where the file has none."""
        values = self._value(name, [])
        if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
            self.wrong(name, "must be a list of texts")
            return ()
        if len(values) > MAX_TABLES or any(len(v) > longest or not v.isprintable() for v in values):
            self.wrong(name, f"at most {MAX_TABLES} printable texts of {longest} characters")
            return ()
        return tuple(values)

    def mapping(self, name: str, default: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """A table, unchecked."""
        value = self._value(name, default)
        if value is not None and not isinstance(value, Mapping):
            self.wrong(name, "must be a table")
            return {}
        return value or {}

    def sections(self, name: str) -> list[Section]:
        """The tables of an array of tables; empty where the file has none."""
        values = self._value(name, [])
        if not isinstance(values, list) or not all(isinstance(v, Mapping) for v in values):
            self.wrong(name, f"must be tables: write [[{in_words((*self.key, name))}]]")
            return []
        if len(values) > MAX_TABLES:
            self.wrong(name, f"more than {MAX_TABLES} of them")
            return []
        return [
            Section(value, (*self.key, name, index), self.mistakes)
            for index, value in enumerate(values)
        ]

    def finish(self) -> None:
        """Note every key that was never asked for."""
        for name in sorted(self.table.keys() - self.asked):
            near = difflib.get_close_matches(name[:60], self.asked, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            self.mistakes.add((*self.key, ascii(name[:60])[1:-1]), f"unknown key{hint}")

    def _value(self, name: str, default: object) -> Any:
        self.asked.add(name)
        if name not in self.table and default is None:
            self.wrong(name, "is missing")
        return self.table.get(name, default)
