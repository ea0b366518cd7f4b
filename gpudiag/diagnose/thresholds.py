"""④ Other values for thresholds: a file that says, for a rule, `min_stall = 0.2`.

A changed threshold remembers the value that the rule gave it, so that every report says so.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpudiag.diagnose.model import Rule
from gpudiag.errors import RuleError
from gpudiag.language import tr
from gpudiag.signals.limits import LIMITS

MAX_BYTES = 64 * 1024
MOST = 1e15
HINT = (
    "write for example:  [GD101]  and below it  min_stall = 0.2  (names: gpudiag rules show CODE)"
)


def with_thresholds(rules: Sequence[Rule], path: Path | str) -> tuple[Rule, ...]:
    """`rules` with the values of the TOML file `path`: a table for each rule, by code or name.

    Raises RuleError for a file that cannot be read, an unknown rule or threshold, or a value that
    is no figure.
    """
    told = _read(Path(path))
    by_key = {key: rule for rule in rules for key in (rule.code, rule.name)}
    changed: dict[str, Rule] = {}
    for key, values in told.items():
        rule = by_key.get(key)
        if rule is None:
            raise RuleError(f"{path}: there is no rule {key[:60]!r}", "see: gpudiag rules list")
        if not isinstance(values, Mapping):
            raise RuleError(f"{path}: {key}: expected a table of thresholds", HINT)
        if rule.code in changed:
            raise RuleError(f"{path}: {rule.code} stands there twice, by code and by name", HINT)
        changed[rule.code] = _changed(rule, values, f"{path}: {key}")
    return tuple(changed.get(rule.code, rule) for rule in rules)


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise RuleError(f"{path}: larger than {MAX_BYTES // 1024} KiB", HINT)
        return tomllib.loads(text.decode("utf-8"))
    except OSError as error:
        raise RuleError(f"{path} cannot be read: {error.strerror or error}", HINT) from None
    except UnicodeDecodeError:
        raise RuleError(f"{path}: not UTF-8 text", HINT) from None
    except (ValueError, RecursionError) as error:
        raise RuleError(f"{path}: not TOML: {str(error)[:200]}", HINT) from None


def _changed(rule: Rule, values: Mapping[str, Any], where: str) -> Rule:
    names = {threshold.name for threshold in rule.thresholds}
    for name, value in values.items():
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise RuleError(f"{where}: no threshold {name[:60]!r} (there are: {known})", HINT)
        figure = isinstance(value, int | float) and not isinstance(value, bool)
        if not figure or not abs(value) <= MOST:
            raise RuleError(f"{where}: {name} must be a figure", HINT)
    return replace(
        rule,
        thresholds=tuple(
            replace(t, value=float(values[t.name]), original=t.value) if t.name in values else t
            for t in rule.thresholds
        ),
    )


def changes(rules: Sequence[Rule]) -> tuple[str, ...]:
    """What was changed, in words, for the limits of a report."""
    return tuple(
        tr(
            "{code}: {name} is {value} {unit} here, and not {original}.",
            code=rule.code,
            name=t.name,
            value=f"{t.value:g}",
            unit=t.unit,
            original=f"{t.original:g}",
        )
        for rule in rules
        for t in rule.thresholds
        if t.original is not None and t.original != t.value
    )


def limits_from(rules: Sequence[Rule]) -> dict[str, float]:
    """The limits of signals of evidence that a changed threshold of the same name replaces."""
    return {
        t.name: t.value
        for rule in rules
        for t in rule.thresholds
        if t.name in LIMITS and t.original is not None
    }
