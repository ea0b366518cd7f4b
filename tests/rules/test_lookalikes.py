"""④ Healthy and benign runs, and what looks like a fault: nothing above information is said."""

from __future__ import annotations

import numpy as np
import pytest
from judging import codes, host, workers

GPU = {"gpus": [{"index": 0, "mem_total_mib": 16_384}]}
SPIN = {"main_cpu_pct": 100, "workers": 0, "others_cpu_pct": 0, "host_idle_cores": 3}


@pytest.mark.parametrize(
    ("case", "columns"),
    [
        ("a process that spins at 100 % beside a busy GPU", {"gpu0_util_pct": 97, **SPIN}),
        (
            "it reads, too",
            {"gpu0_util_pct": 96, **SPIN, "main_read_mib_s": 50},
        ),
        (
            "warm-up and plateau",
            {
                "gpu0_util_pct": [0] * 30 + [30] * 40 + [97] * 1930,
                "gpu0_mem_used_mib": np.round(8000 - 6000 * np.exp(-np.arange(2000) / 90)),
                **SPIN,
            },
        ),
        (
            "evaluation every five minutes with its own memory",
            {
                "gpu0_util_pct": ([97] * 270 + [80] * 30) * 7,
                "gpu0_mem_used_mib": ([6000] * 270 + [9000] * 30) * 7,
                **SPIN,
            },
        ),
        (
            "a sawtooth of memory",
            {"gpu0_util_pct": 96, "gpu0_mem_used_mib": list(range(5000, 8000, 10)) * 7, **SPIN},
        ),
        (
            "JAX takes 75 % in advance",
            {"gpu0_util_pct": 96, "gpu0_mem_used_mib": [10] * 5 + [12_288] * 1995, **SPIN},
        ),
        (
            "a slow logarithmic rise",
            {
                "gpu0_util_pct": 96,
                "gpu0_mem_used_mib": np.round(5000 + 400 * np.log1p(np.arange(2400) / 60)),
                **SPIN,
            },
        ),
        (
            "the job ended, the recording went on",
            {
                "gpu0_util_pct": [97] * 400 + [0] * 1200,
                "gpu0_mem_used_mib": [9000] * 400 + [10] * 1200,
                **SPIN,
            },
        ),
        (
            "a cold PCIe link and a power cap",
            {"gpu0_util_pct": 97, "gpu0_throttle_bits": 4, **SPIN},
        ),
        ("a full host, but the GPU is busy", {"gpu0_util_pct": 95, **SPIN, "host_idle_cores": 0}),
        (
            "a busy GPU in a throttled container",
            {"gpu0_util_pct": 95, **SPIN, "cgroup_throttled_pct": 60, "cgroup_stopped_cores": 2},
        ),
        (
            "workers at full tilt that keep up",
            {
                "gpu0_util_pct": 95,
                "main_cpu_pct": 95,
                "host_idle_cores": 1,
                **workers(8, 95),
            },
        ),
    ],
)
def test_a_healthy_run_is_silent(judge, case, columns):
    diagnosis = judge(start={**GPU, "host": host(16)}, **columns)
    assert codes(diagnosis, above_info=True) == [], (case, diagnosis.sentence)
    assert diagnosis.state != "problem"


def test_mig_without_utilisation_accuses_nobody(judge):
    diagnosis = judge(
        gpu0_mem_used_mib=[10] * 5 + [8000] * 595,
        main_cpu_pct=100,
        start={"gpus": [{"index": 0, "mig": "Enabled", "mem_total_mib": 20_000}]},
    )
    assert codes(diagnosis) == ["GD901"]  # that the driver gives no utilisation
    assert codes(diagnosis, above_info=True) == []
    assert diagnosis.state == "cannot tell"


@pytest.mark.parametrize("util", [70, 75, 85])
def test_a_minute_with_a_moderate_stall_gives_no_verdict(judge, util):
    diagnosis = judge(seconds=70, gpu0_util_pct=util, **SPIN, main_read_mib_s=17)
    assert codes(diagnosis) == []
    assert any("too short" in check.text for check in diagnosis.checks)


def test_a_minute_with_a_gross_stall_is_named_and_not_called_certain(judge):
    diagnosis = judge(seconds=70, gpu0_util_pct=35, **SPIN, main_read_mib_s=17)
    assert codes(diagnosis) == ["GD101"]
    assert diagnosis[0].confidence in ("watch", "likely")


def test_everyone_asleep_is_not_called_starvation(judge):
    """GIVEN a stall and no visible limit (another rank, a network call) THEN the cause is open."""
    diagnosis = judge(
        gpu0_util_pct=50, main_cpu_pct=45, host_idle_cores=12, **workers(4, 10, "sleeping", 12)
    )
    assert codes(diagnosis) == ["GD103"]


def test_reinforcement_learning_is_not_called_starvation(judge):
    """GIVEN environments in other processes, whose pipes count as reading THEN it is not said."""
    diagnosis = judge(
        gpu0_util_pct=15,
        main_cpu_pct=90,
        main_read_mib_s=28,
        workers=0,
        others_cpu_pct=700,
        host_idle_cores=1,
    )
    assert "GD101" not in codes(diagnosis)


def test_iowait_alone_is_no_evidence(judge):
    diagnosis = judge(
        gpu0_util_pct=50,
        main_cpu_pct=45,
        host_idle_cores=12,
        host_iowait_pct=60,
        **workers(4, 10, "sleeping", 12),
    )
    assert "GD101" not in codes(diagnosis)


def test_one_disease_is_reported_once(judge):
    """GIVEN a starved run THEN the vaguer rules are superseded."""
    diagnosis = judge(gpu0_util_pct=40, **SPIN, main_read_mib_s=17)
    assert codes(diagnosis) == ["GD101"]
    assert {c.rule.code for c in diagnosis.checks if c.outcome == "superseded"} == {"GD103"}


def test_somebody_elses_gpu_beside_a_program_of_the_cpu_accuses_nobody(judge):
    """GIVEN a program at 2 % CPU beside a GPU that was in use before it THEN it cannot be told."""
    diagnosis = judge(
        gpu0_util_pct=[40, 60] * 300, gpu0_mem_used_mib=20_000, main_cpu_pct=2, workers=0
    )
    assert diagnosis.state == "cannot tell"
    assert codes(diagnosis, above_info=True) == []
    assert "GPU 0 is not known to be the run's" in diagnosis.sentence
