"""⑤ What a report says, before it has a form: the one input of every format.

`build.build` makes it from a Diagnosis and a Timeline. Texts are ready to print (control characters
visible, nothing escaped yet: each format escapes for itself); figures are SVG elements made here
from figures alone, never from text of outside.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from gpudiag.diagnose.model import State, Verdict

_END = re.compile(r"(?<=[.!?]) (?=[A-Z0-9])|(?<=[。！？])")


class _Unchecked(Protocol):
    """What says why it could not be checked."""

    @property
    def missing(self) -> tuple[str, ...]: ...


Thing = TypeVar("Thing", bound=_Unchecked)
Groups = tuple[tuple[tuple[str, ...], tuple[Thing, ...]], ...]


def by_reason(things: Iterable[Thing]) -> Groups[Thing]:
    """(reasons, things) in the order of their first: a reason that many share is said once."""
    groups: dict[tuple[str, ...], list[Thing]] = {}
    for thing in things:
        groups.setdefault(thing.missing, []).append(thing)
    return tuple((reasons, tuple(group)) for reasons, group in groups.items())


@dataclass(frozen=True)
class Figure:
    """A plot: `svg` is an element to put into a page as it stands, `caption` what to see in it."""

    svg: str
    caption: str


@dataclass(frozen=True)
class LedgerRow:
    """A part of the run's GPU time: from `start`, `share` of all of it; `time` in words."""

    letter: str
    name: str
    title: str
    start: float
    share: float
    gpu_s: float
    percent: str
    time: str
    kind: str  # its colour and pattern


@dataclass(frozen=True)
class LedgerView:
    """The time ledger; without rows, `reason` says why there is none."""

    rows: tuple[LedgerRow, ...]
    total: str
    reason: str = ""


@dataclass(frozen=True)
class RemedyView:
    """One remedy: for which framework, what to do, code to copy (may be empty)."""

    framework: str
    text: str
    code: str


@dataclass(frozen=True)
class CauseView:
    """A cause with its verdict. `remedies` suit the framework in use
    (PyTorch's and Paddle's if it is not known), `others` another one."""

    name: str
    title: str
    verdict: Verdict
    evidence: str
    missing: tuple[str, ...]
    remedies: tuple[RemedyView, ...]
    others: tuple[RemedyView, ...]


@dataclass(frozen=True)
class FindingView:
    """One finding, with `cost` and `bound` as figures (None: not known) and in words."""

    code: str
    name: str
    title: str
    severity: str
    confidence: str
    stakes: tuple[tuple[str, str, str], ...]  # what, the figure or word, the rest of the sentence
    where: str
    gpus: tuple[int, ...]
    node: str
    summary: str
    meaning: str
    cost: float | None
    bound: float | None
    cost_words: str
    bound_words: str
    episodes: tuple[tuple[float, float], ...]
    evidence: tuple[str, ...]
    causes: tuple[CauseView, ...]
    confirm: str
    figure: Figure | None

    @property
    def unknown(self) -> Groups[CauseView]:
        """The causes that could not be checked, by what was missing."""
        return by_reason(cause for cause in self.causes if cause.verdict == "unknown")


@dataclass(frozen=True)
class CheckView:
    """A rule that did not fire: what is fine, or why it could not be checked."""

    code: str
    title: str
    text: str
    missing: tuple[str, ...] = ()


def by_commonest(checks: Sequence[CheckView]) -> Groups[CheckView]:
    """The checks by the commonest of their reasons, the largest group first.

    In a group each check keeps as `missing` what it lacks besides.
    """
    counts = Counter(reason for check in checks for reason in check.missing)
    groups: dict[tuple[str, ...], list[CheckView]] = {}
    for check in checks:
        first = tuple(sorted(check.missing, key=lambda reason: -counts[reason])[:1])
        besides = tuple(reason for reason in check.missing if reason not in first)
        groups.setdefault(first, []).append(replace(check, missing=besides))
    largest = sorted(groups.items(), key=lambda group: -len(group[1]))
    return tuple((reasons, tuple(group)) for reasons, group in largest)


@dataclass(frozen=True)
class Brief:
    """A line under the verdict: a heading, the figure or word, the rest, and where to read on."""

    heading: str
    figure: str
    rest: str
    link: str = ""


@dataclass(frozen=True)
class Table:
    """A small table: a caption, the heads of its columns, rows of texts."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Quality:
    """How good the recording is: figures, what happened while it ran, and what was dropped."""

    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    events: tuple[tuple[str, str, str], ...]
    dropped: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class View:
    """A whole report."""

    file: str
    title: str
    state: State
    symbol: str
    sentence: str
    brief: tuple[Brief, ...]
    facts: tuple[tuple[str, str], ...]
    command: str
    framework: str
    ledger: LedgerView
    findings: tuple[FindingView, ...]
    fine: tuple[CheckView, ...]
    superseded: tuple[CheckView, ...]
    unchecked: tuple[CheckView, ...]
    limits: tuple[str, ...]
    overview: Figure | None
    heat: Figure | None
    memory: Figure | None
    devices: Figure | None
    environment: tuple[Table, ...]
    settings: tuple[tuple[str, str], ...]
    quality: Quality
    repeat: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, float], ...]
    made_by: str

    @property
    def headline(self) -> str:
        """The first sentence of the verdict."""
        return _END.split(self.sentence, maxsplit=1)[0]

    @property
    def unknown(self) -> Groups[CheckView]:
        """The rules that could not be checked, by what they lack, as `by_commonest` groups them."""
        return by_commonest(self.unchecked)

    @property
    def lead(self) -> str:
        """What follows it, if anything does."""
        return self.sentence[len(self.headline) :].strip()
