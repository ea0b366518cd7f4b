"""④ What we know (Rule) and what we say (Finding). Frozen data; the work is done beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["info", "low", "medium", "high", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "low", "medium", "high", "critical")
Confidence = Literal["watch", "likely", "confirmed"]
Framework = Literal["any", "pytorch", "lightning", "transformers", "paddle", "tensorflow", "jax"]
Verdict = Literal["holds", "ruled out", "unknown"]


@dataclass(frozen=True)
class Threshold:
    """A named figure that expressions of a rule use, with the source it rests on.

    `original` is the rule's own value where a user has set another one.
    """

    name: str
    value: float
    unit: str
    source: str
    original: float | None = None


@dataclass(frozen=True)
class Remedy:
    """What to change, for one framework: a sentence and, if there is any, code to copy."""

    framework: Framework
    text: str
    code: str = ""


@dataclass(frozen=True)
class Cause:
    """A possible cause within a rule. `when` is an expression; `evidence` a text with {holes}."""

    name: str
    title: str
    when: str
    evidence: str
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True)
class Level:
    """A step of a ladder (`severity` or `confidence`): the last one whose `when` holds counts."""

    level: str
    when: str


@dataclass(frozen=True)
class Need:
    """What must be so before a rule's `fine` may be said; else `otherwise` is why it may not."""

    when: str
    otherwise: str


@dataclass(frozen=True)
class RuleTest:
    """A synthetic recording in the rule's own file, and whether the rule must fire on it."""

    name: str
    fires: bool
    series: Mapping[str, str]
    start: Mapping[str, Any] = field(default_factory=dict)
    end: Mapping[str, Any] = field(default_factory=lambda: {"exit_code": 0})  # empty: cut short
    events: tuple[Mapping[str, Any], ...] = ()
    holds: tuple[str, ...] = ()  # causes that must hold when it fires
    unchecked: bool = False  # silent because it cannot be checked, and not because all is well
    interval_s: float = 1.0


@dataclass(frozen=True)
class Rule:
    """One file of `rules/`: a problem, how it shows, what causes it and what to do about it."""

    code: str
    name: str
    title: str
    family: str
    scope: Literal["run", "gpu"]
    when: str
    for_s: float  # episodes: at least this long …
    bridge_s: float  # … interruptions up to this long do not end them
    min_share: float  # … and this share of the time in total
    cost: str  # expression: share of the run's GPU time lost, 0 to 1; "" = none
    bound: bool  # whether 1/(1-cost) bounds the speed-up
    summary: str
    meaning: str
    confirm: str
    fine: str  # what is said when the rule was checked and did not fire
    evidence: tuple[str, ...]
    plot: tuple[str, ...]  # columns of run.csv, without gpu<N>_ replaced by gpu_
    supersedes: tuple[str, ...]  # names of rules that say the same more vaguely
    thresholds: tuple[Threshold, ...]
    severity: tuple[Level, ...]
    confidence: tuple[Level, ...]
    causes: tuple[Cause, ...]
    tests: tuple[RuleTest, ...]
    path: str = ""
    fine_needs: tuple[Need, ...] = ()
    bound_most: str = ""  # figure: what the bound is at most, if it is known; "" = none
    cost_error: str = ""  # figure: by how much the cost may be too low, for the bound; "" = none
    zh: Rule | None = None  # the same rule with its texts in Chinese, if its file has them


@dataclass(frozen=True)
class Episode:
    """A stretch of time in which a finding holds, in seconds since the start."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class CauseVerdict:
    """A cause after checking: it holds, it is ruled out, or it could not be checked (`missing`).

    `evidence` is the cause's own where it holds; where it is ruled out, the comparison that failed
    and the figure measured; else empty.
    """

    cause: Cause
    verdict: Verdict
    evidence: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What we say of a run: one problem, where, how sure, what it costs, why, and what to do.

    `cost` is the share of the run's GPU time lost (0 to 1), `bound` the upper bound of the
    speed-up, 1/(1-cost-its error); both None where no figure can be given honestly. `gpus` is empty
    for a finding about the whole run. `node` is the machine whose figures are told, where the run
    was on several and the finding is about one.
    """

    rule: Rule
    severity: Severity
    confidence: Confidence
    summary: str
    gpus: tuple[int, ...]
    cost: float | None
    bound: float | None
    episodes: tuple[Episode, ...]
    evidence: tuple[str, ...]
    causes: tuple[CauseVerdict, ...]
    node: str = ""

    def _repr_html_(self) -> str:  # in a notebook
        from gpudiag.diagnose.display import finding_html

        return finding_html(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # on IPython's prompt
        from gpudiag.diagnose.display import finding_plain

        printer.text(finding_plain(self))


Outcome = Literal["fired", "superseded", "fine", "unchecked"]


@dataclass(frozen=True)
class Check:
    """What became of one rule: fired, superseded by a more specific one, fine, or unchecked."""

    rule: Rule
    outcome: Outcome
    text: str  # fine: the rule's `fine` sentence; unchecked: because …
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class LedgerPart:
    """A part of the run's GPU time: `name` (stable), a title, seconds of one GPU, share of all."""

    name: str
    title: str
    gpu_s: float
    share: float


@dataclass(frozen=True)
class Ledger:
    """Where the run's GPU time went. The shares of `parts` sum to 1; empty if time is unknown."""

    gpus: tuple[int, ...] = ()
    wall_s: float = 0.0
    parts: tuple[LedgerPart, ...] = ()
    reason: str = ""  # why it is empty


State = Literal["problem", "healthy", "cannot tell"]


@dataclass(frozen=True)
class Diagnosis:
    """Everything said of one timeline: a verdict, findings by cost, and what became of each rule.

    It is a sequence of its findings: `gpudiag.diagnose(timeline)[0].summary`.
    """

    state: State
    sentence: str
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    ledger: Ledger
    framework: Framework
    limits: tuple[str, ...] = ()  # what this recording or log cannot tell, and what would
    figures: Mapping[str, float] = field(default_factory=dict)  # headline figures by signal name

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, index: int) -> Finding:
        return self.findings[index]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def _repr_html_(self) -> str:
        from gpudiag.diagnose.display import html

        return html(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        from gpudiag.diagnose.display import plain

        printer.text(plain(self))
