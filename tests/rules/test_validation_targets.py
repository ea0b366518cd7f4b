"""④ Published or reported figures: what must be said of them, and what must not."""

from __future__ import annotations

import numpy as np
import pytest
from judging import advice, codes, held, host, workers


def test_checkpoints_of_96_s_in_168_s(judge):
    """ICSE 2024: 96 s of saving in an epoch of 168 s; the bound is about 2.3."""
    util = ([93] * 72 + [0] * 96) * 8
    written = ([0.1] * 72 + [40] * 96) * 8
    diagnosis = judge(gpu0_util_pct=util, tree_write_mib_s=written, main_cpu_pct=50, workers=0)
    assert codes(diagnosis)[0] == "GD104"
    assert held(diagnosis[0]) == ["checkpoint"]
    assert 1.9 <= diagnosis[0].bound <= 2.5


def test_eight_gpus_four_processes(judge):
    """ICSE 2024: half of the GPUs at 83 %, half at 0: half of the GPU time is lost."""
    columns = {f"gpu{n}_util_pct": 83 if n < 4 else 0 for n in range(8)}
    memory = {f"gpu{n}_mem_used_mib": [3] * 5 + [9000 if n < 4 else 3] * 595 for n in range(8)}
    start = {"env": {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}}
    diagnosis = judge(start=start, main_cpu_pct=90, workers=0, **columns, **memory)
    assert codes(diagnosis)[0] == "GD301"
    assert diagnosis[0].gpus == (4, 5, 6, 7)
    assert diagnosis[0].cost == pytest.approx(0.5)
    assert diagnosis[0].severity == "high"


def test_paddleocr_2083_waits_but_not_for_cores(judge):
    """8 workers, CPU at half, GPU at 0, reader cost 89 %: storage or the process, not the cores."""
    diagnosis = judge(
        gpu0_util_pct=11,
        main_cpu_pct=12,
        host_idle_cores=8,
        tree_disk_read_mib_s=35,
        **workers(8, 25, "blocked", switches=60),
    )
    assert codes(diagnosis) == ["GD101"]
    assert "storage-wait" in held(diagnosis[0])
    assert "all-cores-saturated" not in held(diagnosis[0])


def test_paddleocr_4353_is_not_starvation(judge):
    """The reader takes 1 % of a batch, and utilisation is below 40 %: the process itself is it."""
    diagnosis = judge(
        gpu0_util_pct=38, main_cpu_pct=99, host_idle_cores=10, **workers(4, 3, "sleeping")
    )
    assert codes(diagnosis) == ["GD102"]
    assert "num_workers" not in advice(diagnosis[0], "paddle")


def test_paddle_33275_more_workers_cannot_help(judge):
    """8 workers at 1.7 % beside a process at 100 %."""
    diagnosis = judge(
        gpu0_util_pct=55,
        main_cpu_pct=100,
        host_idle_cores=20,
        frameworks=["paddle"],
        start={"host": host(24)},
        **workers(8, 1.7, "sleeping"),
    )
    assert codes(diagnosis) == ["GD102"]
    assert held(diagnosis[0]) == ["launches-too-slowly"]


def test_paddle_models_4579_a_single_reader(judge):
    """4 GPUs below 1 %, one of 32 cores at work."""
    util = np.tile([4, *[0] * 9], 60)
    diagnosis = judge(
        **{f"gpu{n}_util_pct": np.where(util > 0, 9, 0) for n in range(4)},
        main_cpu_pct=100,
        main_read_mib_s=4,
        workers=0,
        others_cpu_pct=5,
        host_idle_cores=30,
        start={"host": host(32)},
        frameworks=["paddle"],
    )
    assert codes(diagnosis, above_info=True) == ["GD101"]
    assert held(diagnosis[0]) == ["no-workers"]
    assert diagnosis[0].bound > 10


def test_pytorch_77139_a_stall_of_15_percent_in_the_process(judge):
    """50 of 335 ms in the pinning thread: a minor stall, and not the workers'."""
    diagnosis = judge(
        gpu0_util_pct=85, main_cpu_pct=100, host_idle_cores=10, **workers(8, 12, "sleeping")
    )
    assert codes(diagnosis) == ["GD102"]
    assert diagnosis[0].severity == "low"


def test_pytorch_105841_all_workers_on_one_core(judge):
    """16 workers at 6.25 % each: 100 % together."""
    diagnosis = judge(gpu0_util_pct=30, main_cpu_pct=28, host_idle_cores=14, **workers(16, 6.25))
    assert held(diagnosis[0]) == ["workers-on-one-core"]


def test_spdl_a_stall_of_43_percent_has_a_bound_of_1_75(judge):
    diagnosis = judge(
        gpu0_util_pct=57, main_cpu_pct=50, host_idle_cores=0.2, **workers(15, 94, switches=3)
    )
    assert diagnosis[0].bound == pytest.approx(1.75, abs=0.02)


@pytest.mark.parametrize("util", [91, 95, 98])
def test_mlperf_storage_accepts_90_percent(judge, util):
    diagnosis = judge(gpu0_util_pct=util, main_cpu_pct=95, host_idle_cores=9, workers=0)
    assert codes(diagnosis) == []


def test_the_start_of_a_caching_allocator_is_no_creep(judge):
    """pytorch #1509: 2934, 4413, 4433, 4537 MiB, then flat."""
    memory = [2934] * 30 + [4413] * 30 + [4433] * 30 + [4537] * 2310
    diagnosis = judge(
        gpu0_util_pct=95,
        gpu0_mem_used_mib=memory,
        start={"gpus": [{"index": 0, "mem_total_mib": 16_384}]},
    )
    assert "GD201" not in codes(diagnosis)


def test_a_shared_memory_hang_of_ranks_is_not_called_starvation(judge):
    """NCCL #968: 100 % on all GPUs at 70 W is waiting; utilisation cannot tell, so nothing is."""
    diagnosis = judge(
        **{f"gpu{n}_util_pct": 100 for n in range(3)},
        **{f"gpu{n}_power_w": 70 for n in range(3)},
    )
    assert "GD101" not in codes(diagnosis)
