"""③ Training processes beside their own GPUs: whose is which, and what it does while it idles."""

from __future__ import annotations

import dataclasses

import pytest

from gpudiag.signals import Missing, SignalSet
from gpudiag.timeline.model import Event

UTIL = (40, 100, 100, 100)


def told(signals, *environments):
    """The same signals with an event of each rank: its number and environment."""
    events = tuple(
        Event(1.0, "rank", f"rank{number}", {"rank": number, "pid": 100 + number, **environment})
        for number, environment in enumerate(environments)
    )
    return SignalSet(dataclasses.replace(signals.timeline, events=events))


def torchrun(count):
    return [{"RANK": str(n), "LOCAL_RANK": str(n), "WORLD_SIZE": str(count)} for n in range(count)]


def ranks(make, cpu, util=UTIL, **more):
    start = {"command": ["torchrun", "train.py"], "env": {"HOME": "/"}}
    columns = {f"gpu{n}_util_pct": [float(u)] * 300 for n, u in enumerate(util)}
    columns |= {f"rank{n}_cpu_pct": value for n, value in enumerate(cpu)}
    return make(start=start, main_cpu_pct=cpu[0], **columns, **more)


def test_the_rank_of_the_idle_gpu_sleeps_and_its_workers_are_at_their_limit(make):
    """GIVEN ranks that spin in NCCL for rank 0, which waits for its data THEN rank 0 is asleep."""
    workers = {"rank0_workers": 2, "rank0_workers_cpu_pct": 198}
    signals = told(ranks(make, (40, 100, 100, 100), **workers), *torchrun(4))
    assert signals.get("ranks_judged") == 1
    assert signals.get("ranks_asleep") == 1
    assert signals.get("slow_rank") == 0
    assert signals.get("slow_rank_busy_ratio") == pytest.approx(0, abs=0.01)
    assert signals.get("slow_rank_worker_cpu") == 99


def test_the_rank_of_the_idle_gpu_is_busy(make):
    signals = told(ranks(make, (99, 100, 100, 100)), *torchrun(4))
    assert (signals.get("ranks_busy"), signals.get("ranks_asleep")) == (1, 0)
    assert signals.get("slow_rank_busy_ratio") == pytest.approx(0.59 / 0.6)
    assert isinstance(signals.get("slow_rank_worker_cpu"), Missing)


def test_the_median_rank_speaks_for_the_run_and_not_the_first(make):
    """GIVEN seven ranks asleep, and the first busy with logging THEN the run is asleep."""
    signals = told(ranks(make, (99, *[50] * 7), util=[50] * 8), *torchrun(8))
    assert signals.get("ranks_judged") == 8
    assert signals.get("ranks_asleep") == 7
    assert signals.get("main_busy_ratio") == pytest.approx(0)


def test_each_rank_may_see_one_gpu_alone(make):
    """GIVEN a launcher that gives each rank one GPU, in reverse THEN that one is its own."""
    only = [{"CUDA_VISIBLE_DEVICES": str(3 - n), "LOCAL_RANK": "0"} for n in range(4)]
    signals = told(ranks(make, (100, 100, 100, 41)), *only)
    assert signals.get("slow_rank") == 3


def test_paddles_trainer_id_counts(make):
    paddle = [{"PADDLE_TRAINER_ID": str(n)} for n in range(4)]
    assert told(ranks(make, (40, 100, 100, 100)), *paddle).get("slow_rank") == 0


@pytest.mark.parametrize(
    "environments",
    [
        [{}, {}, {}, {}],
        [{"LOCAL_RANK": "0"}] * 4,
        [{"RANK": str(n), "WORLD_SIZE": "8"} for n in range(4)],
        [{"LOCAL_RANK": str(n + 1)} for n in range(4)],
        [{"LOCAL_RANK": "zero"}] * 4,
        [{"CUDA_VISIBLE_DEVICES": "MIG-1", "LOCAL_RANK": str(n)} for n in range(4)],
        torchrun(4)[:3],
    ],
    ids=["nothing", "one place", "two machines", "beyond", "no number", "mig", "one untold"],
)
def test_where_the_gpu_of_a_rank_is_not_known_no_rank_is_judged(make, environments):
    signals = told(ranks(make, (40, 100, 100, 100)), *environments)
    value = signals.get("ranks_judged")
    assert isinstance(value, Missing)
    assert "not known" in value.reason


def test_a_gpu_without_a_process_of_the_run_belongs_to_no_rank(make):
    """GIVEN all processes on GPU 0 THEN the place of the local rank is not believed."""
    procs = {f"gpu{n}_own_procs": 4.0 * (n == 0) for n in range(4)}
    signals = told(ranks(make, (40, 100, 100, 100), **procs), *torchrun(4))
    assert isinstance(signals.get("slow_rank"), Missing)


def test_waiting_for_a_core_counts_as_wanting_one(make):
    waits = {f"rank{n}_cpu_wait_pct": 60.0 * (n == 0) for n in range(4)}
    signals = told(ranks(make, (40, 100, 100, 100), **waits), *torchrun(4))
    assert signals.get("ranks_busy") == 1


def test_workers_without_loading_processes_are_counted_for_each_rank(make):
    """GIVEN 4 ranks that load data themselves for 85 % of the time THEN 7 workers for each."""
    host = {"cpus": 64, "effective_cores": 64, "affinity_cpus": 64}
    signals = told(
        ranks(make, [100] * 4, util=[15] * 4, workers=0, main_read_mib_s=9, host_idle_cores=59),
        *torchrun(4),
    )
    signals = SignalSet(
        dataclasses.replace(signals.timeline, start={**signals.timeline.start, "host": host})
    )
    assert signals.get("needed_workers") == 7
    assert signals.get("recommended_workers") == 7
