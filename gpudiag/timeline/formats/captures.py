"""② Read a capture: one file with the outputs of several nvidia-smi commands, each under its own.

Each output is read by the reader of its format. Those that tell the time are put on one clock;
the others cannot be placed on it and are left out, which is said.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

import pandas as pd

from gpudiag.errors import GpudiagError, UnreadableError
from gpudiag.timeline import smicsv
from gpudiag.timeline.formats import computeapps, smidmon, smipmon, smiq, smitable, smixml
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Event, Source, Timeline

NAME = "capture of several nvidia-smi commands"
_COMMAND = re.compile(r"^[#\s]*\$ +(nvidia-smi\b[^\n]*)", re.MULTILINE)
_READERS = (smidmon, smipmon, smitable, smiq, smixml, smicsv, computeapps)
_PASSED_OVER = re.compile(r"of other text passed over")
_LINE = re.compile(r"in line (\d+)")
_MOST = 500


def recognise(head: str) -> float:
    """By two different commands of nvidia-smi on lines of their own."""
    return 0.98 if len(set(_COMMAND.findall(head))) > 1 else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """All outputs that tell their time as one Timeline. Raises UnreadableError if none does."""
    parts, apart = [], []
    for command, first_line, section in _sections(log):
        part = _read(section, interval_s)
        if part is None:
            continue
        if "time" in part.start and part.source.format != computeapps.NAME:
            parts.append((first_line, part))
        else:
            apart.append((len(part.frame), f"{command[:60]} (line {first_line})"))
    if not parts:
        raise UnreadableError(
            f"{log.path}: a {NAME}, none of which tells figures and their time",
            "save the output you mean in a file of its own",
        )
    return _joined(log, parts, [what for _, what in apart])


def _sections(log: Log) -> list[tuple[str, int, Log]]:
    """(command, the line it stands in, the text below it)."""
    text = log.data.decode("utf-8", "replace")
    starts = list(_COMMAND.finditer(text))[:_MOST]
    found = []
    line, at = 1, 0
    for start, end in zip(starts, [*(s.start() for s in starts[1:]), len(text)], strict=True):
        line += text.count("\n", at, start.end())
        at = start.end()
        found.append((start[1], line, Log(log.path, text[at + 1 : end].encode())))
    return found


def _read(section: Log, interval_s: float | None) -> Timeline | None:
    head = section.head
    score, reader = max(((r.recognise(head), r) for r in _READERS), key=lambda pair: pair[0])
    if score < 0.3:
        return None
    try:
        part: Timeline = reader.read(section, interval_s)
    except GpudiagError:
        return None
    return part


def _joined(log: Log, parts: list[tuple[int, Timeline]], apart: list[str]) -> Timeline:
    began = [datetime.fromisoformat(part.start["time"]).replace(tzinfo=None) for _, part in parts]
    first = min(began)
    frames, events = [], []
    for (line, part), start in zip(parts, began, strict=True):
        offset = (start - first).total_seconds()
        frames.append(part.frame.set_axis(part.frame.index + offset))
        events += [
            Event(e.t_s + offset, e.kind, e.text, {**e.data, "line": e.data.get("line", 0) + line})
            for e in part.events
        ]
    frame = pd.concat(frames).groupby(level=0).first().sort_index()
    frame.index.name = "t_s"
    facts: dict[int, dict[str, object]] = {}
    for _, part in parts:
        for gpu in part.start["gpus"]:
            known = facts.setdefault(gpu["index"], {})
            for key, fact in gpu.items():
                if key not in known or str(known[key]).endswith("..."):  # a table cuts names
                    known[key] = fact
    start_facts = {
        "time": first.isoformat(timespec="milliseconds"),
        "gpus": [facts[n] for n in sorted(facts)],
    }
    source = _source(log, parts, frame, apart)
    return Timeline(frame, start_facts, source, tuple(sorted(events, key=lambda e: e.t_s)))


def _moved(why: str, by: int) -> str:
    """A reason whose line numbers count from the top of the file."""
    return _LINE.sub(lambda found: f"in line {int(found[1]) + by}", why)


def _source(
    log: Log, parts: list[tuple[int, Timeline]], frame: pd.DataFrame, apart: list[str]
) -> Source:
    sources = [part.source for _, part in parts]
    taken = sum(s.rows if s.lines_taken is None else s.lines_taken for s in sources)
    headers = sum(source.header_rows for source in sources)
    dropped = tuple(
        replace(drop, line=drop.line + line) for line, part in parts for drop in part.source.dropped
    )
    lines = sum(1 for _ in log.lines())
    outputs = ", ".join(f"line {line}: {part.source.format}" for line, part in parts[:20])
    notes = [f"The file holds the outputs of several commands; read were {outputs}."]
    if apart:
        notes.append(
            "Outputs that do not tell the time, or hold processes only, cannot be placed among "
            f"them and were left out: {'; '.join(apart[:10])}."
        )
    notes += [note for s in sources for note in s.notes if not _PASSED_OVER.search(note)]
    missing = {
        name: _moved(why, line) for line, part in parts for name, why in part.source.missing.items()
    }
    return Source(
        path=log.path,
        format=NAME,
        rows=sum(source.rows for source in sources),
        header_rows=headers,
        lines=lines,
        other_lines=lines - taken - headers - len(dropped),
        span_s=float(frame.index[-1]),
        dropped=dropped,
        notes=tuple(dict.fromkeys((*log.notes, *notes))),
        missing=missing,
        lines_taken=taken,
    )
