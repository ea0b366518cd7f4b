"""⑤ What a report is about: its files, the run, the machines, and how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath

from gpudiag.diagnose.model import Diagnosis
from gpudiag.language import tr
from gpudiag.masking import masked_command
from gpudiag.report import words
from gpudiag.report.clean import clean
from gpudiag.report.environment import mapping
from gpudiag.report.quality import span_s
from gpudiag.timeline.cluster.model import ClusterTimeline
from gpudiag.timeline.model import Timeline
from gpudiag.units import format_duration

_MOST_MACHINES = 4  # that are named


def title(timeline: Timeline) -> str:
    """The name of the file; of a run on several machines, how many files."""
    if isinstance(timeline, ClusterTimeline):
        return tr("{count} recordings", count=len(timeline.nodes))
    return clean(PurePath(timeline.source.path).name or "recording", 120)


def command(timeline: Timeline) -> str:
    """The command line that was recorded, secrets masked; empty if there is none."""
    parts = timeline.start.get("command")
    if isinstance(parts, str):
        return clean(parts, 600)
    if not isinstance(parts, Sequence) or not parts:
        return ""
    return clean(shlex.join(masked_command([str(part) for part in parts])), 600)


def facts(diagnosis: Diagnosis, timeline: Timeline) -> tuple[tuple[str, str], ...]:
    """What stands below the verdict: name and text of what is known."""
    span, framework = span_s(timeline), words.FRAMEWORKS[diagnosis.framework]
    host = mapping(timeline.start.get("host"))
    facts = [
        (tr("Duration"), format_duration(span) if span is not None else tr("not known")),
        (tr("GPUs"), _gpus(timeline)),
        (tr("Framework"), framework if diagnosis.framework != "any" else ""),
        (tr("Started"), words.moment(timeline.start.get("time"))),
        (tr("Host"), clean(host.get("hostname") or "", 80)),
        (tr("Machines"), _machines(timeline)),
        (tr("Ended with"), _failure(timeline)),
    ]
    return tuple((name, text) for name, text in facts if text)


def _machines(timeline: Timeline) -> str:
    """`8: node0 to node7` of a run on several; empty of one."""
    if not isinstance(timeline, ClusterTimeline):
        return ""
    names = [node.name for node in timeline.nodes]
    shown = tr(", ").join(names if len(names) <= _MOST_MACHINES else [names[0], "…", names[-1]])
    return tr("{name}: {value}", name=len(names), value=clean(shown, 300))


def _failure(timeline: Timeline) -> str:
    """How the program failed; empty if it did not, or if the recording does not say."""
    end = mapping(timeline.end)
    if end.get("signal") is not None:
        return tr("signal {signal}", signal=clean(end["signal"], 40))
    code = end.get("exit_code")
    return tr("exit code {code}", code=clean(code, 40)) if code not in (None, 0) else ""


def _gpus(timeline: Timeline) -> str:
    """`2 × NVIDIA A100-SXM4-80GB`; several models are listed."""
    counts: dict[str, int] = {}
    for gpu in timeline.gpus:
        name = clean(timeline.gpu_facts(gpu).get("name") or tr("GPU of unknown model"), 80)
        counts[name] = counts.get(name, 0) + 1
    return tr(", ").join(f"{count} × {name}" for name, count in counts.items()) or tr(
        "none recorded"
    )


def _paths(timeline: Timeline) -> str:
    if isinstance(timeline, ClusterTimeline):
        return shlex.join(node.timeline.source.path for node in timeline.nodes)
    return shlex.quote(timeline.source.path)


def repeat(timeline: Timeline, command: str) -> tuple[tuple[str, str], ...]:
    """The commands that make this page, and such a recording, again."""
    path = clean(_paths(timeline), 4000)
    # a kernel is no command to be typed
    program = command if command and "ipykernel" not in command else "python train.py"
    return (
        (tr("Make this page again"), f"gpudiag report {path}"),
        (tr("Record such a run again"), f"gpudiag record -o run.csv -- {program}"),
    )
