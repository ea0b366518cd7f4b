"""② Recordings of several machines → one timeline of all GPUs, with every machine's own in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from gpudiag.errors import UnreadableError, UsageError
from gpudiag.language import tr
from gpudiag.timeline.cluster.clocks import MOST_S, compare_clocks
from gpudiag.timeline.cluster.identity import check_one_run, node_names, plain_name
from gpudiag.timeline.cluster.model import Clock, ClusterTimeline, Node
from gpudiag.timeline.columns import parse_name
from gpudiag.timeline.model import Event, Source, Timeline

_NEAR = 0.75  # intervals: a reading counts for the tick that is no farther
_LEAST_OVERLAP = 0.5  # of the shorter recording
_NOT_SHARED = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")


def merge_nodes(timelines: Sequence[Timeline], *, one_run: bool = False) -> ClusterTimeline:
    """The run whose machines `timelines` were recorded on, on the clock of the first by name.

    Raises UnreadableError where they are not of one run (unless `one_run`), hold no times, or do
    not overlap.
    """
    timelines, names = _sorted(timelines, node_names(timelines))
    if not one_run:
        check_one_run(timelines, names)
    elif len(set(names)) < len(names):
        names = [plain_name(PurePath(timeline.source.path).stem) for timeline in timelines]
    if len(set(names)) < len(names):
        raise UsageError("two of the files have the same name", "rename one of them")
    began = [_began(timeline) for timeline in timelines]
    zero = min(began)
    nodes: list[Node] = []
    total = 0
    for timeline, name, time in zip(timelines, names, began, strict=True):
        after_first = time - began[0]
        _overlap(timelines[0], timeline, after_first)
        same = Clock(0.0, 0.0)
        clock = compare_clocks(timelines[0], timeline, after_first) if nodes else same
        local = timeline.gpus
        gpus = tuple(range(total, total + len(local)))
        nodes.append(Node(name, timeline, local, gpus, clock, time - zero - (clock.ahead_s or 0.0)))
        total += len(local)
    return _merged(nodes)


def _sorted(
    timelines: Sequence[Timeline], names: Sequence[str]
) -> tuple[list[Timeline], list[str]]:
    """Both by name, `node2` before `node10`."""

    def natural(pair: tuple[str, Timeline]) -> list[tuple[int, str]]:
        parts = re.findall(r"\d+|\D+", pair[0])
        return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]

    pairs = sorted(zip(names, timelines, strict=True), key=natural)
    return [timeline for _, timeline in pairs], [name for name, _ in pairs]


def _began(timeline: Timeline) -> float:
    """Seconds since 1970 of its time 0."""
    path = PurePath(timeline.source.path).name
    if not timeline.source.time_known or "time" not in timeline.start:
        raise UnreadableError(
            f"{path} holds no wall-clock times: it cannot be put beside other machines",
            "record every machine with gpudiag record, or log with timestamps",
        )
    time = datetime.fromisoformat(str(timeline.start["time"]))
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _overlap(first: Timeline, other: Timeline, begin: float) -> None:
    """Raises UnreadableError if they were not recorded at the same time."""
    one, two = first.frame.index, other.frame.index
    paths = [PurePath(timeline.source.path).name for timeline in (first, other)]
    if not len(one) or not len(two):
        raise UnreadableError(f"{paths[0]} or {paths[1]} holds no samples", "leave it out")
    common = min(one[-1], two[-1] + begin) - max(one[0], two[0] + begin)
    shorter = min(one[-1] - one[0], two[-1] - two[0])
    if common + MOST_S < _LEAST_OVERLAP * shorter:
        raise UnreadableError(
            f"{paths[0]} and {paths[1]} were not recorded at the same time",
            "name the recordings of one run; several runs: gpudiag compare",
        )


def _merged(nodes: Sequence[Node]) -> ClusterTimeline:
    grid = _grid(nodes)
    columns: dict[str, Any] = {}
    for node in nodes:
        columns |= _columns(node, grid)
    first = nodes[0].timeline
    index = pd.Index(grid, name="t_s")
    interval = float(np.median(np.diff(grid))) if len(grid) > 1 else 1.0
    return ClusterTimeline(
        pd.DataFrame(columns, index=index),
        _start(nodes),
        Source(
            path=" ".join(node.timeline.source.path for node in nodes),
            format=f"{len(nodes)} × {first.source.format}",
            rows=sum(node.timeline.source.rows for node in nodes),
            header_rows=sum(node.timeline.source.header_rows for node in nodes),
            lines=sum(node.timeline.source.lines for node in nodes),
            other_lines=sum(node.timeline.source.other_lines for node in nodes),
            span_s=float(grid[-1] - grid[0]) if len(grid) else None,
            interval_s=interval,
            dropped=tuple(dropped for node in nodes for dropped in node.timeline.source.dropped),
            notes=_notes(nodes),
        ),
        tuple(sorted(_events(nodes), key=lambda event: event.t_s)),
        _end(nodes),
        nodes=tuple(nodes),
    )


def _grid(nodes: Sequence[Node]) -> np.ndarray:
    """The ticks of the whole: from the first reading of any machine to the last, one interval."""
    times = [node.timeline.frame.index.to_numpy(dtype=np.float64) + node.begin_s for node in nodes]
    steps = [float(np.median(np.diff(t))) for t in times if len(t) > 1]
    interval = float(np.median(steps or [1.0]))
    low, high = min(t[0] for t in times), max(t[-1] for t in times)
    return np.asarray(low + interval * np.arange(round((high - low) / interval) + 1.0))


def _columns(node: Node, grid: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of its GPUs on the grid, each reading at its nearest tick, none carried on."""
    times = node.timeline.frame.index.to_numpy(dtype=np.float64) + node.begin_s
    interval = float(grid[1] - grid[0]) if len(grid) > 1 else 1.0
    right = np.searchsorted(times, grid).clip(0, len(times) - 1)
    left = (right - 1).clip(0)
    nearest = np.where(np.abs(times[left] - grid) <= np.abs(times[right] - grid), left, right)
    near = np.abs(times[nearest] - grid) <= _NEAR * interval
    found = {}
    for name in node.timeline.frame.columns:
        parsed = parse_name(str(name))
        if parsed is None or parsed[0].scope != "gpu" or parsed[1] not in node.numbers:
            continue
        values = node.timeline.frame[name].to_numpy(dtype=np.float64)[nearest]
        found[parsed[0].in_file(node.numbers[parsed[1]])] = np.where(near, values, np.nan)
    return found


def _start(nodes: Sequence[Node]) -> dict[str, Any]:
    first = nodes[0].timeline.start
    env = [node.timeline.start.get("env") for node in nodes]
    shared = {
        name: value
        for name, value in (env[0].items() if isinstance(env[0], Mapping) else ())
        if name not in _NOT_SHARED
        and all(isinstance(one, Mapping) and one.get(name) == value for one in env)
    }
    gpus = [
        {**node.timeline.gpu_facts(local), "index": number, "node": node.name}
        for node in nodes
        for local, number in node.numbers.items()
    ]
    return {
        "time": first.get("time"),
        "command": first.get("command"),
        "interval_s": first.get("interval_s"),
        "gpus": gpus,
        "env": shared,
        "nodes": [
            {
                "name": node.name,
                "local": list(node.local),
                "gpus": list(node.gpus),
                "file": node.timeline.source.path,
                "clock_ahead_s": node.clock.ahead_s,
                "clock_error_s": node.clock.error_s,
            }
            for node in nodes
        ],
    }


def _events(nodes: Sequence[Node]) -> list[Event]:
    """Every machine's events on the clock of the whole; of marks, each text once."""
    found, marks = [], set()
    for node in nodes:
        for event in node.timeline.events:
            if event.kind == "gpus-used" or (event.kind == "mark" and event.text in marks):
                continue
            marks.add(event.text if event.kind == "mark" else "")
            text = event.text if event.kind == "mark" else f"{node.name}: {event.text}"
            found.append(Event(event.t_s + node.begin_s, event.kind, text, event.data))
    return found


def _end(nodes: Sequence[Node]) -> dict[str, Any] | None:
    """How the run ended: the first machine that failed speaks for it; None if one was cut short."""
    ends = [node.timeline.end for node in nodes]
    if any(end is None for end in ends):
        return None
    known = [dict(end) for end in ends if end is not None]
    last = max(
        float(end.get("t_s") or 0.0) + node.begin_s for end, node in zip(known, nodes, strict=True)
    )
    failed = next((end for end in known if end.get("exit_code") or end.get("signal")), known[0])
    told = ("exit_code", "signal", "reason")
    kept: dict[str, Any] = {name: failed[name] for name in told if name in failed}
    return {"t_s": last, **kept}


def _notes(nodes: Sequence[Node]) -> tuple[str, ...]:
    """What was done to the clocks, and every machine's own notes."""
    said = []
    for node in nodes[1:]:
        ahead, error = node.clock.ahead_s, node.clock.error_s
        if ahead is None or error is None:
            said.append(
                tr(
                    "Whether the clock of {node} agrees with that of {first} cannot be told from "
                    "the recordings: it is taken to.",
                    node=node.name,
                    first=nodes[0].name,
                )
            )
        else:
            said.append(
                tr(
                    "The clock of {node} was {time} s ahead of that of {first} (± {error} s, from "
                    "the utilisation); its times are moved by that."
                    if ahead >= 0
                    else "The clock of {node} was {time} s behind that of {first} (± {error} s, "
                    "from the utilisation); its times are moved by that.",
                    node=node.name,
                    time=f"{abs(ahead):.1f}",
                    first=nodes[0].name,
                    error=f"{error:.1f}",
                )
            )
    said += [f"{node.name}: {note}" for node in nodes for note in node.timeline.source.notes]
    return tuple(said)
