"""④ Public cases of memory: figures of the thread, and what may be said of them."""

from __future__ import annotations

import numpy as np
import pytest
from judging import advice, codes, held, host, workers

GIB = 1024
MAIN = {"gpu0_util_pct": 92, "main_cpu_pct": 95, "host_idle_cores": 8, "tree_write_mib_s": 0.1}


def limited(gib: int) -> dict:
    """A container with so much memory."""
    return {"host": host(16, mem_total_mib=gib * GIB, cgroup={"mem_limit_mib": gib * GIB})}


def charged(first: float, last: float, seconds: int) -> dict:
    """The charge of the control group, rising steadily from `first` to `last` GiB."""
    return {
        "cgroup_mem_used_mib": np.linspace(first * GIB, last * GIB, seconds),
        "cgroup_mem_cache_mib": 0.0,
    }


def test_5_to_17_gb_in_half_an_hour_with_workers(judge):
    """pytorch #5902: 0.4 GB/min with workers, flat without."""
    diagnosis = judge(
        start=limited(64), **MAIN, **workers(4, 40, "sleeping"), **charged(5, 17, 1800)
    )
    assert "GD203" in codes(diagnosis)
    finding = next(f for f in diagnosis if f.rule.code == "GD203")
    assert finding.confidence in ("likely", "confirmed")


def test_30_to_200_gb_and_no_cause_was_settled(judge):
    """CenterPoint #274: growth over epochs is said; nothing was measured that names its cause."""
    diagnosis = judge(
        start=limited(256), **MAIN, **workers(8, 40, "sleeping"), **charged(30, 200, 3600)
    )
    finding = next(f for f in diagnosis if f.rule.code == "GD203")
    assert held(finding) == []


def test_workers_that_stay_and_diverge(judge):
    """pytorch #62066: 14.4 to 25.2 GB by the third epoch, with workers that persist."""
    pss = np.full(1800, np.nan)
    pss[::30] = np.linspace(10.4 * GIB, 21.2 * GIB, 60)
    diagnosis = judge(
        start=limited(64), **MAIN, **workers(8, 40, "sleeping"), main_rss_mib=4 * GIB,
        workers_pss_mib=pss, **charged(14.4, 25.2, 1800),
    )  # fmt: skip
    finding = next(f for f in diagnosis if f.rule.code == "GD203")
    assert held(finding) == ["workers-grow"]


def test_16_gb_full_in_20_minutes(judge):
    """PaddleOCR #1581: a library that leaks; the growth and its end are said, not the library."""
    diagnosis = judge(
        start=limited(16), frameworks=["paddle"], **MAIN, workers=0, **charged(2, 15.8, 1200)
    )
    finding = next(f for f in diagnosis if f.rule.code == "GD203")
    assert finding.severity in ("medium", "high", "critical")


def test_waves_of_main_memory_on_a_machine_of_32_gb(judge):
    """PaddleOCR #3297: it rises in waves; a rise under the waves counts, waves alone do not."""
    t = np.arange(3600)
    waves = 2 * GIB * ((t / 300) % 1)
    rising = judge(
        start=limited(32), **MAIN, **workers(4, 40, "sleeping"),
        cgroup_mem_used_mib=6 * GIB + waves + t * 5, cgroup_mem_cache_mib=0.0,
    )  # fmt: skip
    assert "GD203" in codes(rising)
    level = judge(
        start=limited(32), **MAIN, **workers(4, 40, "sleeping"),
        cgroup_mem_used_mib=6 * GIB + waves, cgroup_mem_cache_mib=0.0,
    )  # fmt: skip
    assert codes(level) == []


def test_a_replay_buffer_of_nine_minutes_is_no_leak(judge):
    """A DQN: 1776 to 2763 MB in 515 s, linear, GPU at 4 to 7 %: bounded growth, nothing is said."""
    diagnosis = judge(
        gpu0_util_pct=[4, 5, 6, 7, 5] * 103, main_cpu_pct=97, workers=0, main_read_mib_s=0.1,
        others_cpu_pct=0, main_rss_mib=np.linspace(1776, 2763, 515),
    )  # fmt: skip
    assert "GD203" not in codes(diagnosis)


def test_gradients_kept_in_validation(judge):
    """loop #57: 1906, 5202, then 8108 of 8111 MiB within seconds, and the run dies."""
    diagnosis = judge(
        gpu0_util_pct=95, main_cpu_pct=96, workers=0,
        gpu0_mem_used_mib=[10] * 5 + [1906] * 590 + [5202] * 3 + [8108] * 2,
        start={"gpus": [{"index": 0, "mem_total_mib": 8111}]},
        end={"t_s": 600, "exit_code": 1}, frameworks=["pytorch"],
    )  # fmt: skip
    assert codes(diagnosis)[0] == "GD202"
    assert "ended-out-of-memory" in held(diagnosis[0])
    assert "no_grad" in advice(diagnosis[0], "pytorch")


@pytest.mark.parametrize(("case", "ranks", "mib"), [("apex #222", 4, 1000), ("pi-GAN #22", 8, 500)])
def test_every_rank_leaves_a_context_on_the_first_gpu(judge, case, ranks, mib):
    """Ranks with an extra process of 500 to 1000 MiB each on GPU 0: set_device, map_location."""
    procs = np.full((ranks, 600), np.nan)
    procs[:, ::20] = 1
    procs[0, ::20] = ranks
    diagnosis = judge(
        **{f"gpu{n}_util_pct": 95 for n in range(ranks)},
        **{f"gpu{n}_own_procs": procs[n] for n in range(ranks)},
        **{
            f"gpu{n}_mem_used_mib": [10] * 5 + [8000 + (ranks - 1) * mib * (n == 0)] * 595
            for n in range(ranks)
        },
        main_cpu_pct=100, workers=0, others_cpu_pct=100 * (ranks - 1), host_idle_cores=4,
        start={"command": ["torchrun", "train.py"], "env": {"LOCAL_WORLD_SIZE": str(ranks)}},
        frameworks=["pytorch"],
    )  # fmt: skip
    finding = next(f for f in diagnosis if f.rule.code == "GD306")
    said = advice(finding, "pytorch")
    assert "set_device(local_rank)" in said, case
    assert "map_location" in said, case


def test_725_mib_more_on_gpu_0_for_each_rank_cannot_be_told_from_memory_alone(judge):
    """pytorch #23138, without the list of processes: memory may have many reasons."""
    diagnosis = judge(
        **{f"gpu{n}_util_pct": 95 for n in range(4)},
        **{f"gpu{n}_mem_used_mib": 6000 + 3 * 725 * (n == 0) for n in range(4)},
    )
    assert "GD306" not in codes(diagnosis)


def test_a_gpu_held_by_a_process_that_cannot_be_seen(judge):
    """VisEdit #5: 100 %, 10151 of 81920 MiB, and no process that can be found: nobody is accused
    of a slow run, and killing is not advised."""
    diagnosis = judge(
        gpu0_util_pct=100, gpu0_mem_used_mib=10_151,
        start={"gpus": [{"index": 0, "mem_total_mib": 81_920}]},
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == []
    assert all("kill" not in advice(finding, "paddle") for finding in diagnosis)
