"""⑤ From findings to a page, the terminal, Markdown or JSON."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gpudiag.errors import UsageError

if TYPE_CHECKING:
    from gpudiag.diagnose.model import Diagnosis
    from gpudiag.timeline.model import Timeline

Format = Literal["html", "json", "markdown", "text"]
FORMATS: tuple[Format, ...] = ("html", "json", "markdown", "text")


def render(
    findings: Diagnosis, timeline: Timeline, path: str | os.PathLike[str], form: Format = "html"
) -> Path:
    """Write the report on `timeline` to `path` and return the path; raises as `write` does."""
    return write(render_text(findings, timeline, form), path)


def write(text: str, path: str | os.PathLike[str]) -> Path:
    """Write a page to `path` and return the path.

    The file is complete or not there: it is written beside `path` and then renamed.
    Raises UsageError (one line) where the file cannot be written.
    """
    target = Path(path)
    try:
        if target.is_symlink():  # the link stays, what it leads to is replaced
            target = Path(os.path.realpath(target))
        if target.exists() and not target.is_file():
            raise OSError(None, "it is no regular file")
    except (OSError, ValueError) as error:
        raise _cannot_write(target, error) from None
    part = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        part.write_bytes(text.encode("utf-8", "backslashreplace"))
        part.replace(target)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        with suppress(OSError, ValueError):
            part.unlink()
        raise _cannot_write(target, error) from None
    return target


def _cannot_write(target: Path, error: Exception) -> UsageError:
    reason = getattr(error, "strerror", None) or error
    return UsageError(f"cannot write {target}: {reason}", "choose another place with -o FILE")


def render_text(findings: Diagnosis, timeline: Timeline, form: Format = "html") -> str:
    """The report as text, in one of FORMATS."""
    from gpudiag.report.build import build

    view = build(findings, timeline, figures=form == "html")
    if form == "html":
        from gpudiag.report.html import render_html

        return render_html(view)
    if form == "json":
        from gpudiag.report.json import render_json

        return render_json(view)
    if form == "markdown":
        from gpudiag.report.markdown import render_markdown

        return render_markdown(view)
    from gpudiag.report.text import render_terminal

    return render_terminal(view)
