"""⑤ What a comparison says, before it has a form: texts that are ready to print."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from gpudiag import __version__
from gpudiag.compare.model import Change, Comparison, Kind, Outcome, PartPair, Quantity, Side
from gpudiag.language import tr
from gpudiag.report.clean import clean
from gpudiag.report.comparison.words import SYMBOLS, quantity_row, signed, state_of, state_words
from gpudiag.report.labels import percent
from gpudiag.report.view import Figure
from gpudiag.report.words import gpu_time, sentence

_KINDS: dict[Kind, str] = {
    "gone": "gone",
    "new": "new",
    "less": "less",
    "more": "more",
    "same": "still there",
    "unchecked": "cannot be told",
    "covered": "another finding says it",
}
_MARKS: dict[Kind, str] = {
    "gone": "−", "new": "+", "less": "↓", "more": "↑", "same": "=", "unchecked": "?",
    "covered": "·",
}  # fmt: skip


@dataclass(frozen=True)
class ChangeView:
    """A finding and what became of it; `costs` is its cost in both runs in words."""

    code: str
    title: str
    mark: str
    kind: str
    costs: str
    summary: str
    reason: str


@dataclass(frozen=True)
class ComparisonView:
    """One run against the first."""

    after: str
    outcome: Outcome
    state: str  # as of a report, for its colour
    symbol: str
    words: str
    sentence: str
    notes: tuple[str, ...]
    parts: tuple[tuple[str, str, str, str], ...]  # title, before, after, change in points
    changes: tuple[ChangeView, ...]
    quantities: tuple[tuple[str, str, str, str], ...]  # title, before, after, change
    figure: Figure | None


@dataclass(frozen=True)
class PageView:
    """The whole page."""

    title: str
    before: str
    runs: tuple[tuple[str, str, str], ...]  # name, state and sentence of its own report
    comparisons: tuple[ComparisonView, ...]
    command: str
    made_by: str


def build(comparisons: Sequence[Comparison], *, figures: bool) -> PageView:
    """The page on `comparisons`, which share the run before. `figures`: draw them."""
    first = comparisons[0].before
    sides = [first, *(one.after for one in comparisons)]
    paths = [clean(shlex.quote(side.timeline.source.path), 1000) for side in sides]
    return PageView(
        title=clean(PurePath(first.name).name or "recording", 120),
        before=clean(first.name, 120),
        runs=tuple(_run(side) for side in sides),
        comparisons=tuple(
            _comparison(one, number, figures=figures) for number, one in enumerate(comparisons, 1)
        ),
        command=f"gpudiag compare {' '.join(paths)}",
        made_by=f"gpudiag {__version__}",
    )


def _run(side: Side) -> tuple[str, str, str]:
    from gpudiag.report import words

    said = words.verdict(clean(side.diagnosis.sentence, 600))
    return clean(side.name, 120), words.state_words(side.diagnosis.state), said


def _comparison(one: Comparison, number: int, *, figures: bool) -> ComparisonView:
    figure = None
    if figures:
        from gpudiag.report.comparison.plots import overlay

        figure = overlay(one, f"overlay-{number}")
    return ComparisonView(
        after=clean(one.after.name, 120),
        outcome=one.outcome,
        state=state_of(one.outcome),
        symbol=SYMBOLS[one.outcome],
        words=state_words(one.outcome),
        sentence=clean(one.sentence, 600),
        notes=tuple(clean(note, 600) for note in one.notes),
        parts=tuple(map(_part, one.parts)),
        changes=tuple(map(_change, one.changes)),
        quantities=tuple(map(_quantity, one.quantities)),
        figure=figure,
    )


def _part(part: PartPair) -> tuple[str, str, str, str]:
    moved = ""
    if part.before_share is not None and part.after_share is not None:
        points = 100 * (part.after_share - part.before_share)
        moved = tr("{points} points", points=signed(round(points)))
    return (
        sentence(clean(part.title, 120)),
        _share(part.before_share, part.before_s),
        _share(part.after_share, part.after_s),
        moved,
    )


def _share(share: float | None, seconds: float | None) -> str:
    if share is None or seconds is None:
        return "–"
    return tr("{share} ({time})", share=percent(share), time=gpu_time(seconds))


def _change(change: Change) -> ChangeView:
    costs = [None if c is None else percent(c) for c in (change.before_cost, change.after_cost)]
    if costs[0] and costs[1]:
        said = tr("{before} → {after} of the GPU time", before=costs[0], after=costs[1])
    else:
        known = costs[0] or costs[1]
        said = tr("{share} of the GPU time", share=known) if known else ""
    return ChangeView(
        clean(change.code, 20),
        clean(change.title, 200),
        _MARKS[change.kind],
        tr(_KINDS[change.kind]),
        said,
        clean(change.summary),
        clean(change.reason, 400),
    )


def _quantity(quantity: Quantity) -> tuple[str, str, str, str]:
    return quantity_row(quantity)
