"""Rows that are all alike are read at once: the same readings as cell by cell, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiag.timeline import smicsv_lines
from gpudiag.timeline.read import read
from gpudiag.timeline.smicsv_alike import alike

HEAD = "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W], temperature.gpu\n"
ROW = "2026/03/01 09:00:{s:02d}.{ms:03d}, {gpu}, {util} %, {mem} MiB, {watts:.2f} W, {temp}\n"
LOGS = sorted((Path(__file__).resolve().parents[1] / "fixtures" / "logs").glob("*.csv"))


def log(rows: int = 40, **changes: str) -> str:
    """A log of two GPUs; `changes` replace a part of the last row's text."""
    lines = [
        ROW.format(s=n // 2, ms=n % 2, gpu=n % 2, util=n, mem=4000 + n, watts=90.25 + n, temp=60)
        for n in range(rows)
    ]
    for old, new in changes.items():
        lines[-1] = lines[-1].replace(old.replace("_", " "), new)
    return "".join(lines)


def test_figures_are_read_with_their_units() -> None:
    """GIVEN rows that differ in digits only THEN columns of figures are figures, others text."""
    found = alike(log().encode(), 6, [1, 2, 3, 4, 5])
    assert found is not None
    table, units = found
    assert units == {1: "", 2: "%", 3: "MiB", 4: "W", 5: ""}
    assert table[4].tolist()[:2] == [90.25, 91.25]
    assert table[0].iloc[0] == "2026/03/01 09:00:00.000"


@pytest.mark.parametrize(
    "last",
    [
        {"_MiB": " GiB"}, {"_%": ""}, {"_W": " [N/A]"}, {"60\n": "\n"}, {"60\n": "6.0.0\n"},
        {"60\n": "torn\n"}, {"_MiB": " MiB "},
    ],
)  # fmt: skip
def test_one_other_row_is_enough(last: dict[str, str]) -> None:
    """GIVEN another unit, none, a missing value, an empty or torn cell in one row THEN the rows are
    not read at once."""
    assert alike(log(**last).encode(), 6, [1, 2, 3, 4, 5]) is None


def test_a_text_that_ends_like_a_unit_is_left_alone() -> None:
    """GIVEN a name that ends in W THEN columns in W are read as text, and the name stays whole."""
    rows = "".join(f"RTX 4090 W, {n} %, {200 + n}.5 W\n" for n in range(30))
    found = alike(rows.encode(), 3, [1, 2])
    assert found is not None
    table, units = found
    assert units == {1: "%"}
    assert table[0].iloc[3] == "RTX 4090 W"
    assert table[2].iloc[3] == "203.5 W"


@pytest.mark.parametrize("header", [True, False])
@given(seed=st.integers(0, 10_000), wrong=st.booleans())
@settings(max_examples=25, deadline=None)
def test_both_ways_give_the_same(
    tmp_path_factory: pytest.TempPathFactory, header: bool, seed: int, wrong: bool
) -> None:
    """GIVEN any log WHEN read at once and cell by cell THEN timelines are equal, reasons included;
    also where a figure is impossible."""
    text = (HEAD if header else "") + log(30 + seed % 50)
    if wrong:
        text = text.replace(" 7 %", " 850 %")
    path = tmp_path_factory.mktemp("alike") / "log.csv"
    path.write_text(text, "utf-8")
    same(path)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_both_ways_give_the_same_of_every_fixture(path: Path) -> None:
    """GIVEN the fixtures THEN the same."""
    same(path)


def same(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smicsv_lines, "alike", lambda *_: None)
        slow = outcome(path)
    quick = outcome(path)
    assert quick == slow


def outcome(path: Path) -> tuple:
    from gpudiag.errors import GpudiagError

    try:
        timeline = read(path)
    except GpudiagError as error:
        return (error.message,)
    frame = timeline.frame
    return (
        frame.columns.tolist(), frame.index.tolist(), frame.fillna(-1).to_numpy().tolist(),
        timeline.source, timeline.start, timeline.events,
    )  # fmt: skip
