"""④ Faults beyond the loader: each beside the benign run that looks most like it."""

from __future__ import annotations

import numpy as np
import pytest
from judging import codes, held, host, workers

GPU = {"gpus": [{"index": 0, "mem_total_mib": 16_384}]}
TWO = {"host": host(2)}
PEERS = {"gpus": [{"index": n, "name": "A100", "power_limit_w": 400} for n in range(4)]}
WORK = {"gpu0_util_pct": 96, "main_cpu_pct": 96, "workers": 0, "others_cpu_pct": 0}


def test_a_runnable_process_is_never_called_asleep(judge):
    """GIVEN a full machine and a process that waits for a core THEN not for storage."""
    diagnosis = judge(
        start=TWO, gpu0_util_pct=15, main_cpu_pct=30, main_cpu_wait_pct=68, workers=0,
        main_read_mib_s=3, others_cpu_pct=0, host_idle_cores=0, host_cpu_pressure_pct=99,
    )  # fmt: skip
    assert codes(diagnosis) == ["GD101"]
    assert held(diagnosis[0]) == ["no-workers", "foreign-load"]


def test_on_a_full_machine_without_the_kernels_account_sleep_is_not_claimed(judge):
    diagnosis = judge(
        start=TWO, gpu0_util_pct=60, main_cpu_pct=30, workers=0, main_read_mib_s=3,
        others_cpu_pct=0, host_idle_cores=0,
    )  # fmt: skip
    assert "main-sleeps-while-loading" not in [name for found in diagnosis for name in held(found)]


def test_what_dead_workers_had_read_is_not_the_training_process(judge):
    """GIVEN reading of ended workers that fell to a sleeping process THEN no loading in it."""
    diagnosis = judge(
        gpu0_util_pct=50, main_cpu_pct=45, main_cpu_wait_pct=1, main_read_mib_s=33,
        host_idle_cores=12, **workers(4, 10, "sleeping", 12),
    )  # fmt: skip
    assert codes(diagnosis) == ["GD103"]


def test_storage_of_others_is_not_the_runs(judge):
    """GIVEN I/O pressure, and a run that reads nothing from disks THEN storage is not named."""
    diagnosis = judge(
        gpu0_util_pct=50, main_cpu_pct=45, main_cpu_wait_pct=1, host_idle_cores=12,
        host_io_pressure_pct=60, tree_disk_read_mib_s=0, **workers(4, 10, "sleeping", 12),
    )  # fmt: skip
    assert codes(diagnosis) == ["GD103"]


@pytest.mark.parametrize(("new", "expected"), [(4, ["GD109"]), (0, ["GD103"])])
def test_short_dips_are_the_restarts_only_where_workers_are_new(judge, new, expected):
    columns = workers(4, 40, "sleeping", 10)
    columns["workers_new"] = ([0] * 17 + [new] + [0] * 2) * 30
    diagnosis = judge(
        gpu0_util_pct=([97] * 16 + [4] * 4) * 30,
        main_cpu_pct=([95] * 16 + [20] * 4) * 30,
        host_idle_cores=10,
        **columns,
    )
    assert codes(diagnosis) == expected


def test_one_worker_that_died_is_no_restart(judge):
    columns = workers(8, 40, "sleeping", 10)
    columns["workers_new"] = ([0] * 57 + [1] + [0] * 2) * 10
    diagnosis = judge(
        gpu0_util_pct=([97] * 57 + [50] * 3) * 10, main_cpu_pct=95, host_idle_cores=10, **columns
    )
    assert codes(diagnosis) == []


def test_copied_pages_are_found_by_the_proportional_size(judge):
    """ppwwyyxx: RSS flat at 2.7 GB, the true use grows; NumPy: flat (V19)."""
    pss = np.full(2400, np.nan)
    pss[::30] = np.linspace(3000, 12_000, 80)
    columns = workers(4, 40, "sleeping", 10) | {"workers_rss_mib": 10_800, "main_rss_mib": 2700}
    memory = {"host_mem_avail_mib": np.linspace(40_000, 31_000, 2400)}
    start = {"host": host(16, mem_total_mib=64_000)}
    busy = {"gpu0_util_pct": 96, "main_cpu_pct": 95}
    grows = judge(start=start, **busy, **columns, **memory, workers_pss_mib=pss)
    assert codes(grows) == ["GD203"]
    assert held(grows[0]) == ["workers-grow"]
    pss[::30] = 3000
    flat = judge(start=start, **busy, **columns, host_mem_avail_mib=40_000, workers_pss_mib=pss)
    assert codes(flat) == []


def test_400_mib_a_minute_of_main_memory(judge):
    """pytorch #5902: 5 to 17 GB in 30 min (V20), in a container: the time to the limit is said."""
    used = np.linspace(5_000, 17_000, 1800)
    diagnosis = judge(
        **WORK, main_rss_mib=used, cgroup_mem_used_mib=used + 9000, cgroup_mem_cache_mib=9000,
        start={"host": host(16, cgroup={"version": 2, "mem_limit_mib": 32_768})},
    )  # fmt: skip
    assert codes(diagnosis) == ["GD203"]
    assert "400 MiB/min" in diagnosis[0].summary
    assert diagnosis[0].severity == "high"


def test_a_run_that_is_killed_by_the_kernel(judge):
    kills = [0] * 595 + [1] * 5
    diagnosis = judge(**WORK, cgroup_oom_kills=kills, end={"t_s": 600, "signal": 9})
    assert codes(diagnosis) == ["GD204"]
    assert diagnosis[0].confidence == "confirmed"
    assert codes(judge(**WORK, cgroup_oom_kills=0, end={"t_s": 600, "signal": 9})) == []


def test_the_rank_that_the_others_wait_for_has_the_higher_power(judge):
    """verifiers #182: all at 100 %, N-1 at low power; the odd one is told, as a suspicion."""
    columns = {f"gpu{n}_util_pct": 100 for n in range(4)}
    power = {f"gpu{n}_power_w": 340 if n == 2 else 170 for n in range(4)}
    clock = {f"gpu{n}_sm_clock_mhz": 1410 for n in range(4)}
    diagnosis = judge(**columns, **power, **clock, main_cpu_pct=100, others_cpu_pct=300,
                      start={**PEERS, "command": ["torchrun", "t.py"]})  # fmt: skip
    found = next(f for f in diagnosis if f.rule.code == "GD307")
    assert held(found) == ["works-while-others-wait"]
    assert "GPU 2" in found.summary
    assert found.severity == "low"
    assert found.bound is None


def test_busy_but_light_is_information(judge):
    """Acme: a fifth to a third of GPU time at 90 % and below 45 % of the limit (V23)."""
    diagnosis = judge(**WORK, gpu0_power_w=150,
                      start={"gpus": [{"index": 0, "power_limit_w": 400}]})  # fmt: skip
    assert codes(diagnosis) == ["GD404"]
    assert codes(diagnosis, above_info=True) == []


def test_a_small_board_is_measured_from_its_own_idle_power(judge):
    """GIVEN a T4 that idles at 30 W of 70 THEN 40 W at full work is a quarter, and 60 W is not."""
    start = {"gpus": [{"index": 0, "power_limit_w": 70}]}
    util = [0] * 30 + [97] * 600
    light = judge(gpu0_util_pct=util, gpu0_power_w=[30] * 30 + [40] * 600, start=start)
    assert "GD404" in codes(light)
    full = judge(gpu0_util_pct=util, gpu0_power_w=[30] * 30 + [60] * 600, start=start)
    assert "GD404" not in codes(full)


def test_a_long_upload_at_the_end_is_not_held_for_nothing(judge):
    """GIVEN 15 min of work of the process after the last kernel THEN information at most."""
    diagnosis = judge(
        gpu0_util_pct=[95] * 600 + [0] * 900, gpu0_mem_used_mib=[10] * 5 + [9000] * 1495,
        main_cpu_pct=[95] * 600 + [60] * 900, main_read_mib_s=5, tree_write_mib_s=20, workers=0,
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == []


def test_batch_32_of_the_published_pair_gets_no_hint(judge):
    """ICSE 2024: 64.4 % and 19.5 % of memory (V1); the rule asks for 50 %."""
    quiet = {"main_cpu_pct": 99, "host_idle_cores": 8, **workers(4, 3, "sleeping")}
    memory = [10] * 5 + [3200] * 595
    diagnosis = judge(gpu0_util_pct=64.4, gpu0_mem_used_mib=memory, start=GPU, **quiet)
    assert "GD107" not in codes(diagnosis)
    small = judge(gpu0_util_pct=30, gpu0_mem_used_mib=memory, start=GPU, **quiet)
    assert codes(small) == ["GD102", "GD107"]
    assert codes(small, above_info=True) == ["GD102"]
