"""The command line of the simulated nvidia-smi, without starting it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.demo.arguments import Arguments, ArgumentsError, parse

WORDS = st.sampled_from(
    ["-l", "-lms", "-l=2", "-i", "0,1", "-f", "x", "-L", "--format=csv", "--format", "csv,noheader",
     "--query-gpu=index", "--query-gpu", "--query-compute-apps=pid", "100", "", "=", "--id="]
)  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["-l"], 5.0),
        (["-l", "2"], 2.0),
        (["-l=2"], 2.0),
        (["--loop=2"], 2.0),
        (["--loop", "2"], 2.0),
        (["-lms"], 0.0),
        (["-lms", "250"], 0.25),
        ([], None),
    ],
)
def test_loops(argv: list[str], expected: float | None) -> None:
    """GIVEN a spelling of a loop WHEN parsed THEN its period in seconds."""
    assert parse(argv).loop_s == expected
    assert parse([*argv, "--query-gpu=index", "--format=csv"]).loop_s == expected


def test_a_whole_query() -> None:
    """GIVEN all options of a query in another order WHEN parsed THEN each is where it belongs."""
    query = ["--format=csv,nounits,noheader", "-i", "1", "--query-gpu=index,name"]
    assert parse(["-f", "out.csv", *query, "-l", "1"]) == Arguments(
        "query_gpu", "index,name", False, False, 1.0, "1", "out.csv"
    )


@given(st.lists(WORDS | st.text(max_size=8)))
def test_anything_is_understood_or_refused(argv: list[str]) -> None:
    """GIVEN any words WHEN parsed THEN arguments, or a text that says what is wrong."""
    try:
        text = parse(argv).action
    except ArgumentsError as error:
        text = error.text
    assert text
