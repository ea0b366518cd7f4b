"""The scenarios: each with one true cause, or benign, and its twin with the remedy applied."""

from __future__ import annotations

from functools import partial

from tests.scenarios import made
from tests.scenarios.model import Scenario

LONG = 165  # 120 s of steady time after a warm-up of a fifth
QUIET = {"wait": "sleep", "step_ms": 250, "seconds": 52}
SLOW = {**QUIET, "seconds": LONG}
RANK = {**QUIET, "seconds": 85}
TWO = ({}, {})

HEAVY = (
    Scenario("no-workers", ("GD101",), ("no-workers",), fast=True,
             spec={"cpu_ms": 45, "step_ms": 60}, twin={"workers": 2}),
    Scenario("one-worker", ("GD101",), ("too-few-workers",),
             spec={"cpu_ms": 70, "step_ms": 45, "workers": 1, "wait": "sleep"},
             twin={"workers": 2}),
    Scenario("cores-filled-by-own-workers", ("GD101",), ("all-cores-saturated",),
             spec={"cpu_ms": 160, "step_ms": 25, "workers": 4}),
    Scenario("slow-reads", ("GD101",), ("many-short-waits",),
             spec={"cpu_ms": 6, "latency_ms": 8, "workers": 2, "step_ms": 25},
             twin={"workers": 8}),
    Scenario("slow-reads-without-workers", ("GD101",), ("main-sleeps-while-loading",),
             spec={"cpu_ms": 4, "latency_ms": 6, "step_ms": 40},
             twin={"workers": 4}),
    Scenario("launch-bound", ("GD102",), ("launches-too-slowly",),
             spec={"cpu_ms": 4, "workers": 2, "launch_ms": 35, "step_ms": 15},
             twin={"launch_ms": 2}),
    Scenario("launch-bound-from-memory", ("GD102",),
             spec={"launch_ms": 35, "step_ms": 15}, twin={"launch_ms": 2}),
    Scenario("foreign-load-with-workers", ("GD101", "GD106"), ("foreign-load",),
             spec={"cpu_ms": 40, "workers": 2, "step_ms": 50, "launch_ms": 10}, hogs=6,
             twin_hogs=0, twin={}),
    Scenario("foreign-load-without-workers", ("GD101", "GD106"), ("foreign-load",),
             spec={"cpu_ms": 30, "step_ms": 60}, hogs=6, twin_hogs=0, twin={}),
    Scenario("workers-pinned-to-one-core", ("GD101",), ("workers-on-one-core",),
             spec={"cpu_ms": 54, "workers": 3, "step_ms": 32, "pin_workers": True,
                   "wait": "sleep"}, twin={"pin_workers": False}),
    Scenario("computes-on-the-cpu", ("GD401",), ("computes-on-the-cpu",),
             spec={"shares": [0], "step_ms": 100, "seconds": 130}),
    Scenario("healthy-workers", spec={"cpu_ms": 15, "workers": 2, "step_ms": 80}, fast=True),
    Scenario("healthy-spin-at-100-percent", spec={"step_ms": 80}),
    Scenario("healthy-and-reading", spec={"cpu_ms": 2, "step_ms": 80}),
    Scenario("healthy-beside-busy-programs", spec={"step_ms": 80, "wait": "sleep"}, hogs=2),
)  # fmt: skip

LIGHT = (
    Scenario("checkpoints", ("GD104",), ("checkpoint",), light=True,
             spec={**SLOW, "pause_every_s": 30, "pause_s": 9, "pause": "write"},
             twin={"pause_every_s": 0}),
    Scenario("pauses-without-a-trace", ("GD104",), light=True,
             spec={**SLOW, "pause_every_s": 30, "pause_s": 9}),
    Scenario("workers-restarted", ("GD109", "GD104"), light=True,
             spec={**SLOW, "cpu_ms": 2, "workers": 2, "epoch_s": 18, "persistent": False,
                   "import_s": 3}, twin={"persistent": True}),
    Scenario("idle-gpu", ("GD301",), ("no-process-for-it",), light=True, gpus=TWO,
             spec={**QUIET, "shares": [1, 0]}, twin={"shares": [1, 1]}),
    Scenario("uneven", ("GD303",), light=True, gpus=TWO,
             spec={**QUIET, "shares": [1, 0.3], "seconds": 80}, twin={"shares": [1, 1]}),
    Scenario("stuck", ("GD501",), light=True,
             spec={**QUIET, "hang_after_s": 50, "hang_s": 150, "seconds": 60}),
    Scenario("heat", ("GD402",), ("heat",), light=True, spec=QUIET,
             faults=({"kind": "throttle", "bits": 32, "sm_clock_mhz": 1200},)),
    Scenario("power-brake", ("GD402",), ("hardware-slowdown",), light=True, spec=QUIET,
             faults=({"kind": "throttle", "bits": 128, "sm_clock_mhz": 700},)),
    Scenario("narrow-link", ("GD403",), ("fewer-lanes",), light=True, spec={**QUIET, "seconds": 60},
             gpus=({"values": {"pcie.link.width.current": 4}},)),
    Scenario("busy-but-light", ("GD404",), light=True, info=True,
             spec={**SLOW, "loads": [0.12]}),
    Scenario("gpu-lost", ("GD405",), light=True, spec=QUIET,
             faults=({"kind": "gpu-lost", "gpu": 0, "at_s": 45},)),
    Scenario("out-of-step", ("GD307",), ("works-while-others-wait",), light=True, gpus=TWO,
             spec={**SLOW, "step_ms": 900, "shares": [1, 1], "loads": [0.85, 0.3]}),
    Scenario("skew", ("GD308",), light=True, info=True, gpus=TWO,
             spec={**QUIET, "shares": [1, 1], "memory_mib": [11000, 4200]}),
    Scenario("mixed-models", ("GD309",), light=True, info=True, spec={**QUIET, "shares": [1, 1]},
             gpus=({"name": "Simulated A"}, {"name": "Simulated B"})),
    Scenario("another-tenant", ("GD503",), light=True, tenant_mib=6000, spec={**QUIET,
             "seconds": 90}),
    Scenario("ranks-on-one-gpu", ("GD305",), ("not-bound",), light=True, gpus=TWO,
             spec={"ranks": [{**RANK, "step_ms": 100}, {**RANK, "step_ms": 100}]}),
    Scenario("contexts-on-one-gpu", ("GD306",), light=True, gpus=TWO,
             spec={"ranks": [{**RANK, "shares": [1, 0]},
                             {**RANK, "shares": [0, 1], "extra_context": 0}]}),
    Scenario("died-out-of-memory", ("GD202",), ("ended-out-of-memory",), light=True,
             spec={**QUIET, "leak_mib": 70, "seconds": 120}),
    Scenario("mig", ("GD901",), ("mig",), light=True, info=True, spec=QUIET,
             gpus=({"mig": ["1g.10gb"], "values": {"utilization.gpu": "[N/A]"}},)),
    Scenario("healthy-blocking", light=True, fast=True, spec=QUIET),
    Scenario("healthy-two-gpus", light=True, gpus=TWO, spec={**QUIET, "shares": [1, 1]}),
    Scenario("healthy-warm-up", light=True, spec={**QUIET, "start_s": 15}),
    Scenario("healthy-evaluation", light=True, spec={**SLOW, "eval_every_s": 40}),
    Scenario("healthy-at-the-power-limit", light=True, spec={**QUIET, "loads": [1.0]},
             faults=({"kind": "throttle", "bits": 4, "sm_clock_mhz": 1850},)),
    Scenario("healthy-then-idle", light=True, spec={**QUIET, "tail_s": 90}),
    Scenario("healthy-half-of-a-minute", light=True, short=True, spec={**QUIET, "seconds": 25}),
)  # fmt: skip

MADE = (
    Scenario("leak", ("GD201",), ("tensors-kept",), make=partial(made.memory, made.linear, 1)),
    Scenario("leak-in-steps", ("GD201",), make=partial(made.memory, made.staircase, 2)),
    Scenario("leak-under-a-sawtooth", ("GD201",),
             make=partial(made.memory, made.rising_sawtooth, 3)),
    Scenario("copied-pages", ("GD203",), ("workers-grow",), make=made.copied_pages),
    Scenario("list-of-losses", ("GD203",), ("training-process-grows",), make=made.list_of_losses),
    Scenario("killed-for-memory", ("GD204",), ("counted-by-the-kernel",), make=made.killed),
    Scenario("container-quota", ("GD101",), ("container-cpu-quota",), make=made.quota),
    Scenario("long-start-up", ("GD108",), ("other-processes-work",), make=made.long_start),
    Scenario("notebook-left-open", ("GD502",), make=made.notebook),
    Scenario("healthy-memory-plateau", make=partial(made.memory, made.plateau, 4)),
    Scenario("healthy-memory-log-growth", make=partial(made.memory, made.logarithm, 5)),
    Scenario("healthy-memory-sawtooth", make=partial(made.memory, made.sawtooth, 6)),
    Scenario("healthy-memory-evaluation", make=partial(made.memory, made.evaluation, 7)),
    Scenario("healthy-memory-pool", make=partial(made.memory, made.pool, 8)),
    Scenario("healthy-co-tenant-arrives", make=partial(made.memory, made.co_tenant, 9)),
    Scenario("healthy-replay-buffer", make=made.replay_buffer),
    Scenario("healthy-file-cache", make=made.file_cache),
    Scenario("healthy-idle-after-the-end", make=made.idle_after_the_end),
)  # fmt: skip

SCENARIOS = (*HEAVY, *LIGHT, *MADE)
