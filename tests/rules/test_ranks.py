"""④ Runs of several ranks: whose fault idle GPUs are, told from each rank beside its GPU."""

from __future__ import annotations

import dataclasses

import pytest
from judging import RULES, advice, codes, held, host, made, workers

from gpudiag.diagnose.engine import diagnose
from gpudiag.timeline.model import Event


def ranked(cpu, util, **columns):
    """The diagnosis of a run under torchrun: CPU of each rank, utilisation of its GPU."""
    timeline = made(
        main_cpu_pct=cpu[0],
        **{f"gpu{n}_util_pct": u for n, u in enumerate(util)},
        **{f"rank{n}_cpu_pct": c for n, c in enumerate(cpu)},
        start={"command": ["torchrun", "train.py"], "host": host(64)},
        frameworks=["pytorch"],
        **columns,
    )
    events = tuple(
        Event(1.0, "rank", "", {"rank": n, "LOCAL_RANK": str(n)}) for n in range(len(cpu))
    )
    timeline = dataclasses.replace(timeline, events=(*timeline.events, *events))
    return diagnose(timeline, RULES)


def eight(each, **more):
    return {**workers(16, each, **more), "others_cpu_pct": 350, "host_idle_cores": 30}


def test_eight_ranks_starved_by_their_workers():
    """GIVEN 8 ranks asleep half of the time, two full workers each THEN too few, by rank."""
    diagnosis = ranked([50] * 8, [50] * 8, **eight(99))
    assert codes(diagnosis, above_info=True) == ["GD101"]
    assert held(diagnosis[0]) == ["too-few-workers"]
    assert "num_workers=5" in advice(diagnosis[0], "pytorch")  # 2 / 0.5 / 0.9
    assert any("8 sleep meanwhile" in text for text in diagnosis[0].evidence)


def test_a_first_rank_that_logs_does_not_hide_the_starvation_of_the_others():
    diagnosis = ranked([99, *[50] * 7], [50] * 8, **eight(99))
    assert codes(diagnosis, above_info=True)[0] == "GD101"


def test_eight_ranks_that_load_data_themselves():
    diagnosis = ranked(
        [100] * 8, [15] * 8, workers=0, main_read_mib_s=9, others_cpu_pct=700, host_idle_cores=55
    )
    assert held(diagnosis[0]) == ["no-workers"]
    assert "num_workers=7" in advice(diagnosis[0], "pytorch")


def test_eight_ranks_that_launch_too_slowly():
    diagnosis = ranked([100] * 8, [50] * 8, **eight(3))
    assert codes(diagnosis, above_info=True) == ["GD102"]


def test_environments_beside_ranks_are_still_not_called_loading():
    """GIVEN others' CPU beyond that of the ranks THEN what passes between them cannot be seen."""
    diagnosis = ranked(
        [100] * 8, [15] * 8, workers=0, main_read_mib_s=9, others_cpu_pct=1500, host_idle_cores=40
    )
    assert "GD101" not in codes(diagnosis)


@pytest.mark.parametrize(
    ("cpu", "more", "cause"),
    [
        (42, {"rank2_workers": 2, "rank2_workers_cpu_pct": 198}, "slow-rank-starved"),
        (99, {"rank2_workers": 2, "rank2_workers_cpu_pct": 20}, "slow-rank-works-on-the-cpu"),
    ],
)
def test_one_rank_that_the_others_wait_for(cpu, more, cause):
    """GIVEN ranks that spin in NCCL for one whose GPU idles THEN the reason lies in that rank."""
    diagnosis = ranked(
        [100, 100, cpu, 100], [100, 100, 40, 100], **workers(8, 20, "sleeping"),
        **more, host_idle_cores=40,
    )  # fmt: skip
    finding = next(f for f in diagnosis if f.rule.code == "GD303")
    assert cause in held(finding)
    assert "Rank 2" in "".join(c.evidence for c in finding.causes if c.cause.name == cause)


def test_ranks_at_work_are_silent():
    assert codes(ranked([100] * 8, [97] * 8, **eight(20)), above_info=True) == []
