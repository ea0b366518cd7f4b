"""④ A rule ready to be evaluated: expressions and texts parsed once, kinds checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from gpudiag.diagnose.expression import parse
from gpudiag.diagnose.functions import FUNCTIONS
from gpudiag.diagnose.holes import Text, parse_text
from gpudiag.diagnose.model import Cause, Level, Rule
from gpudiag.diagnose.nodes import Context, ExpressionError, Kind, Node, Symbol
from gpudiag.diagnose.toml_section import Key, in_words
from gpudiag.errors import RuleError

Report = Callable[[Key, str], None]
T = TypeVar("T")

_NOTHING = Node("number", "figure")


@dataclass(frozen=True)
class CompiledCause:
    """A cause with its expressions; `remedies` are pairs of text and code."""

    cause: Cause
    when: Node
    evidence: Text
    remedies: tuple[tuple[Text, Text], ...]


@dataclass(frozen=True)
class CompiledRule:
    """A rule with everything that is evaluated. `cost` is None where the rule gives none."""

    rule: Rule
    when: Node
    cost: Node | None
    bound_most: Node | None
    cost_error: Node | None
    summary: Text
    fine: Text
    fine_needs: tuple[tuple[Node, str], ...]
    evidence: tuple[Text, ...]
    severity: tuple[tuple[Level, Node], ...]
    confidence: tuple[tuple[Level, Node], ...]
    causes: tuple[CompiledCause, ...]


def compile_rule(
    rule: Rule, symbols: Mapping[str, Symbol], report: Report | None = None
) -> CompiledRule:
    """Parse all of `rule`. A mistake goes to `report`; without one it is raised as RuleError."""
    compiler = _Compiler(rule, symbols, report)
    compiler.check_thresholds()
    return compiler.compile()


class _Compiler:
    def __init__(self, rule: Rule, symbols: Mapping[str, Symbol], report: Report | None) -> None:
        self.rule = rule
        self.symbols = symbols
        self.report = report
        thresholds = {threshold.name: threshold.value for threshold in rule.thresholds}
        self.plain = Context(symbols, thresholds, per_gpu=rule.scope == "gpu")
        self.with_cost = replace(self.plain, cost=bool(rule.cost))

    def check_thresholds(self) -> None:
        for threshold in self.rule.thresholds:
            name = threshold.name
            if name in self.symbols or name in FUNCTIONS or name in ("cost", "gpu", "gpus"):
                self.note(("thresholds", name), f"{name!r} has a meaning already")

    def compile(self) -> CompiledRule:
        rule = self.rule
        # `fine` is said when nothing fired, on no GPU in particular
        run = replace(self.plain, per_gpu=False)
        return CompiledRule(
            rule,
            when=self.when(),
            cost=self.node(("cost",), rule.cost, self.plain, "figure") if rule.cost else None,
            bound_most=self.figure("bound_most", rule.bound_most, run),
            cost_error=self.figure("cost_error", rule.cost_error, run),
            summary=self.text(("summary",), rule.summary),
            fine=self.text(("fine",), rule.fine, run),
            fine_needs=tuple(
                (self.node(("fine_needs", n, "when"), need.when, run, "condition"), need.otherwise)
                for n, need in enumerate(rule.fine_needs)
            ),
            evidence=tuple(
                self.text(("evidence", n, "text"), text) for n, text in enumerate(rule.evidence)
            ),
            severity=self.ladder("severity", rule.severity),
            confidence=self.ladder("confidence", rule.confidence),
            causes=tuple(self.cause(n, cause) for n, cause in enumerate(rule.causes)),
        )

    def figure(self, key: str, source: str, context: Context) -> Node | None:
        return self.node((key,), source, context, "figure") if source else None

    def when(self) -> Node:
        rule = self.rule
        node = self.node(("when",), rule.when, self.plain, "condition", "series condition")
        if node.kind == "condition":
            for key, value in (
                ("for", rule.for_s),
                ("bridge", rule.bridge_s),
                ("min_share", rule.min_share),
            ):
                if value:
                    self.note((key,), "'when' is one condition, not a series: it has no episodes")
        return node

    def cause(self, number: int, cause: Cause) -> CompiledCause:
        key: Key = ("cause", number)
        remedies = []
        for n, remedy in enumerate(cause.remedies):
            place: Key = (*key, "remedy", n)
            text = self.text((*place, "text"), remedy.text)
            remedies.append((text, self.text((*place, "code"), remedy.code)))
        return CompiledCause(
            cause,
            self.node((*key, "when"), cause.when, self.plain, "condition"),
            self.text((*key, "evidence"), cause.evidence),
            tuple(remedies),
        )

    def ladder(self, name: str, levels: tuple[Level, ...]) -> tuple[tuple[Level, Node], ...]:
        return tuple(
            (level, self.node((name, n, "when"), level.when, self.with_cost, "condition"))
            for n, level in enumerate(levels)
        )

    def node(self, key: Key, text: str, context: Context, *kinds: Kind) -> Node:
        return self.attempt(key, lambda: parse(text, context, *kinds), _NOTHING, bool(text))

    def text(self, key: Key, text: str, context: Context | None = None) -> Text:
        return self.attempt(key, lambda: parse_text(text, context or self.with_cost), (), True)

    def attempt(self, key: Key, action: Callable[[], T], fallback: T, given: bool) -> T:
        if not given and self.report:
            return fallback  # the loader has said that it is missing
        try:
            return action()
        except ExpressionError as error:
            self.note(key, f"column {error.column}: {error.problem}")
            return fallback

    def note(self, key: Key, problem: str) -> None:
        if self.report is None:
            raise RuleError(f"{self.rule.name}: {in_words(key)}: {problem}")
        self.report(key, problem)
