"""Nothing is dropped silently: every line of a file is a reading, or is said to be something else.

The lines are counted here, from the bytes of the file, and not taken from the reader.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from pathlib import Path

import pytest

from gpudiag.errors import GpudiagError
from gpudiag.timeline.read import read

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CORPUS = Path(
    os.environ.get("GPUDIAG_CORPUS", Path(__file__).parents[3] / "shared" / "corpus")
).resolve()
OWN = [
    path
    for folder in ("logs", "tutorial", "runs")
    for path in sorted((FIXTURES / folder).rglob("*"))
    if path.is_file()
]
REAL = [path for path in sorted((CORPUS / "files").glob("*")) if path.is_file()]


def lines_in(path: Path) -> int:
    """Lines of a file; what follows the last line end is one too."""
    raw = path.read_bytes()
    for magic, unpack in ((b"\x1f\x8b", gzip), (b"\xfd7zXZ\0", lzma), (b"BZh", bz2)):
        if raw.startswith(magic):
            raw = unpack.decompress(raw)
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = raw.decode("utf-16" if wide else "utf-8", "replace")
    return text.count("\n") + int(bool(text) and not text.endswith("\n"))


def account(path: Path) -> None:
    try:
        source = read(path).source
    except GpudiagError:
        pytest.skip("holds no readings, and says so")
    taken = source.rows if source.lines_taken is None else source.lines_taken
    said = taken + source.header_rows + source.other_lines + len(source.dropped)
    assert (source.lines, said) == (lines_in(path), lines_in(path))
    assert all(dropped.reason for dropped in source.dropped)
    assert all(1 <= dropped.line <= source.lines for dropped in source.dropped)


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_every_line_of_a_fixture_is_accounted_for(path: Path) -> None:
    """GIVEN a fixture of any format WHEN read THEN rows, headers, other lines and what was dropped
    (with a reason and its line) add up to the lines that the file has."""
    account(path)


@pytest.mark.corpus
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_every_line_of_a_real_log_is_accounted_for(path: Path) -> None:
    """GIVEN a real log WHEN read THEN the same."""
    account(path)
