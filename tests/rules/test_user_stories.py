"""④ What users see today, as data, and what the diagnosis must answer."""

from __future__ import annotations

import numpy as np
import pytest
from judging import advice, codes, held, host, workers

T4 = {"gpus": [{"index": 0, "name": "Tesla T4", "mem_total_mib": 16_384}]}


def test_ocr_at_15_percent_from_a_log_alone(judge):
    """GIVEN 15 % and 4500 of 16384 MiB, no CPU side THEN idle 85 %, no cause, how to record it."""
    diagnosis = judge(gpu0_util_pct=15, gpu0_mem_used_mib=4500, start=T4)
    assert codes(diagnosis) == ["GD103"]
    assert "85 %" in diagnosis[0].summary
    assert held(diagnosis[0]) == ["not-recorded"]
    assert "gpudiag record --" in advice(diagnosis[0], "paddle")
    assert diagnosis[0].bound is None


@pytest.mark.parametrize(
    ("framework", "word"), [("pytorch", "DataLoader("), ("paddle", "paddle.io.DataLoader(")]
)
def test_ocr_at_15_percent_with_the_cpu_side(judge, framework, word):
    """GIVEN num_workers=0 and augmentation in the main process THEN that, with the right code."""
    diagnosis = judge(
        gpu0_util_pct=15,
        main_cpu_pct=100,
        main_read_mib_s=9,
        workers=0,
        others_cpu_pct=0,
        host_idle_cores=14,
        frameworks=[framework],
    )
    assert codes(diagnosis) == ["GD101"]
    assert held(diagnosis[0]) == ["no-workers"]
    said = advice(diagnosis[0], framework)
    assert word in said
    assert "num_workers=7" in said  # 0.85 / 0.15 / 0.9
    assert ("pin_memory" in said) == (framework == "pytorch")


def test_resnet_at_15_percent_with_the_cpu_at_90(judge):
    """GIVEN all cores at work for the run THEN these are the limit; more workers are not told."""
    diagnosis = judge(
        gpu0_util_pct=15,
        main_cpu_pct=12,
        host_idle_cores=0.8,
        start={"host": host(8)},
        frameworks=["pytorch"],
        **workers(8, 88, switches=4),
    )
    assert held(diagnosis[0]) == ["all-cores-saturated"]
    assert "More workers cannot help" in next(
        cause.evidence for cause in diagnosis[0].causes if cause.verdict == "holds"
    )
    assert "num_workers" not in advice(diagnosis[0], "pytorch")


def test_after_the_remedy_what_is_still_lost_is_said(judge):
    """GIVEN 72 % afterwards THEN 28 % are still idle: no fixed 30 % decides."""
    diagnosis = judge(
        gpu0_util_pct=72, main_cpu_pct=73, host_idle_cores=6, **workers(8, 90, switches=5)
    )
    assert codes(diagnosis) == ["GD101"]
    assert "28 %" in diagnosis[0].summary
    assert diagnosis[0].bound == pytest.approx(1 / 0.72, abs=0.01)


def test_38_of_40_gb_is_pressure_and_no_creep(judge):
    memory = np.concatenate([np.full(5, 10), np.linspace(8000, 38_900, 60), np.full(2335, 38_900)])
    diagnosis = judge(
        gpu0_util_pct=95,
        gpu0_mem_used_mib=memory,
        main_cpu_pct=96,
        workers=0,
        start={"gpus": [{"index": 0, "mem_total_mib": 40_960}]},
        frameworks=["pytorch"],
    )
    assert codes(diagnosis) == ["GD202"]
    assert "2.0 GiB" in diagnosis[0].summary
    assert diagnosis[0].severity == "info"


def test_memory_that_really_grows_has_a_time_to_oom(judge):
    """GIVEN 200 MiB/min for 40 min on 40 GB THEN creep, confirmed, with the time left."""
    memory = 12_000 + np.arange(2400) * 200 / 60
    diagnosis = judge(
        gpu0_util_pct=95,
        gpu0_mem_used_mib=memory,
        start={"gpus": [{"index": 0, "mem_total_mib": 40_960}]},
        frameworks=["pytorch"],
    )
    assert codes(diagnosis) == ["GD201"]
    assert diagnosis[0].confidence == "confirmed"
    assert held(diagnosis[0]) == ["tensors-kept"]
    assert "1.7 h" in diagnosis[0].summary  # (40960 - 20000 - 400) / 200 = 103 min
    assert "expandable_segments" not in advice(diagnosis[0], "pytorch")


def test_paddle_that_takes_the_pool_in_advance(judge):
    """GIVEN naive_best_fit THEN pool, and the flag; GIVEN the default THEN the flag is not told."""
    columns = {
        "gpu0_util_pct": 90,
        "gpu0_mem_used_mib": [10] * 5 + [15_400] * 595,
        "main_cpu_pct": 92,
        "workers": 0,
        "frameworks": ["paddle"],
    }
    forced = judge(start={**T4, "env": {"FLAGS_allocator_strategy": "naive_best_fit"}}, **columns)
    assert codes(forced) == ["GD202"]
    assert "FLAGS_allocator_strategy=auto_growth" in advice(forced[0], "paddle")
    default = judge(start={**T4, "env": {"HOME": "/root"}}, **columns)
    assert all("allocator_strategy" not in advice(found, "paddle") for found in default)


def test_out_of_memory_although_the_model_is_small_names_the_other_tenant(judge):
    diagnosis = judge(
        gpu0_util_pct=80,
        gpu0_mem_used_mib=[11_000] * 5 + list(np.linspace(11_500, 16_100, 295)),
        main_cpu_pct=82,
        workers=0,
        start=T4,
        end={"t_s": 300, "exit_code": 1},
        frameworks=["paddle"],
    )
    assert codes(diagnosis)[0] == "GD202"
    assert set(held(diagnosis[0])) == {"ended-out-of-memory", "another-process"}
    assert diagnosis[0].severity == "critical"
    assert "kill" not in advice(diagnosis[0], "paddle")


@pytest.mark.parametrize(
    ("framework", "command", "words"),
    [
        ("pytorch", "torchrun", ("set_device(local_rank)", "DistributedSampler")),
        ("paddle", "paddle.distributed.launch", ("init_parallel_env", "DistributedBatchSampler")),
    ],
)
def test_two_gpus_at_90_and_20_percent(judge, framework, command, words):
    diagnosis = judge(
        gpu0_util_pct=90,
        gpu1_util_pct=20,
        main_cpu_pct=100,
        others_cpu_pct=100,
        workers=0,
        start={"command": ["python", "-m", command, "train.py"]},
        frameworks=[framework],
    )
    assert "GD303" in codes(diagnosis)
    finding = next(found for found in diagnosis if found.rule.code == "GD303")
    assert held(finding) == ["uneven-shares"]
    said = advice(finding, framework)
    assert all(word in said for word in words)
    assert finding.cost == pytest.approx(0.35, abs=0.01)


def test_data_parallel_is_named_for_torch_and_never_for_paddle(judge):
    """GIVEN one process on two GPUs THEN DDP for PyTorch; Paddle's DataParallel is not accused."""
    columns = {
        "gpu0_util_pct": 60,
        "gpu1_util_pct": 35,
        "gpu0_mem_used_mib": [10] * 5 + [9800] * 595,
        "gpu1_mem_used_mib": [10] * 5 + [7000] * 595,
        "main_cpu_pct": 104,
        "others_cpu_pct": 1,
        "workers": 4,
    }
    torch = judge(frameworks=["pytorch"], **columns)
    finding = next(found for found in torch if found.rule.code == "GD302")
    assert held(finding) == ["data-parallel"]
    assert "torchrun" in advice(finding, "pytorch")
    paddle = judge(frameworks=["paddle"], **columns)
    assert "GD302" not in codes(paddle)
    assert all("torchrun" not in advice(found, "paddle") for found in paddle)


def test_a_log_without_units_or_times_says_what_cannot_be_known(judge):
    diagnosis = judge(gpu0_util_pct=20, gpu0_mem_used_mib=4000, time_known=False)
    assert codes(diagnosis) == ["GD103"]
    assert diagnosis[0].confidence == "watch"
    assert diagnosis.ledger.parts == ()
    unchecked = [check for check in diagnosis.checks if check.outcome == "unchecked"]
    assert any("no times" in check.text for check in unchecked)


def test_held_but_idle_memory_is_no_stall_of_ours(judge):
    """GIVEN a zombie's memory and no work THEN unused, as information; nobody is accused."""
    diagnosis = judge(gpu0_util_pct=0, gpu0_mem_used_mib=10_151)
    assert codes(diagnosis) == ["GD401"]
    assert diagnosis[0].severity == "info"
