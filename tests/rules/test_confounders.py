"""④ What deceives in the raw figures: each beside the verdict that it must not bring about."""

from __future__ import annotations

import numpy as np
import pytest
from judging import advice, codes, held, host, workers

T4 = {"gpus": [{"index": 0, "name": "Tesla T4", "mem_total_mib": 16_384}]}
ALONE = {"workers": 0, "others_cpu_pct": 0}


@pytest.mark.parametrize("count", [0, 4])
def test_programs_of_lower_priority_take_no_core_from_the_run(judge, count):
    """GIVEN cores filled by niced programs, so that the kernel reports pressure, and a run that
    gets a core whenever it wants one THEN they are not named, whatever the run stalls for."""
    workers_too = workers(count, 8, "sleeping") if count else ALONE
    diagnosis = judge(
        gpu0_util_pct=40, main_cpu_pct=99, main_cpu_wait_pct=1, main_read_mib_s=0,
        host_idle_cores=0, host_cpu_pressure_pct=99, start={"host": host(4)},
        **workers_too, **({"workers_cpu_wait_pct": 1} if count else {}),
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == ["GD102"]
    assert "foreign-load" not in [name for found in diagnosis for name in held(found)]


def test_a_busy_gpu_beside_niced_programs_is_healthy(judge):
    diagnosis = judge(
        gpu0_util_pct=97, gpu0_mem_used_mib=[10] * 5 + [6000] * 1195, main_cpu_pct=97,
        main_cpu_wait_pct=2, host_idle_cores=0,
        host_cpu_pressure_pct=99, start={"host": host(4)}, **ALONE,
    )  # fmt: skip
    assert codes(diagnosis) == []
    assert diagnosis.state == "healthy"


def test_memory_mapped_files_are_read_without_system_calls(judge):
    """GIVEN reading that shows on the disk and not in system calls THEN it is loading all the
    same."""
    diagnosis = judge(
        gpu0_util_pct=40, main_cpu_pct=99, main_cpu_wait_pct=0, main_read_mib_s=0.0,
        tree_disk_read_mib_s=60, host_idle_cores=12, **ALONE,
    )  # fmt: skip
    assert held(diagnosis[0]) == ["no-workers"]


def test_a_network_file_system_that_shows_nowhere_leaves_the_cause_open(judge):
    """GIVEN workers asleep, and no reading in any counter (RDMA, FUSE) THEN it cannot be told."""
    diagnosis = judge(
        gpu0_util_pct=50, main_cpu_pct=45, main_cpu_wait_pct=0, main_read_mib_s=0,
        tree_disk_read_mib_s=0, host_net_rx_mib_s=0, host_idle_cores=12,
        **workers(8, 8, "sleeping", switches=12),
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == ["GD103"]


@pytest.mark.parametrize("util", [30, 60, 85])
def test_augmentation_in_the_process_and_launching_look_the_same(judge, util):
    """GIVEN no workers, a core at full tilt and little reading THEN both causes stay open, and the
    experiment that tells them apart is named."""
    diagnosis = judge(
        gpu0_util_pct=util, main_cpu_pct=99, main_cpu_wait_pct=0, main_read_mib_s=0.7,
        host_idle_cores=12, frameworks=["pytorch"], **ALONE,
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == ["GD102"]
    verdicts = {cause.cause.name: cause.verdict for cause in diagnosis[0].causes}
    assert verdicts["loads-data-itself"] == verdicts["launches-too-slowly"] == "unknown"
    said = advice(diagnosis[0], "pytorch")
    assert "num_workers" in said
    assert "torch.compile" in said
    assert "one batch" in diagnosis[0].rule.confirm


@pytest.mark.parametrize(
    ("framework", "share"), [("jax", 0.75), ("tensorflow", 0.97), ("paddle", 0.92)]
)
def test_memory_taken_in_advance_is_neither_creep_nor_pressure(judge, framework, share):
    """GIVEN a pool from the first seconds THEN nothing is said of need (PaddlePaddle takes one only
    where it is told to, which is then said)."""
    env = {"FLAGS_allocator_strategy": "naive_best_fit"} if framework == "paddle" else {}
    diagnosis = judge(
        gpu0_util_pct=96, gpu0_mem_used_mib=[10] * 5 + [share * 16_384] * 2395, main_cpu_pct=96,
        start={**T4, "env": {"HOME": "/root", **env}}, frameworks=[framework], **ALONE,
    )  # fmt: skip
    assert "GD201" not in codes(diagnosis)
    assert codes(diagnosis, above_info=True) == []


def test_blocking_synchronisation_accuses_no_sleeper(judge):
    """GIVEN CUDA set to block, so that the process sleeps while the GPU works, too, and satisfied
    workers THEN its sleep proves nothing."""
    diagnosis = judge(
        gpu0_util_pct=70, main_cpu_pct=12, main_cpu_wait_pct=0, host_idle_cores=10,
        **workers(4, 20, "sleeping", switches=9),
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == ["GD103"]


def test_a_full_page_cache_is_no_lack_of_memory(judge):
    """GIVEN a host whose memory is used to 95 %, by its cache THEN nothing is said."""
    diagnosis = judge(
        gpu0_util_pct=96, main_cpu_pct=96, host_mem_used_mib=np.linspace(20_000, 60_800, 2400),
        host_mem_avail_mib=52_000, main_rss_mib=3000,
        start={"host": host(16, mem_total_mib=64_000)}, **ALONE,
    )  # fmt: skip
    assert codes(diagnosis) == []


def test_a_wave_of_kernels_is_no_pause(judge):
    """GIVEN steps of 8 s of which the GPU works 4 THEN it is a stall, and not a row of pauses."""
    diagnosis = judge(gpu0_util_pct=([95] * 4 + [0] * 4) * 75, gpu0_mem_used_mib=8000)
    assert "GD104" not in codes(diagnosis)
    assert codes(diagnosis) == ["GD103"]
