"""② The `#` lines of run.csv: format, start, event and end, checked: they may be a stranger's."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpudiag.errors import UnreadableError
from gpudiag.timeline.columns import FORMAT
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Dropped, Event

_FIRST = re.compile(r"# gpudiag run, format (\d{1,6})\s*\Z")

_START_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "time": str,
    "gpudiag": str,
    "command": list,
    "cwd": str,
    "interval_s": (int, float),
    "gpus": list,
    "gpu_source": dict,
    "host": dict,
    "env": dict,
    "rank": dict,
}


@dataclass
class Meta:
    """What the `#` lines say. `start` is empty and `end` None where they are missing or damaged."""

    start: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] | None = None
    events: list[Event] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, comments: Iterable[tuple[int, bytes]]) -> Meta:
        """The facts in `comments`, given with their line numbers. A damaged line is dropped."""
        meta = cls()
        for number, raw in comments:
            line = raw.decode("utf-8", "replace")
            for kind in ("start", "event", "end"):
                if not line.startswith(f"# {kind} "):
                    continue
                facts = _object(line[len(kind) + 3 :])
                if facts is None or not getattr(meta, f"_take_{kind}")(facts):
                    reason = f"a damaged {kind} line"
                    meta.dropped.append(Dropped(number, reason, line[:80]))
        if not meta.start:
            meta.notes.append("The start line is missing or damaged: GPUs and host are not known.")
        return meta

    def _take_start(self, facts: dict[str, Any]) -> bool:
        if self.start:
            self.notes.append("A second start line was left aside.")
            return True
        wrong = [k for k, kind in _START_TYPES.items() if k in facts and not _is(facts[k], kind)]
        for key in wrong:
            del facts[key]
        if wrong:
            self.notes.append(
                "Facts of the start line that make no sense: " + ", ".join(wrong) + "."
            )
        facts["command"] = [str(word) for word in facts.get("command", [])]
        facts["gpus"] = [gpu for gpu in facts.get("gpus", []) if _is_gpu(gpu)]
        self.start = facts
        return True

    def _take_event(self, facts: dict[str, Any]) -> bool:
        kind, text, data = facts.get("kind"), facts.get("text", ""), facts.get("data", {})
        if not (_is(facts.get("t_s"), (int, float)) and isinstance(kind, str)):
            return False
        if not (isinstance(text, str) and isinstance(data, dict)):
            return False
        self.events.append(Event(float(facts["t_s"]), kind, text, data))
        return True

    def _take_end(self, facts: dict[str, Any]) -> bool:
        if "t_s" in facts and not _is(facts["t_s"], (int, float)):
            return False
        self.end = facts
        return True


def _object(text: str) -> dict[str, Any] | None:
    """A JSON object, or None. Figures that JSON does not have (NaN, Infinity) become None."""
    try:
        value = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    if isinstance(value, bool) or not isinstance(value, kind):
        return False
    return not isinstance(value, int | float) or _finite(value)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_gpu(gpu: Any) -> bool:
    return isinstance(gpu, dict) and _is(gpu.get("index"), int) and 0 <= gpu["index"] <= 9999


def check_format(log: Log) -> None:
    """Raise UnreadableError unless the first line names a format that can be read."""
    first = log.data[:200].split(b"\n", 1)[0].decode("utf-8", "replace")
    match = _FIRST.match(first)
    if not match:
        if b"\n" not in log.data:
            raise UnreadableError(f"{log.path}: the recording ends within its first line")
        raise UnreadableError(
            f"{log.path}: the first line does not name a format of run.csv: {first[:60]!r}",
            f"it should read '# gpudiag run, format {FORMAT}'",
        )
    number = int(match[1])
    if number > FORMAT:
        raise UnreadableError(
            f"{log.path}: run.csv of format {number}; this gpudiag reads up to format {FORMAT}",
            "upgrade gpudiag: pip install -U gpudiag",
        )
    if number < 1:
        raise UnreadableError(f"{log.path}: there is no run.csv of format {number}")
