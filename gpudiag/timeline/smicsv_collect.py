"""② From rows of text to readings: name the columns, read the cells, keep every reason."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from gpudiag.timeline import clock
from gpudiag.timeline.cells import Reasons, figures, is_missing, read_figures
from gpudiag.timeline.fields import FACT_FIGURES, FACT_TEXTS, FIGURES, Field
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Dropped
from gpudiag.timeline.readings import Readings
from gpudiag.timeline.smicsv_guess import guess
from gpudiag.timeline.smicsv_rows import Rows, Sorted

_NUMERIC = (*FIGURES, *FACT_FIGURES, "index")
# What stands in for a column that some rows do not have, by the first letter of its key.
_BLANK = {"=": -1}


class Collector:
    """Collects pieces of rows into one set of readings."""

    def __init__(self, notes: tuple[str, ...]) -> None:
        self.lines = 0
        self.unnamed: tuple[int, int] | None = None
        self._notes = list(notes)
        self._reasons = Reasons()
        self._parts: list[dict[str, np.ndarray]] = []
        self._last_roles: list[str] = []
        self._words: dict[str, dict[str, int]] = {role: {} for role in FACT_TEXTS}
        self._dropped: list[Dropped] = []
        self._guessed: dict[int, tuple[Field, ...]] = {}
        self._aside: Counter[str] = Counter()

    def add(self, rows: Rows) -> None:
        """Turn the cells of `rows` into figures and texts."""
        fields = rows.fields or self._guess(rows.table)
        by_role: dict[str, list[int]] = {}
        for at, column in sorted(enumerate(fields), key=lambda pair: pair[1].rank):
            if column.role:
                by_role.setdefault(column.role, []).append(at)
            elif not column.known:
                self._aside[column.name] += 1
        if not set(by_role) & {*FIGURES} and not any(r.startswith("word:") for r in by_role):
            self._refuse(rows)
            return
        part = {"#line": rows.line, "#stamp": rows.stamp, "#rule": rows.rule, "#head": rows.head}
        fits = np.zeros(len(rows.line), dtype=np.int16)
        for role, columns in by_role.items():
            if role in _NUMERIC or role.startswith("word:"):
                values, numbers = self._numbers(rows, role, columns, fields)
                part[role], part["?" + role] = values, numbers
                wrong = self._garbage()[numbers]
                fits += np.where(wrong, -1, 1).astype(np.int16)
            elif role in FACT_TEXTS:
                part["=" + role] = self._text(rows.table[columns[0]], role)
        if "time" in by_role:
            part["#time"] = self._times(rows.table, by_role)
        self._mask_of_words(part)
        keep = fits > 0
        self._dropped += [
            Dropped(int(line), "its cells do not fit the columns") for line in rows.line[~keep]
        ]
        self._last_roles.append(fields[-1].role)
        self._parts.append({role: values[keep] for role, values in part.items()})
        self.lines += int(keep.sum())

    def _times(self, table: pd.DataFrame, by_role: dict[str, list[int]]) -> np.ndarray:
        """Seconds of each row; what several GPUs write at one moment is read once."""
        written = table[by_role["time"][0]]
        if "date" in by_role:
            days = table[by_role["date"][0]]
            written = pd.Series(
                [f"{day.strip()} {text.strip()}" for day, text in zip(days, written, strict=True)],
                dtype=object,
            )
        codes, uniques = pd.factorize(written)
        texts = [text.strip() for text in uniques]
        self._notes += clock.day_or_month(texts)
        seconds: np.ndarray = clock.seconds(texts)[codes]
        return seconds

    def _guess(self, table: pd.DataFrame) -> tuple[Field, ...]:
        width = table.shape[1]
        if width not in self._guessed:
            self._guessed[width], notes = guess(table)
            self._notes += notes
        return self._guessed[width]

    def _refuse(self, rows: Rows) -> None:
        width = rows.table.shape[1]
        self.unnamed = ((self.unnamed or (0, 0))[0] + len(rows.line), width)
        reason = (
            "no column of these rows is a reading of a GPU"
            if rows.fields
            else "without a header it cannot be told what its columns are"
        )
        self._dropped += [Dropped(int(line), reason) for line in rows.line]

    def _numbers(
        self, rows: Rows, role: str, columns: list[int], fields: tuple[Field, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The figures of the best column of `role` that has any."""
        table, quoted = rows.table, rows.quoted
        first: tuple[np.ndarray, np.ndarray] | None = None
        for at in columns:
            if quoted and any("\n" in text for text in table[at]):
                self._note(
                    f"Cells of {fields[at].name or role} hold several lines, one a GPU: the first "
                    "was read, and the other GPUs were not logged in full."
                )
            said, written = fields[at].unit, rows.units.get(at)
            if written is None:
                values, numbers = figures(table[at], role, said, self._reasons)
            else:
                values, numbers = read_figures(table[at], role, said, written, self._reasons)
            if not np.isnan(values).all():
                if at != columns[0] or fields[at].name.startswith(
                    ("clocks.gr", "clocks.current.g")
                ):
                    self._note(f"{role} was taken from {fields[at].name}.")
                return values, numbers
            first = first or (values, numbers)
        assert first is not None
        return first

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _garbage(self) -> np.ndarray:
        """For each reason whether it means that the cell is of another column or torn."""
        return np.array([t.startswith(("not a figure", "unit ")) for t in self._reasons.texts])

    def _text(self, column: pd.Series, role: str) -> np.ndarray:
        codes, uniques = pd.factorize(column)
        words = self._words[role]
        numbers = [
            -1 if is_missing(text) else words.setdefault(text[:200], len(words))
            for text in map(str.strip, uniques)
        ]
        return np.array(numbers, dtype=np.int32)[codes]

    def _mask_of_words(self, part: dict[str, np.ndarray]) -> None:
        """Throttle bits from `Active` and `Not Active`, where the mask itself was not logged."""
        words = [role for role in part if role.startswith("word:")]
        if words and ("throttle_bits" not in part or np.isnan(part["throttle_bits"]).all()):
            table = np.array([part[role] for role in words])
            none = np.isnan(table).all(axis=0)
            part["throttle_bits"] = np.where(none, np.nan, np.nansum(table, axis=0))
            part["?throttle_bits"] = np.where(none, part["?" + words[0]], 0).astype(np.int16)
            if len(words) < 8:
                self._note("throttle_bits holds only the clock event reasons that were logged.")
        for role in words:
            del part[role], part["?" + role]

    def finish_last_line(self, log: Log) -> None:
        """Judge the last cell of a file that ends without a line end: it may be cut short."""
        text = log.data[log.data.rfind(b"\n") + 1 :].decode("utf-8", "replace").rstrip()
        if self.lines < 2 or not text or not (text[-1].isdigit() or text[-1] == "."):
            return
        last_line = log.data.count(b"\n") + 1
        for part, role in zip(self._parts, self._last_roles, strict=True):
            if role in part and len(part["#line"]) and part["#line"][-1] == last_line:
                part[role][-1] = np.nan
                part["?" + role][-1] = self._reasons.number("the file ends within this cell")

    def readings(self, found: Sorted) -> Readings:
        """All pieces in the order of the file."""
        roles = {role for part in self._parts for role in part}
        timed = any("#time" in part for part in self._parts)
        absent = self._reasons.number("no such column")
        columns: dict[str, np.ndarray] = {}
        for role in sorted(roles):
            kind = role[0]
            columns[role] = np.concatenate(
                [
                    part.get(role, np.full(len(part["#line"]), _BLANK.get(kind, np.nan)))
                    if kind != "?" or role in part
                    else np.full(len(part["#line"]), absent)
                    for part in self._parts
                ]
            )
        order = np.argsort(columns["#line"], kind="stable")
        if (np.diff(order) != 1).any():
            columns = {role: values[order] for role, values in columns.items()}
        if self._aside:
            listed = ", ".join(name[:40] or "(no name)" for name in list(self._aside)[:8])
            self._note(f"Columns that are not understood were left aside: {listed}.")
        self._text_note(found)
        return Readings(
            line=columns["#line"],
            figures={r: v for r, v in columns.items() if r[0] not in "#?="},
            reasons={r[1:]: v for r, v in columns.items() if r[0] == "?"},
            reason_texts=self._reasons.texts,
            texts={
                r[1:]: (v.astype(np.int32), list(self._words[r[1:]]))
                for r, v in columns.items()
                if r[0] == "="
            },
            time=columns["#time"] if timed else None,
            stamp=columns["#stamp"],
            rule=columns["#rule"],
            head=columns["#head"],
            stamp_times=clock.seconds(found.stamps),
            notes=[*self._notes, *clock.day_or_month(found.stamps)],
            dropped=[*found.dropped, *self._dropped],
            troubles=found.troubles,
        )

    def _text_note(self, found: Sorted) -> None:
        if found.text_lines:
            number, text = found.first_text
            lines = "1 line" if found.text_lines == 1 else f"{found.text_lines:,} lines"
            self._notes.append(f"{lines} of other text passed over, first line {number}: {text!r}.")
