"""② Readings: what every reader of a foreign log makes, and what becomes a Timeline.

One reading is one GPU at one moment. Readings are kept by column, in the order of the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpudiag.timeline.model import Dropped
from gpudiag.timeline.trouble import Trouble


@dataclass
class Readings:
    """Readings in file order. Every array has one element a reading.

    `figures`: by role (a column of run.csv without its device, or a numeric fact such as
    `mem_total_mib`, or `index`), NaN where there is none; `reasons` then gives the number of the
    reason in `reason_texts`. `texts`: by role, a number into the list beside it, -1 for none.
    `time`: seconds, since 1970 if it is above 3e8; None if the log has none. `stamp`, `rule`,
    `head`: how many date lines (less one), separators and headers stand before the reading;
    `stamp_times` the times of the date lines. `lines_taken`: how many lines gave readings, where
    that is not one line a reading. `absolute`: the times are seconds since 1970 in UTC, not those
    of a clock whose zone is unknown.
    """

    line: np.ndarray
    figures: dict[str, np.ndarray]
    reasons: dict[str, np.ndarray]
    reason_texts: list[str]
    texts: dict[str, tuple[np.ndarray, list[str]]]
    time: np.ndarray | None
    stamp: np.ndarray
    rule: np.ndarray
    head: np.ndarray
    stamp_times: np.ndarray
    notes: list[str] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    troubles: list[tuple[int, str, Trouble]] = field(default_factory=list)
    lines_taken: int | None = None
    absolute: bool = False

    def __len__(self) -> int:
        return len(self.line)

    def drop(self, where: np.ndarray, reason: str) -> None:
        """Take the readings at `where` (a mask) out, each with `reason`."""
        if not where.any():
            return
        self.dropped += [Dropped(int(line), reason) for line in self.line[where]]
        keep = ~where
        self.line, self.stamp = self.line[keep], self.stamp[keep]
        self.rule, self.head = self.rule[keep], self.head[keep]
        if self.time is not None:
            self.time = self.time[keep]
        self.figures = {role: values[keep] for role, values in self.figures.items()}
        self.reasons = {role: numbers[keep] for role, numbers in self.reasons.items()}
        self.texts = {role: (codes[keep], words) for role, (codes, words) in self.texts.items()}


def texts_at(readings: Readings, role: str, where: np.ndarray) -> list[str]:
    """The different texts of `role` among the readings at `where`, the most frequent first."""
    if role not in readings.texts:
        return []
    codes, words = readings.texts[role]
    found, counts = np.unique(codes[where], return_counts=True)
    ordered = found[np.argsort(-counts, kind="stable")]
    return [words[code] for code in ordered.tolist() if code >= 0]
