"""② Read con/duct's usage log: the memory of the process it ran.

Its CPU share is that of `ps`, an average over the whole life of a process, and no column of
run.csv: it is left aside. Memory is the highest of each report interval.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from typing import Any

from gpudiag.errors import UnreadableError
from gpudiag.timeline.host.model import HostGather, HostLog
from gpudiag.timeline.load import Log

NAME = "con/duct usage"


def recognise(head: str) -> float:
    """By the keys of its first record."""
    first = head.lstrip()[:4000]
    keys = ('"timestamp"', '"num_samples"', '"processes"')
    return 0.95 if first[:1] == "{" and all(key in first for key in keys) else 0.0


def read(log: Log) -> HostLog:
    """The samples in `log`. Raises UnreadableError if there is none."""
    found = HostGather(log.notes)
    records: list[tuple[int, float, dict[str, float]]] = []
    seen: Counter[str] = Counter()
    commands: dict[str, str] = {}
    for number, line in log.lines():
        found.lines += 1
        if not line.strip():
            continue
        record = _record(line)
        if record is None:
            found.drop(number, "not a record of con/duct", line)
            continue
        time, processes = record
        records.append((number, time, {pid: rss for pid, (rss, _) in processes.items()}))
        seen.update(processes.keys())
        for pid, (_, command) in processes.items():
            commands.setdefault(pid, command)
    if not seen:
        raise UnreadableError(f"{log.path}: a con/duct log without a process", "")
    main = max(seen, key=lambda pid: (seen[pid], -int(pid) if pid.isdigit() else 0))
    for number, time, memories in records:
        if main in memories:
            found.add(number, time, {"main_rss_mib": memories[main] / 2**20})
    found.notes.append(
        f"Process {main} ({commands[main][:60]}), seen in {seen[main]:,} of {len(records):,} "
        "records, was taken for the training process; memory is the highest of each interval."
    )
    return found.log(log.path, NAME, "utc")


def _record(line: str) -> tuple[float, dict[str, tuple[float, str]]] | None:
    try:
        record: Any = json.loads(line)
        at = datetime.fromisoformat(record["timestamp"])
        time = at.timestamp() if at.tzinfo else float("nan")
        processes = {
            str(pid)[:12]: (float(process["rss"]), str(process.get("cmd", "")))
            for pid, process in record["processes"].items()
        }
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        OSError,
    ):
        return None
    return (time, processes) if time == time else None
