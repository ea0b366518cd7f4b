"""③ Whether the run gets the cores that it wants, and how many workers the cores allow."""

from __future__ import annotations

import pytest

from gpudiag.signals import Missing

TWO = {"host": {"cpus": 2, "affinity_cpus": 2, "effective_cores": 2}, "command": ["x"]}


def run(make, util, main, wait=None, start=TWO, **more):
    columns = {
        "gpu0_util_pct": [util] * 300,
        "main_cpu_pct": main,
        "workers": 0,
        "others_cpu_pct": 0,
        "host_idle_cores": 0,
        "main_read_mib_s": 5,
        **more,
    }
    if wait is not None:
        columns |= {"main_cpu_wait_pct": wait, "host_cpu_pressure_pct": 99}
    return make(start=start, **columns)


def test_a_process_without_a_core_is_not_asleep(make):
    """GIVEN 30 % CPU and 68 % ready to run on full cores THEN it is busy; by CPU alone, asleep."""
    counted = run(make, 20, 30, wait=68)
    assert counted.get("main_busy_ratio") == pytest.approx(0.78 / 0.8)
    assert counted.get("main_sleeps") == 0
    assert counted.get("foreign_load_evidence") == 1


def test_on_full_cores_sleep_cannot_be_told_without_the_waits(make):
    """GIVEN full cores and no record of waiting THEN whether it sleeps is not claimed."""
    value = run(make, 60, 30).get("main_sleeps")
    assert isinstance(value, Missing)
    assert "waited for one" in value.reason
    assert run(make, 60, 30, host_idle_cores=1).get("main_sleeps") == 1


def test_a_quota_is_no_foreign_load(make):
    """GIVEN threads that wait at the quota of a container, beside idle cores THEN no one else."""
    start = {**TWO, "host": {"cpus": 64, "affinity_cpus": 64, "effective_cores": 2}}
    signals = run(make, 20, 30, wait=68, start=start, host_idle_cores=40)
    assert signals.get("foreign_load_evidence") == 0


def test_own_threads_that_crowd_each_other_are_no_foreign_load(make):
    """GIVEN workers that fill the cores themselves THEN no one else is named."""
    signals = run(
        make, 40, 60, wait=40, workers=4, workers_cpu_pct=135, workers_cpu_wait_pct=250,
        workers_cpu_min_pct=30, workers_cpu_median_pct=34, workers_cpu_max_pct=36,
    )  # fmt: skip
    assert signals.get("foreign_load_evidence") == 0


def test_pressure_of_the_kernel_decides_on_storage(make):
    """GIVEN steady reads THEN storage is waited for only where the kernel says so, if it says."""
    reads = {"tree_disk_read_mib_s": 30}
    assert run(make, 50, 40, **reads).get("storage_wait_evidence") == 1
    assert run(make, 50, 40, host_io_pressure_pct=2, **reads).get("storage_wait_evidence") == 0
    assert run(make, 50, 40, host_io_pressure_pct=30, **reads).get("storage_wait_evidence") == 1
    other = run(make, 50, 40, host_io_pressure_pct=30, tree_disk_read_mib_s=0)
    assert other.get("storage_wait_evidence") == 0  # another program's disk


def test_two_half_busy_workers_do_not_share_a_core(make):
    """GIVEN two workers at 50 % that were seen running half of the time THEN nothing pins them."""
    half = {
        "workers": 2, "workers_cpu_pct": 100, "workers_cpu_min_pct": 48,
        "workers_cpu_median_pct": 50, "workers_cpu_max_pct": 52, "workers_running": 1,
        "workers_sleeping": 1, "workers_blocked": 0, "workers_switches_per_s": 10,
        "host_idle_cores": 0.6,
    }  # fmt: skip
    signals = run(make, 50, 40, **half)
    assert signals.get("workers_core_wait_share") == pytest.approx(0)
    assert isinstance(signals.get("input_wait_evidence"), Missing)


@pytest.mark.parametrize(
    ("idle", "workers", "gain"),
    [(1.0, 2, 2.03), (6.0, 2, 1 / 0.35), (0.0, None, 1.0)],
)
def test_the_core_that_loading_gives_back_counts(make, idle, workers, gain):
    """GIVEN X = 0.62 on two cores THEN two workers: one would leave 0.26 of a core unused."""
    signals = run(make, 35, 97, wait=0, host_idle_cores=idle)
    assert signals.get("main_busy_while_gpu_idle") == pytest.approx(0.62)
    value = signals.get("recommended_workers")
    assert isinstance(value, Missing) if workers is None else value == workers
    assert signals.get("workers_speed_up_bound") == pytest.approx(gain, rel=0.01)
