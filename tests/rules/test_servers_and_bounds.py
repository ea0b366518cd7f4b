"""④ What is said of servers, and of gains that the cores do not allow in full."""

from __future__ import annotations

import pytest
from judging import advice, codes, host, workers


@pytest.mark.parametrize(
    "command",
    [
        ["python", "-m", "vllm.entrypoints.api_server"],
        ["/opt/venv/bin/vllm", "serve", "some/model"],
        ["tritonserver", "--model-repository", "/models"],
        ["python3", "-m", "sglang.launch_server"],
        ["uvicorn", "app:app"],
    ],
)
def test_a_server_that_idles_between_requests_is_not_at_fault(judge, command):
    """GIVEN a server whose GPU idles 80 % of the time THEN no finding is above info."""
    diagnosis = judge(
        start={"command": command},
        gpu0_util_pct=([10] * 100 + [60] * 50) * 4,
        main_cpu_pct=20,
        **workers(0, 0),
    )
    assert codes(diagnosis, above_info=True) == []
    (finding,) = (f for f in diagnosis if f.rule.family == "input")
    assert "server" in finding.summary
    assert (finding.cost, finding.bound, finding.causes) == (None, None, ())


@pytest.mark.parametrize(
    "command",
    [["python", "train.py"], ["python", "train.py", "--data", "x", "--model", "a", "vllm"]],
)
def test_training_is_no_server(judge, command):
    diagnosis = judge(
        start={"command": command}, gpu0_util_pct=40, main_cpu_pct=100, **workers(0, 0)
    )
    assert codes(diagnosis, above_info=True) != []


def starved(judge, idle):
    """Four workers at their limit, a GPU busy 45 % of the time, `idle` cores left."""
    return judge(
        start={"host": host(8)},
        frameworks=["pytorch"],
        gpu0_util_pct=45,
        main_cpu_pct=45,
        host_idle_cores=idle,
        **workers(4, 99),
    )


def test_the_bound_beside_fewer_workers_than_needed_is_theirs(judge):
    """GIVEN 3.4 idle cores where 10 workers are needed THEN the bound is that of the cores."""
    finding = starved(judge, 3.4)[0]
    assert finding.bound == pytest.approx((4.41 + 3.4) / 4.41, rel=0.02)
    assert finding.bound < 1 / (1 - finding.cost)
    assert "With what the cores allow" in starved(judge, 3.4).sentence


def test_the_bound_beside_all_workers_that_are_needed_is_that_of_the_stall(judge):
    finding = starved(judge, 16.0)[0]
    assert finding.bound == pytest.approx(1 / (1 - finding.cost))


def test_no_hole_is_left_in_code_to_copy_on_a_full_machine(judge):
    """GIVEN no idle core WHEN data are loaded without workers THEN a stated try stands there."""
    diagnosis = judge(
        start={"host": host(2)},
        frameworks=["pytorch"],
        gpu0_util_pct=20,
        main_cpu_pct=47,
        main_read_mib_s=5,
        host_idle_cores=0,
        **workers(0, 0),
    )
    text = advice(diagnosis[0], "pytorch")
    assert "num_workers=…" not in text
    assert "num_workers=4, prefetch_factor=4,  # a first try, not computed: no core is free" in text
