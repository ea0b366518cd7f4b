"""② Any Timeline as the text of a run.csv, format 1, that reads back with the same figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpudiag import __version__
from gpudiag.errors import UsageError
from gpudiag.timeline.columns import MAGIC
from gpudiag.timeline.model import Timeline

_PIECE = 50_000


def run_csv(timeline: Timeline) -> Iterator[str]:
    """The text in pieces. Raises UsageError if the log does not tell its times.

    Figures are written in full, not rounded to what they are worth: the file is read back equal.
    What a reader of the log must know, and why columns are empty, become events of kind `note`.
    """
    source = timeline.source
    if not source.time_known:
        raise UsageError(
            f"{source.path} has no times, and run.csv has nothing but times",
            "give --interval TIME if you know the time between its samples",
        )
    return _pieces(timeline)


def _pieces(timeline: Timeline) -> Iterator[str]:
    source, frame = timeline.source, timeline.frame
    start = {
        "gpudiag": __version__,
        **timeline.start,
        "converted": {"format": source.format, "rows": source.rows, "lines": source.lines},
    }
    yield f"{MAGIC}\n# start {_json(start)}\n"
    for at in range(0, len(frame), _PIECE):
        yield frame.iloc[at : at + _PIECE].to_csv(
            header=at == 0, index_label="t_s", na_rep="", lineterminator="\n"
        )
    first, last = float(frame.index[0]), float(frame.index[-1])
    for note in source.notes:
        yield _event(first, "note", note, {})
    for name, why in source.missing.items():
        yield _event(first, "note", f"{name} has empty cells: {why}", {"column": name})
    for event in timeline.events:
        yield _event(event.t_s, event.kind, event.text, event.data)
    end = timeline.end or {"t_s": last, "samples": len(frame), "converted": True}
    yield f"# end {_json(end)}\n"


def _event(t_s: float, kind: str, text: str, data: Mapping[str, Any]) -> str:
    facts: dict[str, Any] = {"t_s": t_s, "kind": kind, "text": text}
    return f"# event {_json(facts | ({'data': dict(data)} if data else {}))}\n"


def _json(facts: Mapping[str, Any]) -> str:
    # ASCII, and no figure that JSON does not have
    return json.dumps(facts, separators=(",", ":"), default=str)
