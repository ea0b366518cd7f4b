"""Write docs/rules.md from the rules themselves: `python docs/make_rules_page.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpudiag.diagnose import load_rules
from gpudiag.diagnose.model import Cause, Rule
from gpudiag.resources import rules_dir

PAGE = Path(__file__).resolve().parent / "rules.md"
INTRO = """\
# Rules

What gpudiag can say, rule by rule. This page is made from the files in `rules/` by
`docs/make_rules_page.py`; `gpudiag rules show CODE` prints a rule with its remedies' code. Names
in expressions are [signals](signals.md), columns of [run.csv](format.md) and the rule's own
thresholds; [Writing a rule](writing-rules.md) explains the language. `{…}` in a text stands for a
measured figure.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The page as Markdown text."""
    rules = sorted(load_rules([rules_dir()]), key=lambda rule: rule.code)
    contents = "\n".join(
        f"- [{r.code} {r.name}](#{r.code.lower()}-{r.name}): {r.title}" for r in rules
    )
    return "\n".join([INTRO, contents, *("\n".join(section(rule)) for rule in rules)]) + "\n"


def section(rule: Rule) -> Iterator[str]:
    """The lines about one rule."""
    yield f"\n## {rule.code} {rule.name}\n\n**{rule.title}.** {flat(rule.meaning)}\n"
    yield f"Checked for {'each GPU' if rule.scope == 'gpu' else 'the whole run'}. It fires when\n"
    yield f"```\n{flat(rule.when)}\n```\n"
    if rule.supersedes:
        yield f"It replaces {', '.join(f'`{name}`' for name in rule.supersedes)}, which say less.\n"
    if rule.thresholds:
        yield "| threshold | value | source |\n|---|---|---|"
        for it in rule.thresholds:
            yield f"| `{it.name}` | {it.value:g} {it.unit} | {flat(it.source)} |"
        yield ""
    for cause in rule.causes:
        yield from about(cause)
    yield f"\n**To confirm:** {flat(rule.confirm)}"


def about(cause: Cause) -> Iterator[str]:
    """The lines about one cause."""
    yield f"\n**Cause `{cause.name}`: {cause.title}**, if `{flat(cause.when)}`\n"
    for remedy in cause.remedies:
        yield f"- *{remedy.framework}*: {flat(remedy.text)}"


def flat(text: str) -> str:
    """A text on one line, safe inside a table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
