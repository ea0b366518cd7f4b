"""The library in four lines, as the README shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOG = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n" + "".join(
    f"2026/01/01 10:{s // 60:02d}:{s % 60:02d}.000, 0, {20 + s % 2} %, 4500 MiB\n"
    for s in range(300)
)
FOUR_LINES = """
timeline = gpudiag.read({log!r})
findings = gpudiag.diagnose(timeline)
print(findings[0].summary)
gpudiag.render(findings, timeline, {page!r})
"""


@pytest.mark.parametrize(
    "before", ["import gpudiag", "import gpudiag.report, gpudiag.diagnose.model, gpudiag"]
)
def test_the_four_lines_work_whatever_was_imported_before(tmp_path: Path, before: str) -> None:
    """GIVEN a fresh interpreter WHEN the four lines run THEN they print a summary, write a page."""
    log, page = tmp_path / "gpu_log.csv", tmp_path / "page.html"
    log.write_text(LOG, encoding="utf-8")
    code = before + FOUR_LINES.format(log=str(log), page=str(page)) * 2
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "idle" in done.stdout
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_an_unknown_name_is_an_attribute_error() -> None:
    """GIVEN a name that the package does not have WHEN asked for THEN AttributeError."""
    import gpudiag

    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gpudiag.nonsense
