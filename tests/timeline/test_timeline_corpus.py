"""Real logs, if their folder stands beside the checkout: figures equal to those worked out by hand.

The folder is named by GPUDIAG_CORPUS, or is ../shared/corpus; without it these tests are skipped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gpudiag.errors import UnreadableError
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.read import read

CORPUS = Path(
    os.environ.get("GPUDIAG_CORPUS", Path(__file__).parents[3] / "shared" / "corpus")
).resolve()
EXPECTED: dict[str, Any] = (
    json.loads((CORPUS / "expected.json").read_text())
    if (CORPUS / "expected.json").exists()
    else {}
)
pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not EXPECTED, reason="no folder of logs")]

FILES = sorted((CORPUS / "files").glob("*")) if EXPECTED else []
QUERY_CSV = [path for path in FILES if path.name.startswith("A")]

# Where the expected figure is not what the file holds: file, key, the right figure, and why.
DEVIATIONS: dict[tuple[str, str], tuple[Any, str]] = {
    ("A41_nul_holes_two_writers.csv", "gpu_count"): (
        2,
        "both cards call themselves index 0 but are two models (PCIE and SXM2); the figures "
        "expected mix them and, as said beside them, only check the row count",
    ),
    ("A09_windows_batch_echo_crlf.log", "header_rows"): (3, "given as 3 in the index of the logs"),
    ("A22_date_line_four_rows_camouflaged.txt", "span_s"): (
        0.0,
        "the date line gives the one moment its time (wallclock in the same entry), so the span "
        "from the first to the last row is 0, not unknown",
    ),
}


def figures(timeline: Timeline) -> dict[str, Any]:
    """The keys of expected.json, from a timeline."""
    frame, source = timeline.frame, timeline.source
    memory = [frame[c].max() for c in frame.columns if c.endswith("_mem_used_mib")]
    found: dict[str, Any] = {
        "gpu_count": len(timeline.gpus),
        "rows": source.rows,
        "span_s": source.span_s,
        "interval_median_s": source.interval_s,
        "header_rows": source.header_rows,
    }
    if memory:
        found["mem_max_MiB"] = max(memory)
    return found


NAMES = {
    "util": "util_pct",
    "memutil": "mem_util_pct",
    "mem": "mem_used_mib",
    "power": "power_w",
    "temp": "temp_c",
}


@pytest.mark.parametrize("path", QUERY_CSV, ids=lambda path: path.name[:40])
def test_query_csv_gives_the_expected_figures(path: Path) -> None:
    """THEN GPUs, rows, span, interval, maximum memory and the figures a GPU are as expected."""
    expected, timeline = EXPECTED[path.name], read(path)
    found = figures(timeline)
    for key, value in found.items():
        if key in expected:
            right = DEVIATIONS.get((path.name, key), (expected[key],))[0]
            if key == "interval_median_s" and not timeline.source.time_known:
                assert right in (None, 0.0)  # all rows carry one time
                continue
            near = pytest.approx(right, abs=0.0011) if isinstance(right, float) else right
            assert value == near, key
    if (path.name, "gpu_count") in DEVIATIONS:
        return
    for key, column in NAMES.items():
        for gpu, figure in expected.get(key, {}).items():
            cells = timeline.frame[f"gpu{gpu}_{column}"].dropna()
            assert len(cells) == figure["n"], (key, gpu)
            assert cells.min() == pytest.approx(figure["min"])
            assert cells.max() == pytest.approx(figure["max"])
            assert cells.mean() == pytest.approx(figure["mean"], abs=0.0051)
            assert cells.median() == pytest.approx(figure["median"], abs=0.0051)
    for gpu, figure in expected.get("total", {}).items():
        assert timeline.gpu_facts(int(gpu))["mem_total_mib"] == figure["max"]


@pytest.mark.parametrize("path", QUERY_CSV, ids=lambda path: path.name[:40])
def test_every_line_is_accounted_for(path: Path) -> None:
    source = read(path).source
    counted = source.rows + source.header_rows + source.other_lines + len(source.dropped)
    assert counted == source.lines
    bad = EXPECTED[path.name].get("bad_lines", [])
    assert len(source.dropped) == len(bad) + EXPECTED[path.name].get("fragment_lines", 0)


def snippet(name: str) -> Path:
    return next((CORPUS / "files" / "snippets").glob(f"{name}_*"))


@pytest.mark.parametrize(
    ("name", "gpus", "rows"), [("S01", 1, 1), ("S05", 3, 3), ("S06", 1, 1), ("S07", 1, 1),
                               ("S13", 1, 1), ("S21", 4, 5)],
)  # fmt: skip
def test_snippets(name: str, gpus: int, rows: int) -> None:
    timeline = read(snippet(name))
    assert (len(timeline.gpus), timeline.source.rows) == (gpus, rows)


def test_what_snippets_say_beyond_their_size() -> None:
    """THEN N/A is missing, a lost GPU is an event of the right GPU, and the rest is read."""
    unified = read(snippet("S01"))
    row = unified.frame.iloc[0]
    assert (row.gpu0_util_pct, row.gpu0_power_w, row.gpu0_temp_c) == (0, 11.17, 35)
    assert unified.column("gpu0_mem_used_mib") is None
    assert "[N/A]" in unified.source.missing["gpu0_mem_used_mib"]

    lost = read(snippet("S05"))
    assert [e.data["gpu"] for e in lost.events if "gpu" in e.data] == [1]
    assert any("GPU0000:02:00.0" in e.text for e in lost.events)

    reset = read(snippet("S13"))
    assert "GPU requires reset" in reset.events[0].text
    assert reset.column("gpu0_util_pct") is None

    named = read(snippet("S07")).gpu_facts(0)
    assert (named["name"], named["mem_total_mib"]) == ("NVIDIA GeForce RTX 3080", 10240)

    rounds = read(snippet("S21"))
    assert len(rounds.frame) == 2
    assert rounds.frame.filter(like="mem_used").stack().dropna().tolist() == [21, 7, 7, 7, 21]


def test_columns_that_cannot_be_told_are_said() -> None:
    """GIVEN three bare zeros a row THEN one clear line; nothing is guessed."""
    with pytest.raises(UnreadableError, match="what their 3 columns are cannot be told"):
        read(snippet("S04"))


@pytest.mark.parametrize(("name", "cause"), [("S09", "upgraded"), ("S10", "container")])
def test_only_an_error_message(name: str, cause: str) -> None:
    with pytest.raises(UnreadableError, match=cause):
        read(snippet(name))
