"""④ Real logs, if their folder stands beside the checkout: no cause that a GPU's log cannot carry.

The folder is named by GPUDIAG_CORPUS, or is ../shared/corpus; without it these tests are skipped.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from judging import RULES, codes, held

from gpudiag.diagnose.engine import diagnose
from gpudiag.diagnose.model import Diagnosis
from gpudiag.errors import GpudiagError
from gpudiag.timeline.read import read

CORPUS = Path(
    os.environ.get("GPUDIAG_CORPUS", Path(__file__).parents[3] / "shared" / "corpus")
).resolve()
FILES = sorted(p for p in CORPUS.glob("files/**/*") if p.is_file() and not p.name.startswith("D"))
pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not FILES, reason="no folder of logs")]

# Each of these says something of processes, main memory or what the run waited for.
NEED_THE_CPU_SIDE = {
    "GD101", "GD102", "GD105", "GD106", "GD108", "GD109", "GD203", "GD204", "GD302", "GD305",
    "GD306", "GD501", "GD503",
}  # fmt: skip

# What is known of the workload: what must be among the findings, and what must not.
LABELLED = {
    "A04_": ({"GD103"}, {"GD201"}),  # steady at 26 %, 472 of 32768 MiB
    "A05_": (set(), {"GD303", "GD103"}),  # one of two GPUs unused, but seen for 34 s only
    "A17_": (set(), {"GD103", "GD401", "GD502"}),  # six samples: too short
    "A08_": (set(), {"GD502", "GD501"}),  # the logger outlived the training
    "A20_": (set(), {"GD502", "GD501", "GD401"}),
    "A47_": (set(), {"GD103", "GD201", "GD402"}),  # 95 %, at the power cap
    "A50_": (set(), {"GD103", "GD107"}),  # 99 %
    "A53_": ({"GD103"}, set()),  # a tiny model: 7.8 %
    "A57_": ({"GD401"}, {"GD103"}),  # the GPU was not used
    "B04_": (set(), {"GD303"}),  # one of two idle, without times and too short
    "B06_": (set(), {"GD401"}),  # dashes: not measured
    "C01_": (set(), {"GD201"}),  # an allocator that takes memory in steps by its settings
    "F01_": (set(), {"GD201", "GD203"}),  # a replay buffer
    "S18_": (set(), {"GD201", "GD103"}),  # three samples
}


@cache
def judged(path: Path) -> Diagnosis | None:
    """The diagnosis of a log; None where it holds no readings, which is for the reader to say."""
    try:
        return diagnose(read(str(path)), RULES)
    except GpudiagError:
        return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_log_of_the_gpu_gets_no_cause_that_it_cannot_carry(path):
    diagnosis = judged(path)
    if diagnosis is None:
        pytest.skip("it holds no readings")
    assert not NEED_THE_CPU_SIDE & set(codes(diagnosis))
    for finding in diagnosis:
        if finding.rule.code == "GD103":
            assert held(finding) == ["not-recorded"]
        if finding.rule.code == "GD104":
            assert held(finding) == []
    assert diagnosis.state != "healthy"  # only the GPU side is known


@pytest.mark.parametrize(("name", "expected"), LABELLED.items(), ids=LABELLED)
def test_a_labelled_log_agrees_with_its_label(name, expected):
    said, unsaid = expected
    path = next((path for path in FILES if path.name.startswith(name)), None)
    if path is None:
        pytest.skip("this log is not there")
    diagnosis = judged(path)
    found = set() if diagnosis is None else set(codes(diagnosis))
    assert said <= found
    assert not unsaid & found
