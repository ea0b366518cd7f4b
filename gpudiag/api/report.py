"""⑤ A report as an object: it shows itself in a notebook, prints as text, and can be saved.

In a notebook the whole page stands in an `iframe` of its own, so that its style sheet and the
notebook's cannot meet. A line above it says the verdict for viewers that show no frame, such as
GitHub's and a notebook that is not trusted yet.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiag.language import tr
from gpudiag.report import Format, render, render_text
from gpudiag.report.clean import clean

if TYPE_CHECKING:
    from gpudiag.diagnose.model import Diagnosis
    from gpudiag.timeline.model import Timeline

_ENDINGS: dict[str, Format] = {".json": "json", ".md": "markdown", ".txt": "text"}
# an origin of its own: whatever a log holds, the page cannot reach the notebook
_FRAME = (
    '<div style="height:44rem;resize:vertical;overflow:hidden;border:1px solid #8886;'
    'border-radius:4px"><iframe title="{title}" sandbox="allow-scripts" srcdoc="{page}" '
    'style="width:100%;height:100%;border:0;display:block"></iframe></div>'
)


def open_report(path: str | os.PathLike[str]) -> Report:
    """Read and diagnose a recording or log. Raises UnreadableError."""
    from gpudiag.diagnose import diagnose
    from gpudiag.timeline.read import read

    timeline = read(path)
    return Report(Path(path), timeline, diagnose(timeline))


@dataclass(frozen=True)
class Report:
    """What a recording says: `findings` (a Diagnosis, a sequence) and the `timeline` behind it."""

    path: Path
    timeline: Timeline = field(repr=False)
    findings: Diagnosis = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it: .json, .md and .txt by their ending, else the page. Raises UsageError."""
        form = _ENDINGS.get(Path(path).suffix.lower(), "html")
        return render(self.findings, self.timeline, path, form)

    def __str__(self) -> str:
        return render_text(self.findings, self.timeline, "text")

    def __repr__(self) -> str:
        from gpudiag.diagnose.display import plain

        return plain(self.findings)

    def _repr_markdown_(self) -> str:
        return render_text(self.findings, self.timeline, "markdown")

    def _repr_html_(self) -> str:
        return self._html

    @cached_property
    def _html(self) -> str:
        from gpudiag.diagnose.display import headline

        page = render_text(self.findings, self.timeline, "html")
        title = tr("The report on {file}", file=clean(self.path.name, 120))
        frame = _FRAME.format(title=escape(title), page=escape(page))
        return headline(self.findings) + frame
