"""④ What users see today, continued: shared cards, zombies, heat, a baseline before the run."""

from __future__ import annotations

from judging import advice, codes, held, made, workers

from gpudiag.signals import SignalSet

CARD = {"gpus": [{"index": 0, "name": "Tesla T4", "mem_total_mib": 16_384, "sm_clock_max_mhz": 1590,
                  "power_limit_w": 70, "power_default_limit_w": 70}]}  # fmt: skip


def test_several_jobs_share_a_card(judge):
    """GIVEN other processes beside the run for half of it THEN they are named with their memory and
    how long they were there; isolation is advised, and killing is not."""
    there = [0] * 300 + [1] * 300
    diagnosis = judge(
        gpu0_util_pct=95, gpu0_mem_used_mib=[4000] * 300 + [10_000] * 300, main_cpu_pct=96,
        gpu0_own_procs=1, gpu0_foreign_procs=there,
        gpu0_foreign_mem_mib=[6000 * n for n in there], start=CARD, **workers(0, 0),
    )  # fmt: skip
    found = next(f for f in diagnosis if f.rule.code == "GD503")
    assert "50 %" in found.summary
    assert "5.9 GiB" in found.summary
    said = advice(found, "pytorch")
    assert "CUDA_VISIBLE_DEVICES" in said
    assert "kill" not in said


def test_memory_held_by_a_process_that_no_longer_computes(judge):
    """GIVEN work, then 15 min without any while the memory stays THEN held but idle, and how to
    find the process."""
    diagnosis = judge(
        gpu0_util_pct=[95] * 600 + [0] * 900, gpu0_mem_used_mib=[10] * 5 + [9000] * 1495,
        main_cpu_pct=[95] * 600 + [1] * 900, main_read_mib_s=0.01,
        tree_write_mib_s=([0.2] + [0.02] * 39) * 37 + [0.02] * 20, start=CARD, **workers(0, 0),
    )  # fmt: skip
    assert codes(diagnosis, above_info=True) == ["GD502"]
    said = advice(diagnosis[0], "pytorch")
    assert "--query-compute-apps=pid" in said
    assert "someone else's" in said


def test_heat_with_lower_clocks_and_heat_alone(judge):
    """GIVEN the driver's reason in 40 % of the busy time THEN that share is said; GIVEN 88 degrees
    without a reason THEN nothing."""
    columns = {"gpu0_util_pct": 97, "gpu0_temp_c": 88, "main_cpu_pct": 97, **workers(0, 0)}
    hot = judge(
        gpu0_throttle_bits=[0] * 360 + [32] * 240,
        gpu0_sm_clock_mhz=[1590] * 360 + [1200] * 240, start=CARD, **columns,
    )  # fmt: skip
    assert codes(hot, above_info=True) == ["GD402"]
    assert held(hot[0]) == ["heat"]
    assert "40 %" in next(c.evidence for c in hot[0].causes if c.verdict == "holds")
    warm = judge(gpu0_throttle_bits=0, gpu0_sm_clock_mhz=1590, start=CARD, **columns)
    assert codes(warm) == []


def test_what_was_on_the_gpu_before_the_run_is_not_its_own():
    """GIVEN 6000 MiB of somebody else's from the first reading on THEN they count as before it."""
    signals = SignalSet(
        made(
            gpu0_util_pct=[0] * 20 + [95] * 580, gpu0_mem_used_mib=[6000] * 20 + [9000] * 580,
            main_cpu_pct=96, **workers(0, 0),
        )
    )  # fmt: skip
    assert signals.get("mem_before_mib", 0) == 6000


def test_a_fixed_limit_decides_nothing(judge):
    """GIVEN 28 % and 31 % of utilisation THEN both get the same answer: no fixed 30 % is in it."""
    columns = {"main_cpu_pct": 99, "main_read_mib_s": 9, "host_idle_cores": 12, **workers(0, 0)}
    below, above = (judge(gpu0_util_pct=util, **columns) for util in (28, 31))
    assert codes(below) == codes(above) == ["GD101"]
    assert held(below[0]) == held(above[0]) == ["no-workers"]
    assert below[0].severity == above[0].severity == "high"
