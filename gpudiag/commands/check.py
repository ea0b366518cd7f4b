"""`gpudiag check`: a recording against limits, for CI: exit code 0 if it keeps them, else 1."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudiag import __version__
from gpudiag.commands import reading, spoken
from gpudiag.language import retold, tr

if TYPE_CHECKING:
    from gpudiag.diagnose.model import Diagnosis, Finding
    from gpudiag.timeline.model import Timeline

NAME = "check"
HELP = "exit with 1 if a run has findings of a severity, or stalled for too long: for CI"
EPILOG = """\
A finding fails the check if it is as severe as --fail-on says, or more, and sure enough: what is
"not sure yet" is printed and does not fail. A limit that cannot be checked fails.

examples:
  gpudiag check run.csv                      fails on findings of severity high and critical
  gpudiag check run.csv --fail-on medium
  gpudiag check run.csv --fail-on never --max-stall 20%
  gpudiag check run.csv --format json
"""
SCHEMA_VERSION = 1
NEVER = "never"
# those of diagnose.model, which must not be loaded for --help; a test holds the two together
LEVELS = ("info", "low", "medium", "high", "critical")
_PERCENT = re.compile(r"\s*(\d{1,3}(?:\.\d+)?)\s*%\s*", re.ASCII)


@dataclass(frozen=True)
class Result:
    """What was found, and which limits were broken: `reasons` is empty if the check is passed."""

    diagnosis: Diagnosis
    failing: tuple[Finding, ...]
    stall: float | str | None  # a share, why it cannot be told, or None if it was not asked for
    reasons: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    reading.add_arguments(parser, several=True)
    parser.add_argument(
        "--fail-on", choices=(*LEVELS, NEVER), default="high", metavar="SEVERITY",
        help=f"the least severity that fails: {', '.join(LEVELS)}, or {NEVER} (default: high)",
    )  # fmt: skip
    parser.add_argument(
        "--max-stall", type=_percent, metavar="PERCENT",
        help="fail if no kernel ran for more than this part of the active time, such as 20%%",
    )  # fmt: skip
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--rules", metavar="DIR", action="append", default=[],
        help="also use the rules in this folder (may be given more than once)",
    )  # fmt: skip
    parser.add_argument(
        "--thresholds", metavar="FILE",
        help="other values for thresholds of the rules, as TOML (the report says which)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Print one line a finding, or JSON; 1 if a limit is broken, else 0."""
    with spoken.language(args, terminal=args.format == "text"):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from gpudiag.diagnose import diagnose, load_rules
    from gpudiag.diagnose.thresholds import with_thresholds
    from gpudiag.resources import rules_dir

    with reading.progress(args):
        timeline = reading.read_run(args)
    rules = load_rules([rules_dir(), *map(Path, args.rules)])
    if args.thresholds:
        rules = with_thresholds(rules, args.thresholds)
    result = check(diagnose(timeline, rules), timeline, args.fail_on, args.max_stall)
    if args.format == "json":
        print(json.dumps(document(result, args), indent=2, sort_keys=True, allow_nan=False))
    else:
        for line in lines(result):
            print(line)
    return 1 if result.reasons else 0


def check(
    diagnosis: Diagnosis, timeline: Timeline, fail_on: str, max_stall: float | None
) -> Result:
    """The findings and the stall of a run against the limits; `max_stall` is a share, 0 to 1."""
    from gpudiag.report.labels import percent

    failing = tuple(
        finding
        for finding in diagnosis.findings
        if fail_on != NEVER
        and LEVELS.index(finding.severity) >= LEVELS.index(fail_on)
        and finding.confidence != "watch"
    )
    reasons = [f"{finding.rule.code} {finding.rule.name}" for finding in failing]
    stall = None if max_stall is None else _stall(timeline)
    if isinstance(stall, str):
        reasons.append(tr("the stall could not be checked: {reason}", reason=retold(stall)))
    elif stall is not None and max_stall is not None and stall > max_stall:
        reasons.append(
            tr(
                "stalled for {share}, more than {limit}",
                share=percent(stall),
                limit=percent(max_stall),
            )
        )
    return Result(diagnosis, failing, stall, tuple(reasons))


def lines(result: Result) -> list[str]:
    """One line a finding, one for the stall if it was asked for, and the outcome."""
    from gpudiag.report.clean import clean
    from gpudiag.report.labels import percent
    from gpudiag.report.words import SYMBOLS, state_words, verdict, where

    said = []
    for finding in result.diagnosis.findings:
        outcome = tr("FAIL") if finding in result.failing else tr("note")
        cost = (
            tr(" ({share} of the GPU time)", share=percent(finding.cost))
            if finding.cost is not None
            else ""
        )
        sure = tr(", not sure yet") if finding.confidence == "watch" else ""
        said.append(
            f"{outcome}  {tr(finding.severity)}{sure}  {finding.rule.code} {finding.rule.name}"
            + tr(", {where}: {said}", where=where(finding.gpus), said=f"{finding.summary}{cost}")
        )
    if isinstance(result.stall, float):
        broken = len(result.reasons) > len(result.failing)
        outcome = tr("FAIL") if broken else tr("ok")
        said.append(f"{outcome}  {tr('stalled for {share}', share=percent(result.stall))}")
    elif result.stall is not None:
        said.append(f"{tr('FAIL')}  {result.reasons[-1]}")
    state = result.diagnosis.state
    # cleaned before its first letter is made a capital: `hf_…` is known as a token by it
    sentence = verdict(clean(result.diagnosis.sentence))
    said.append(f"{SYMBOLS[state]} {state_words(state)}{tr(': ')}{sentence}")
    said.append(
        tr("failed: {reasons}", reasons=tr("; ").join(result.reasons))
        if result.reasons
        else tr("passed")
    )
    return [clean(line) for line in said]


def document(result: Result, args: argparse.Namespace) -> dict[str, Any]:
    """The result for programs: schema version 1, described in docs/report.md."""
    from gpudiag.report.clean import clean

    return {
        "schema_version": SCHEMA_VERSION,
        "made_by": f"gpudiag {__version__}",
        "file": clean(" ".join(args.files), 300),
        "passed": not result.reasons,
        "reasons": [clean(reason) for reason in result.reasons],
        "fail_on": args.fail_on,
        "max_stall": args.max_stall,
        "stall": result.stall if isinstance(result.stall, float) else None,
        "state": result.diagnosis.state,
        "sentence": clean(result.diagnosis.sentence, 600),
        "findings": [
            {
                "code": clean(finding.rule.code, 20),
                "name": clean(finding.rule.name, 100),
                "severity": finding.severity,
                "confidence": finding.confidence,
                "gpus": list(finding.gpus),
                "cost": finding.cost,
                "summary": clean(finding.summary),
                "fails": finding in result.failing,
            }
            for finding in result.diagnosis.findings
        ],
    }


def _stall(timeline: Timeline) -> float | str:
    """The signal `stall_share`, or why there is none."""
    from gpudiag.report.reasons import reasons
    from gpudiag.signals.base import Missing
    from gpudiag.signals.compute import SignalSet

    value = SignalSet(timeline).figure("stall_share")
    return reasons([value.reason])[0] if isinstance(value, Missing) else float(value)


def _percent(text: str) -> float:
    match = _PERCENT.fullmatch(text)
    if not match or float(match[1]) > 100:
        raise argparse.ArgumentTypeError("write it as a percentage from 0% to 100%: 20%")
    return float(match[1]) / 100
