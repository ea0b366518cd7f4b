"""③ Who waits for whom: X, the evidence of input wait, and the number of workers."""

from __future__ import annotations

import pytest

from gpudiag.signals import Missing

HOST = {"host": {"cpus": 8, "affinity_cpus": 8, "effective_cores": 8}, "command": ["x"]}


def run(make, stall, main, workers=0, **more):
    columns = {
        "gpu0_util_pct": [100 * (1 - stall)] * 300,
        "main_cpu_pct": main,
        "workers": workers,
        "others_cpu_pct": 0,
        "host_idle_cores": 6,
        **more,
    }
    return make(start=HOST, **columns)


def worker_columns(count, each, running=1.0, switches=10, blocked=0.0):
    return {
        "workers": count,
        "workers_cpu_pct": count * each,
        "workers_cpu_min_pct": each,
        "workers_cpu_median_pct": each,
        "workers_cpu_max_pct": each,
        "workers_running": count * running,
        "workers_sleeping": count * (1 - running - blocked),
        "workers_blocked": count * blocked,
        "workers_switches_per_s": count * switches,
    }


@pytest.mark.parametrize(
    ("stall", "main", "ratio"), [(0.47, 100, 1.0), (0.33, 72, 0.15), (0.67, 7, -0.39)]
)
def test_x_separates_a_busy_process_from_a_sleeping_one(make, stall, main, ratio):
    """GIVEN the measured figures of loaders THEN X/S is what was computed for them."""
    assert run(make, stall, main).get("main_busy_ratio") == pytest.approx(ratio, abs=0.02)


def test_x_means_nothing_without_a_stall(make):
    """GIVEN a process that spins at 100 % beside a busy GPU THEN there is no ratio and no wait."""
    signals = run(make, 0.03, 100, main_read_mib_s=20)
    assert isinstance(signals.get("main_busy_ratio"), Missing)
    assert signals.get("input_wait_evidence") == 0


def test_a_log_of_the_gpu_alone_has_no_evidence_and_says_how_to_get_it(make):
    value = make(gpu0_util_pct=[15] * 300).get("input_wait_evidence")
    assert isinstance(value, Missing)
    assert "gpudiag record" in value.reason


def test_evidence_needs_a_limit_that_is_seen(make):
    """GIVEN sleeping workers and a sleeping process THEN nothing is claimed."""
    quiet = run(make, 0.5, 45, **worker_columns(4, 10, running=0.1))
    assert isinstance(quiet.get("input_wait_evidence"), Missing)
    assert run(make, 0.33, 72, **worker_columns(1, 99)).get("input_wait_evidence") == 1
    waiting = run(make, 0.33, 50, **worker_columns(2, 6, running=0, switches=108))
    assert waiting.get("input_wait_evidence") == 1
    blocked = run(make, 0.5, 40, **worker_columns(4, 6, running=0, switches=5, blocked=0.5))
    assert blocked.get("input_wait_evidence") == 1


def test_a_busy_process_beside_idle_workers_is_not_waiting(make):
    signals = run(make, 0.6, 100, **worker_columns(8, 2, running=0))
    assert signals.get("input_wait_evidence") == 0
    assert signals.get("main_bound_evidence") == 1


def test_without_workers_only_reading_is_evidence(make):
    assert run(make, 0.5, 100, main_read_mib_s=17).get("input_wait_evidence") == 1
    silent = run(make, 0.5, 100, main_read_mib_s=0.2)
    assert isinstance(silent.get("input_wait_evidence"), Missing)
    assert silent.get("main_bound_evidence") == 1


def test_other_busy_processes_hide_what_happens(make):
    """GIVEN environments of reinforcement learning THEN reading from pipes is no evidence."""
    signals = run(make, 0.8, 95, main_read_mib_s=28, others_cpu_pct=700)
    assert isinstance(signals.get("input_wait_evidence"), Missing)


def test_recommended_workers_follow_from_what_was_measured(make):
    """GIVEN one full worker and a GPU busy 2/3 of the time THEN 1 / 0.67 / 0.9 are needed: two."""
    signals = run(make, 0.33, 72, **worker_columns(1, 99))
    assert signals.get("needed_workers") == 2
    assert signals.get("recommended_workers") == 2
    many = run(make, 0.67, 30, **worker_columns(4, 99))
    assert many.get("needed_workers") == 14
    assert many.get("recommended_workers") == 10  # four, and six idle cores
    none = run(make, 0.47, 100, main_read_mib_s=17)
    assert none.get("recommended_workers") == 1


def test_no_core_no_recommendation(make):
    signals = run(make, 0.67, 30, **{**worker_columns(4, 99), "host_idle_cores": 0.1})
    value = signals.get("recommended_workers")
    assert isinstance(value, Missing)
    assert "no core" in value.reason


def test_idle_cores_are_bounded_by_the_quota(make):
    start = {
        "command": ["x"],
        "host": {
            "cpus": 64,
            "affinity_cpus": 64,
            "effective_cores": 4,
            "cgroup": {"version": 2, "cpu_quota_cores": 4},
        },
    }
    signals = make(start=start, gpu0_util_pct=[50] * 300, host_idle_cores=55, cgroup_cpu_cores=3.5)
    assert signals.get("idle_cores") == pytest.approx(0.5)
    assert signals.get("cores_busy_share") == pytest.approx(0.875)


def test_workers_are_recommended_for_each_rank(make):
    """GIVEN four ranks under a launcher with one full worker each THEN two each, and not eight."""
    start = {**HOST, "command": ["torchrun", "--nproc_per_node=4", "train.py"]}
    signals = make(
        start={**start, "host": {"cpus": 32, "affinity_cpus": 32, "effective_cores": 32}},
        **{f"gpu{n}_util_pct": [67] * 300 for n in range(4)},
        main_cpu_pct=72,
        **{**worker_columns(4, 99), "others_cpu_pct": 216, "host_idle_cores": 20},
    )
    assert signals.get("ranks") == 4
    assert signals.get("input_wait_evidence") == 1
    assert signals.get("recommended_workers") == 2


def test_no_quota_means_no_throttling(make):
    """GIVEN a control group that was looked at and has no quota THEN it is 0, and not unknown."""
    host = {"cpus": 8, "cgroup": {"version": 2, "cpu_quota_cores": None}}
    signals = make(start={"host": host}, gpu0_util_pct=[50] * 300)
    assert signals.get("throttled_share") == 0
    assert isinstance(make(gpu0_util_pct=[50] * 300).get("throttled_share"), Missing)


def test_what_all_gpus_stall_is_the_least_where_they_differ(make):
    """GIVEN 90 and 20 % THEN 10 % is common: the rest is imbalance and not a wait for input."""
    uneven = make(gpu0_util_pct=[90] * 300, gpu1_util_pct=[20] * 300)
    assert uneven.get("stall_share") == pytest.approx(0.10)
    even = make(gpu0_util_pct=[60] * 300, gpu1_util_pct=[50] * 300)
    assert even.get("stall_share") == pytest.approx(0.45)
