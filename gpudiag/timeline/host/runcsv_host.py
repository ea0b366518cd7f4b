"""② Take the CPU side of a gpudiag recording made beside a GPU log."""

from __future__ import annotations

from datetime import UTC, datetime

from gpudiag.errors import UnreadableError
from gpudiag.timeline import runcsv
from gpudiag.timeline.columns import parse_name
from gpudiag.timeline.host.model import HostGather, HostLog
from gpudiag.timeline.load import Log

NAME = "gpudiag run.csv"
_SCOPES = ("host", "cgroup", "tree", "rank")


def recognise(head: str) -> float:
    """As the reader of run.csv does."""
    return runcsv.recognise(head)


def read(log: Log) -> HostLog:
    """The columns of `log` that are not a GPU's. Raises UnreadableError if it has none."""
    run = runcsv.read(log, None)
    parsed = {name: parse_name(name) for name in run.frame.columns}
    columns = {
        name: run.frame[name].to_numpy(dtype="float64")
        for name, about in parsed.items()
        if about and about[0].scope in _SCOPES and run.column(name) is not None
    }
    if not columns or "time" not in run.start:
        raise UnreadableError(f"{log.path}: a run.csv without a CPU side", "")
    found = HostGather(log.notes)
    found.lines = run.source.lines
    made = found.log(log.path, NAME, "utc")
    began = datetime.fromisoformat(str(run.start["time"]))
    wall = began if began.tzinfo else began.replace(tzinfo=UTC)
    return HostLog(
        path=made.path,
        format=NAME,
        clock="utc" if began.tzinfo else "wall",
        time=run.frame.index.to_numpy(dtype="float64") + wall.timestamp(),
        columns=columns,
        facts=dict(run.start.get("host") or {}),
        notes=made.notes,
        lines=run.source.lines,
        other_lines=run.source.lines - run.source.rows - len(run.source.dropped),
        dropped=run.source.dropped,
    )
