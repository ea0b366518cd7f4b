"""③ The limits that signals of evidence use, each of which a rule shows with its source.

A rule repeats them as thresholds under the same name, so that a reader sees them where they
matter; a test holds that both agree, and `--thresholds` changes both.
"""

from __future__ import annotations

from collections.abc import Mapping

LIMITS: Mapping[str, float] = {
    "min_stall": 0.10,  # MLPerf Storage accepts 90 % accelerator use; TraceML warns from 10 %
    "busy_ratio": 0.6,  # X/S at or above: the training process is busy while the GPU idles …
    "asleep_ratio": 0.3,  # … at or below: it sleeps. Set with nine measured runs in view.
    "loading_mib_s": 2.0,  # loading in the main process read 17 MiB/s, launching without it 1.3
    "full_cpu": 85.0,  # a process at one full core; 99 was measured
    "each_full_cpu": 80.0,
    "clear_stall": 0.20,
    "pool_cpu": 200.0,  # two cores in one process: it loads, or computes, in threads
    "throttled": 0.25,  # CPUThrottlingHigh of kubernetes-mixin
    "stopped": 0.1,
    "cores_full": 0.85,
    "no_core_left": 0.95,
    "own_share": 0.6,
    "wants_cpu": 0.5,
    "lacks_core": 0.2,  # of the time in which the run wants a core it has none
    "foreign_share": 0.2,  # of the cores, taken by others
    "waiting_cpu": 30.0,  # 6 was measured in workers that wait for small files
    "switches": 30.0,  # 108 a worker in those, 3 to 12 in others
    "blocked": 0.2,
    "io_pressure_high": 0.1,  # twice the 5 % from which datapath-doctor warns
    "sustained_mib_s": 20.0,  # the low end of a hard disk
    "idle_worker_cpu": 50.0,  # 1.7 in Paddle #33275; at half a core a worker is not the limit
}
