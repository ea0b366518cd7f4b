"""docs/format.md and docs/logs.md say what the code does, and every format has its fixture."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from gpudiag.timeline import other, read
from gpudiag.timeline.columns import COLUMNS, FORMAT
from gpudiag.timeline.fields import FACT_FIGURES, FACT_TEXTS, FIGURES
from gpudiag.timeline.runcsv_meta import _START_TYPES as START_TYPES

ROOT = Path(__file__).parents[2]
FORMAT_MD = (ROOT / "docs" / "format.md").read_text()
RUNS = ROOT / "tests" / "fixtures" / "runs"


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{column.scope}-{column.name}")
def test_every_column_is_documented_as_it_is(column: object) -> None:
    prefix = {"gpu": "gpu<N>_", "rank": "rank<N>_"}.get(column.scope, "")  # type: ignore[attr-defined]
    name, unit, digits, meaning = (
        getattr(column, key) for key in ("name", "unit", "digits", "meaning")
    )
    assert f"| `{prefix}{name}` | {unit} | {digits} | {meaning} |" in FORMAT_MD


def test_no_column_is_documented_that_is_not_there() -> None:
    documented = re.findall(
        r"^\| `(?:gpu<N>_|rank<N>_)?(\w+)` \|.*\| \d \|", FORMAT_MD, re.MULTILINE
    )
    assert sorted(documented) == sorted(column.name for column in COLUMNS)


def test_the_facts_are_documented() -> None:
    for key in START_TYPES:
        assert f"`{key}`" in FORMAT_MD
    for role in (*FACT_FIGURES, *FACT_TEXTS):
        assert f"`{'bus_id' if role == 'bus' else role}`" in FORMAT_MD


def test_every_role_of_a_foreign_log_is_a_column() -> None:
    assert set(FIGURES) == {
        column.name for column in COLUMNS if (column.scope, column.writer) == ("gpu", "nvidia-smi")
    }


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_every_format_stays_readable(number: int) -> None:
    path = RUNS / f"format-{number}.csv"
    run = read.read(path)
    assert run.source.rows == 3
    assert run.source.unaccounted == 0
    assert run.source.notes == ()
    plain = pd.read_csv(path, comment="#").set_index("t_s").astype("float64")
    pd.testing.assert_frame_equal(run.frame, plain, check_exact=True)


def test_the_example_in_the_page_is_readable(tmp_path: Path) -> None:
    example = FORMAT_MD.split("```\n# gpudiag", 1)[1].split("```", 1)[0]
    (tmp_path / "run.csv").write_text("# gpudiag" + example)
    run = read.read(tmp_path / "run.csv")
    assert (run.source.rows, run.source.notes) == (3, ())


def test_every_reader_is_listed_in_the_page_on_logs() -> None:
    """A new reader gets a row in the table at the top of docs/logs.md."""
    page = (ROOT / "docs" / "logs.md").read_text()
    for reader in read.readers():
        assert f"| {reader.NAME}" in page
    assert len({reader.NAME for reader in read.readers()}) == len(read.readers())


def test_no_reader_recognises_what_is_none() -> None:
    for reader in read.readers():
        for head in ("", "\n", "Dear all, the meeting, as always, is at 3.\n", "1\n2\n", "{}"):
            assert reader.recognise(head) < 0.3, (reader.NAME, head)
    assert other.name_of("Dear all,\n") == ""
