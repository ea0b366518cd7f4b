"""④ More cases of slow training from public threads: devices, ranks, loaders, storage, clocks."""

from __future__ import annotations

import numpy as np
import pytest
from judging import advice, codes, held, host, workers

SPIN = {"workers": 0, "others_cpu_pct": 0}


def test_dataparallel_on_four_gpus_all_low(judge):
    """yolact #438: one process, four GPUs below the 60 % of one; DistributedDataParallel helped."""
    diagnosis = judge(
        **{f"gpu{n}_util_pct": u for n, u in enumerate((45, 30, 30, 30))},
        **{f"gpu{n}_mem_used_mib": [10] * 5 + [m] * 595
           for n, m in enumerate((9800, 7000, 7000, 7000))},
        main_cpu_pct=105, workers=4, others_cpu_pct=0, frameworks=["pytorch"],
    )  # fmt: skip
    finding = next(f for f in diagnosis if f.rule.code == "GD302")
    assert held(finding) == ["data-parallel"]


def test_ranks_that_wait_for_a_generator_at_low_power(judge):
    """verifiers #182: N-1 GPUs at 100 %, that of rank 0 at 0 %, all at low power: it is uneven, and
    no loader is accused."""
    diagnosis = judge(
        gpu0_util_pct=1, gpu1_util_pct=100, gpu2_util_pct=100, gpu3_util_pct=100,
        **{f"gpu{n}_power_w": 90 for n in range(4)},
        **{f"gpu{n}_mem_used_mib": [10] * 5 + [30_000] * 595 for n in range(4)},
        main_cpu_pct=5, workers=0, others_cpu_pct=310, main_read_mib_s=0,
        start={"command": ["torchrun", "train.py"],
               "gpus": [{"index": n, "power_limit_w": 400} for n in range(4)]},
    )  # fmt: skip
    assert "GD101" not in codes(diagnosis)
    assert "GD102" not in codes(diagnosis)


@pytest.mark.parametrize("power", [None, 320])
def test_a_second_node_behind_a_slow_network_shows_full_utilisation(judge, power):
    """nccl #318: 36 min on one node, 105 on two, 100 % on both: utilisation tells nothing, and
    power below half of the limit is a suspicion at most."""
    watts = {} if power is None else {f"gpu{n}_power_w": power / 2 for n in range(8)}
    diagnosis = judge(
        **{f"gpu{n}_util_pct": 99 for n in range(8)}, **watts,
        start={"gpus": [{"index": n, "power_limit_w": 400} for n in range(8)]},
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == []


def test_waves_to_zero_with_many_workers_is_no_matter_of_their_number(judge):
    """PaddleSeg #891: utilisation falls to 0 in waves, 16 or 32 workers are no help."""
    diagnosis = judge(
        gpu0_util_pct=([90] * 5 + [0] * 6) * 55, main_cpu_pct=([90] * 5 + [8] * 6) * 55,
        host_idle_cores=20, start={"host": host(40)}, frameworks=["paddle"],
        **workers(16, 20, "sleeping", switches=5),
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) in (["GD103"], ["GD101"])
    assert "too-few-workers" not in held(diagnosis[0])


def test_a_serial_map_of_tf_data(judge):
    """cgm-ml PR #408: 46.9 % with 6.3 % of the CPU (one of 16 cores); a parallel map cured it."""
    diagnosis = judge(
        gpu0_util_pct=46.9, main_cpu_pct=100, main_read_mib_s=12, host_idle_cores=14.9,
        frameworks=["tensorflow"], **SPIN,
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == ["GD101"]
    assert "num_parallel_calls" in advice(diagnosis[0], "tensorflow")


def test_the_other_set_of_the_same_code_is_silent(judge):
    """The same run on the other data: 98.4 % and 10.9 %."""
    diagnosis = judge(
        gpu0_util_pct=98.4, main_cpu_pct=174, main_read_mib_s=12, host_idle_cores=14,
        frameworks=["tensorflow"], **SPIN,
    )  # fmt: skip
    assert codes(diagnosis) == []


def test_89_percent_in_the_loader_of_the_main_process(judge):
    """ClinicalDG #2: 89 % of the time in the single-process loader."""
    diagnosis = judge(
        gpu0_util_pct=11, main_cpu_pct=100, main_read_mib_s=15, host_idle_cores=12,
        frameworks=["pytorch"], **SPIN,
    )  # fmt: skip
    assert held(diagnosis[0]) == ["no-workers"]
    assert diagnosis[0].bound == pytest.approx(1 / 0.11, rel=0.1)


def test_a_loader_that_seems_slow_because_it_absorbs_the_gpus_work(judge):
    """DALI #2813: 0.005 s alone, "0.1 s" in the loop: the GPU is busy, and so nothing is said."""
    diagnosis = judge(
        gpu0_util_pct=97, main_cpu_pct=100, main_read_mib_s=40, host_idle_cores=8, **SPIN
    )
    assert codes(diagnosis) == []


def test_32_workers_with_2048_threads(judge):
    """mmdetection PR #6867: 64 cores, 8 T4, 4 workers each with OpenCV's threads, 4 times slower:
    one thread a worker."""
    diagnosis = judge(
        **{f"gpu{n}_util_pct": 24 for n in range(8)},
        main_cpu_pct=26, host_idle_cores=3, start={"host": host(64), "command": ["torchrun", "t"]},
        frameworks=["pytorch"], **{**workers(32, 180, switches=25), "others_cpu_pct": 180},
    )  # fmt: skip
    assert "threads-in-workers" in held(diagnosis[0])
    assert "cv2.setNumThreads(0)" in advice(diagnosis[0], "pytorch")


@pytest.mark.parametrize("size", [64])
def test_docker_default_shared_memory(judge, size):
    """pytorch #5040: bus errors in workers, /dev/shm of 64 MiB in the container."""
    diagnosis = judge(
        gpu0_util_pct=90, main_cpu_pct=92, host_idle_cores=8, host_shm_used_mib=60,
        start={"host": host(16, shm_total_mib=size)}, **workers(4, 40, "sleeping"),
    )  # fmt: skip
    assert codes(diagnosis)[0] == "GD105"
    assert "--shm-size" in advice(diagnosis[0], "pytorch")


def test_memory_full_and_utilisation_at_zero(judge):
    """NeMo Speech #1204: the maintainer guessed at workers; 0 % alone does not show that."""
    diagnosis = judge(
        gpu0_util_pct=0, gpu0_mem_used_mib=15_800, main_cpu_pct=100, workers=0,
        start={"gpus": [{"index": 0, "mem_total_mib": 16_160}]},
    )  # fmt: skip
    assert "GD101" not in codes(diagnosis)


def test_a_tiny_model_from_a_log_alone(judge):
    """A GAN at 7.8 %, at most 9 %: the stall is said and its cause is not known."""
    util = np.tile([7, 8, 8, 9, 7], 120)
    diagnosis = judge(gpu0_util_pct=util, gpu0_mem_used_mib=1200)
    assert codes(diagnosis) == ["GD103"]
    assert held(diagnosis[0]) == ["not-recorded"]


@pytest.mark.parametrize(("limit", "cap"), [(400, 240), (350, 210), (300, 180)])
def test_power_capped_at_60_percent_of_the_limit(judge, limit, cap):
    """An A100 whose software power cap bites at 60 % of its limit, hardware slowdown not set: what
    was seen is said, and no heat or brake is named."""
    diagnosis = judge(
        gpu0_util_pct=98, gpu0_power_w=cap, gpu0_throttle_bits=4, gpu0_sm_clock_mhz=900,
        start={"gpus": [{"index": 0, "sm_clock_max_mhz": 1410, "power_limit_w": limit,
                         "power_default_limit_w": 400}]},
    )  # fmt: skip
    assert "GD402" in codes(diagnosis)
    finding = next(f for f in diagnosis if f.rule.code == "GD402")
    assert not {"heat", "hardware-slowdown"} & set(held(finding))


def test_environments_on_the_cpu_at_15_percent(judge):
    """poke-env #381: 15 % at 75 % of the memory, whatever the step size: not called loading."""
    diagnosis = judge(
        gpu0_util_pct=15, gpu0_mem_used_mib=[10] * 5 + [12_288] * 595, main_cpu_pct=99,
        main_read_mib_s=0.2, workers=0, others_cpu_pct=0, host_idle_cores=14,
        start={"gpus": [{"index": 0, "mem_total_mib": 16_384}], "host": host(16)},
    )  # fmt: skip
    assert "GD101" not in codes(diagnosis)
    assert codes(diagnosis)[0] in ("GD102", "GD103")


def test_random_reads_from_a_hard_disk(judge):
    """pytracking #121, nnUNet #239: low utilisation, cured by an SSD."""
    diagnosis = judge(
        gpu0_util_pct=35, main_cpu_pct=36, host_idle_cores=13, tree_disk_read_mib_s=24,
        host_io_pressure_pct=70, **workers(4, 9, "blocked", switches=45),
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == ["GD101"]
    assert "storage-wait" in held(diagnosis[0])
