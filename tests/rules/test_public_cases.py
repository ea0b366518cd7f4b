"""④ Cases of slow training from public threads, encoded from the figures in the thread.

Where the thread settled the cause, the diagnosis must agree or say that it cannot tell; where it
did not, it must name no cause.
"""

from __future__ import annotations

import numpy as np
from judging import advice, codes, held, host, workers


def test_workers_recreated_at_each_epoch(judge):
    """Lightning #2875: 17 s idle between epochs, a quarter of the time; persistent workers."""
    columns = workers(8, 60, "sleeping")
    columns["workers_new"] = ([0] * 52 + [8] + [0] * 15) * 10
    diagnosis = judge(
        gpu0_util_pct=([96] * 51 + [0] * 17) * 10,
        main_cpu_pct=([95] * 51 + [20] * 17) * 10,
        tree_write_mib_s=0.1,
        frameworks=["lightning"],
        **columns,
    )
    assert codes(diagnosis, above_info=True) == ["GD104"]
    assert held(diagnosis[0]) == ["workers-restarted"]
    assert "persistent_workers=True" in advice(diagnosis[0], "lightning")


def test_two_workers_for_a_fast_gpu(judge):
    """geti PR #5958: RTX 3090 idle 70 to 92 %, num_workers 2; more workers gave 3 -> 13 it/s."""
    diagnosis = judge(
        gpu0_util_pct=20, main_cpu_pct=24, host_idle_cores=12, frameworks=["pytorch"],
        **workers(2, 98),
    )  # fmt: skip
    assert held(diagnosis[0]) == ["too-few-workers"]
    assert "num_workers=12" in advice(diagnosis[0], "pytorch")


def test_library_threads_in_workers(judge):
    """Hy2DL #48: workers above 140 % each, 8 -> 28 cores no help; one thread a worker."""
    diagnosis = judge(
        gpu0_util_pct=12, main_cpu_pct=14, host_idle_cores=16, start={"host": host(28)},
        frameworks=["pytorch"], **workers(8, 142),
    )  # fmt: skip
    assert held(diagnosis[0]) == ["threads-in-workers"]
    assert "set_num_threads(1)" in advice(diagnosis[0], "pytorch")


def test_workers_in_state_d(judge):
    """asv-subtools #9: workers in state D, GPU 0 %: storage, whatever the remedy."""
    diagnosis = judge(
        gpu0_util_pct=7, main_cpu_pct=8, host_idle_cores=14, **workers(8, 6, "blocked")
    )
    assert held(diagnosis[0]) == ["storage-wait"]


def test_one_gpu_of_two_is_used(judge):
    """GPU0 at 58 to 92 %, the other at 0 % with 0 to 15 MiB: said with its condition."""
    diagnosis = judge(
        gpu0_util_pct=92, gpu0_mem_used_mib=9000, gpu1_util_pct=0, gpu1_mem_used_mib=15
    )
    assert codes(diagnosis) == ["GD304"]
    assert "only if" in diagnosis[0].summary


def test_a_latched_gauge_accuses_nobody(judge):
    """lium-io: 100 % for days, 0 MiB, no process: a fault of the gauge, and nothing is claimed."""
    diagnosis = judge(gpu0_util_pct=100, gpu0_mem_used_mib=0, gpu0_power_w=100)
    assert codes(diagnosis) == []


def test_a_replay_buffer_and_environments_on_the_cpu(judge):
    """Reinforcement learning: GPU 4 to 7 %, CPU 70 %: neither starvation nor a leak is claimed."""
    diagnosis = judge(
        gpu0_util_pct=6, main_cpu_pct=95, main_read_mib_s=3, workers=0, others_cpu_pct=900,
        host_idle_cores=5,
    )  # fmt: skip
    assert "GD101" not in codes(diagnosis)


def test_paddle_reallocation_in_steps_is_normal(judge):
    """98 -> 598 -> 698 -> 798 -> 898 MiB with FLAGS_initial_gpu_memory_in_mb: no leak."""
    memory = [98] * 10 + [598] * 100 + [698] * 100 + [798] * 100 + [898] * 2090
    diagnosis = judge(gpu0_util_pct=95, gpu0_mem_used_mib=memory)
    assert codes(diagnosis) == []


def test_a_wedged_collective_at_full_utilisation(judge):
    """marin #7344: healthy 984 W, then 100 % at 240 to 280 W without a step for 33 min."""
    power = np.r_[np.full(1200, 984.0), np.full(1980, 260.0)]
    diagnosis = judge(
        **{f"gpu{n}_util_pct": [98.5] * 1200 + [100] * 1980 for n in range(4)},
        **{f"gpu{n}_power_w": power for n in range(4)},
        **{f"gpu{n}_mem_used_mib": [10] * 5 + [150_000] * 3175 for n in range(4)},
        main_cpu_pct=100,
        main_read_mib_s=[1.0] * 1200 + [0] * 1980,
        tree_write_mib_s=[0.5] * 1200 + [0] * 1980,
        workers=0,
        others_cpu_pct=300,
        start={"command": ["torchrun", "train.py"]},
        end={},
        frameworks=["jax"],
    )
    assert codes(diagnosis) == ["GD501"]
    assert held(diagnosis[0]) == ["ranks-wait-for-one"]


def test_healthy_ranks_at_full_utilisation_are_not_stuck(judge):
    """The same machines at work: 98.55 %, 984 W."""
    diagnosis = judge(
        **{f"gpu{n}_util_pct": 100 for n in range(4)},
        **{f"gpu{n}_power_w": 984 for n in range(4)},
        **{f"gpu{n}_mem_used_mib": [10] * 5 + [150_000] * 595 for n in range(4)},
        main_cpu_pct=100,
        main_read_mib_s=0,
        tree_write_mib_s=0,
        workers=0,
        others_cpu_pct=300,
    )
    assert codes(diagnosis) == []


def test_shared_memory_at_87_percent(judge):
    """883 MB of 1 GB in a container when the loader hung."""
    diagnosis = judge(
        gpu0_util_pct=95,
        main_cpu_pct=96,
        host_idle_cores=3,
        host_shm_used_mib=883,
        start={"host": host(16, shm_total_mib=1014)},
        **workers(8, 40, "sleeping"),
    )
    assert codes(diagnosis) == ["GD105"]


def test_a_laptop_capped_at_25_w(judge):
    diagnosis = judge(
        gpu0_util_pct=97, gpu0_throttle_bits=4, gpu0_sm_clock_mhz=180, gpu0_power_w=25,
        start={"gpus": [{"index": 0, "sm_clock_max_mhz": 2100, "power_limit_w": 25,
                         "power_default_limit_w": 115}]},
    )  # fmt: skip
    assert codes(diagnosis) == ["GD402"]
    assert diagnosis[0].severity == "high"
