"""① What the demo can show: one row a scenario, with the cause that it really has."""

from __future__ import annotations

from typing import NamedTuple


class DemoScenario(NamedTuple):
    """Times are a batch's; `step_ms` is GPU time, `cpu_ms` decoding, `latency_ms` each read's wait.

    `gpu_share` holds, for each GPU, its kernel time as a share of `step_ms`; if none has a share,
    the CPU works for `step_ms`. `leak_mib` is kept by the program for every step. `seconds` is how
    long the demo trains: as long as the verdict in question takes.
    """

    name: str
    shows: str
    workers: int
    cpu_ms: float
    latency_ms: float
    step_ms: float
    gpu_share: tuple[float, ...]
    leak_mib: float
    seconds: int


BATCH = 16

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        DemoScenario(
            "starvation",
            "num_workers=0: the training process decodes its own samples while the GPU waits",
            workers=0, cpu_ms=130, latency_ms=0, step_ms=70,
            gpu_share=(1.0,), leak_mib=0, seconds=60,
        ),
        DemoScenario(
            "few-workers",
            "one data-loader worker at its limit while a core is free",
            workers=1, cpu_ms=150, latency_ms=0, step_ms=55,
            gpu_share=(1.0,), leak_mib=0, seconds=60,
        ),
        DemoScenario(
            "slow-storage",
            "two workers that wait for every sample, as on network storage",
            workers=2, cpu_ms=10, latency_ms=10, step_ms=30,
            gpu_share=(1.0,), leak_mib=0, seconds=60,
        ),
        DemoScenario(
            "healthy",
            "two workers keep up: nothing to find",
            workers=2, cpu_ms=30, latency_ms=0, step_ms=90,
            gpu_share=(1.0,), leak_mib=0, seconds=60,
        ),
        DemoScenario(
            "memory-creep",
            "device memory lost at every step, faster than most leaks; a minute is too short to "
            "tell a leak from a warm-up: try --seconds 30m",
            workers=2, cpu_ms=30, latency_ms=0, step_ms=90,
            gpu_share=(1.0,), leak_mib=0.35, seconds=60,
        ),
        DemoScenario(
            "imbalance",
            "two GPUs, the second gets a fifth of the work",
            workers=2, cpu_ms=30, latency_ms=0, step_ms=90,
            gpu_share=(1.0, 0.2), leak_mib=0, seconds=180,
        ),
        DemoScenario(
            "idle-gpu",
            "the run was given two GPUs and uses one",
            workers=2, cpu_ms=30, latency_ms=0, step_ms=90,
            gpu_share=(1.0, 0.0), leak_mib=0, seconds=60,
        ),
        DemoScenario(
            "gpu-never-used",
            "the model was never moved to the GPU: threads on the CPU do all the work",
            workers=0, cpu_ms=20, latency_ms=0, step_ms=100,
            gpu_share=(0.0,), leak_mib=0, seconds=130,
        ),
    )
}  # fmt: skip
DEFAULT = "starvation"
