"""③ Which GPUs belong to the run."""

from __future__ import annotations

import pytest

GPUS = [
    {"index": 0, "uuid": "GPU-aaaa1111", "name": "T4"},
    {"index": 1, "uuid": "GPU-bbbb2222", "name": "T4"},
]


@pytest.mark.parametrize(
    ("visible", "expected"),
    [("1", (1,)), ("0,1", (0, 1)), ("GPU-bbbb", (1,)), ("1,-1,0", (1,)), ("1,7,0", (1,))],
)
def test_cuda_visible_devices_decides(make, visible, expected):
    """GIVEN the variable THEN its GPUs are those of the run, whatever the others do."""
    signals = make(
        start={"env": {"CUDA_VISIBLE_DEVICES": visible}, "gpus": GPUS},
        gpu0_util_pct=[90] * 60,
        gpu1_util_pct=[90] * 60,
    )
    assert signals.gpus == expected
    assert signals.used.meant


@pytest.mark.parametrize("visible", ["MIG-1234", "GPU-zzzz", "all"])
def test_a_variable_that_cannot_be_matched_decides_nothing(make, visible):
    signals = make(
        start={"env": {"CUDA_VISIBLE_DEVICES": visible}, "gpus": GPUS},
        gpu0_util_pct=[90] * 60,
        gpu1_util_pct=[0] * 60,
    )
    assert signals.gpus == (0,)
    assert not signals.used.meant


def test_an_index_means_nothing_among_different_models(make):
    """GIVEN mixed models THEN CUDA's order is not the driver's, unless it is set to the bus."""
    gpus = [{**GPUS[0], "name": "A100"}, GPUS[1]]
    env = {"CUDA_VISIBLE_DEVICES": "1"}
    columns = {"gpu0_util_pct": [90] * 60, "gpu1_util_pct": [0] * 60}
    assert make(start={"env": env, "gpus": gpus}, **columns).gpus == (0,)
    ordered = {**env, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert make(start={"env": ordered, "gpus": gpus}, **columns).gpus == (1,)


def test_a_recorded_command_uses_the_gpus_whose_memory_rose(make):
    """GIVEN someone else's busy GPU THEN it is not the run's: its memory did not rise."""
    signals = make(
        start={"command": ["python", "train.py"]},
        gpu0_util_pct=[80] * 60,
        gpu0_mem_used_mib=[9000] * 60,
        gpu1_util_pct=[0] * 5 + [90] * 55,
        gpu1_mem_used_mib=[3] * 5 + [6000] * 55,
    )
    assert signals.gpus == (1,)
    assert signals.used.others == (0,)


def test_mig_takes_part_by_its_memory(make):
    signals = make(gpu0_mem_used_mib=[10] * 5 + [8000] * 100)
    assert signals.used.working == (0,)


def test_a_log_in_which_nothing_happens_lists_all(make):
    signals = make(gpu0_util_pct=[0] * 60, gpu1_util_pct=[1] * 60)
    assert signals.gpus == (0, 1)
    assert signals.used.working == ()


OTHERS = {
    "start": {"command": ["python", "prep.py"], "env": {}, "gpus": GPUS[:1]},
    "gpu0_util_pct": [50] * 300,
    "gpu0_mem_used_mib": [20_000] * 300,
    "main_cpu_pct": 2,
}


def test_a_gpu_on_which_others_worked_before_is_not_taken_for_the_runs(make):
    """GIVEN memory that was in use at the start and never rose THEN no GPU is the run's."""
    signals = make(**OTHERS)
    assert signals.gpus == ()
    assert "not known to be the run's" in signals.get("gpus_working").reason
    assert "not known to be the run's" in signals.get("stall_share").reason


@pytest.mark.parametrize(
    "more",
    [
        {"gpu0_own_procs": [float("nan")] * 20 + [1] * 280},
        {"gpu0_mem_used_mib": [10] * 3 + [20_000] * 297},
        {"gpu0_mem_used_mib": [float("nan")] * 10 + [20_000] * 290},
        {"start": {**OTHERS["start"], "env": {"CUDA_VISIBLE_DEVICES": "0"}}},
    ],
    ids=["a process was seen", "the memory rose", "first measured late", "it was given"],
)
def test_what_makes_a_gpu_the_runs(make, more):
    assert make(**{**OTHERS, **more}).gpus == (0,)
