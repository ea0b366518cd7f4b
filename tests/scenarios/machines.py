"""A simulated run on several machines with eight GPUs each, clocks up to 2 s apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from gpudiag.timeline.model import Event, Source, Timeline

NODES, GPUS = 8, 8
SLOW = 5  # the machine that the others wait for
BEGAN = datetime(2026, 3, 1, 9, 0, 0, tzinfo=UTC)
KINDS = ("healthy", "starved", "throttled")


def machine(kind: str, place: int, seconds: int, nodes: int = NODES, gpus: int = GPUS) -> Timeline:
    """The recording of one machine. The run starts after a while and pauses now and then."""
    rng = np.random.default_rng(place)
    ahead = rng.uniform(-2, 2) if place else 0.0
    late = 0.0 if place == 0 else rng.uniform(0, 3)  # when its recorder was started
    true = np.arange(1.0, seconds + 1) + late
    works = (true > 25) & ~((true % 411) > 385)
    slow = place == SLOW
    starved, throttled = slow and kind == "starved", slow and kind == "throttled"
    columns: dict[str, np.ndarray] = {}
    for gpu in range(gpus):
        busy = 58 + rng.normal(0, 4, seconds) if starved else 97 + rng.normal(0, 1, seconds)
        util = np.where(works, np.clip(busy, 0, 100), 0).round()
        power = 90 + util / 100 * (260 if throttled else 480) + rng.normal(0, 6, seconds)
        columns |= {
            f"gpu{gpu}_util_pct": util,
            f"gpu{gpu}_mem_util_pct": (util * 0.4).round(),
            f"gpu{gpu}_mem_used_mib": np.where(true > 12, 61_000.0, 4.0),
            f"gpu{gpu}_power_w": power.round(),
            f"gpu{gpu}_temp_c": np.where(works, 88.0 if throttled else 62.0, 40.0),
            f"gpu{gpu}_sm_clock_mhz": np.full(seconds, 1005.0 if throttled else 1755.0),
            f"gpu{gpu}_throttle_bits": np.where(works, 0x40 if throttled else 0, 1.0),
        }
    each = 99.0 if starved else 40.0
    columns |= {
        "main_cpu_pct": np.where(works, 4.0 if starved else 96.0, 2.0),
        "main_cpu_wait_pct": np.zeros(seconds), "main_read_mib_s": np.zeros(seconds),
        "workers": np.full(seconds, 32.0), "workers_cpu_pct": np.full(seconds, 32 * each),
        "workers_cpu_min_pct": np.full(seconds, each - 1),
        "workers_cpu_median_pct": np.full(seconds, each),
        "workers_cpu_max_pct": np.full(seconds, min(each + 1, 100)),
        "workers_cpu_wait_pct": np.zeros(seconds),
        "workers_running": np.full(seconds, 32 * each / 100),
        "workers_sleeping": np.full(seconds, 32 - 32 * each / 100),
        "workers_blocked": np.zeros(seconds), "workers_switches_per_s": np.full(seconds, 320.0),
        "workers_new": np.zeros(seconds), "workers_gone": np.zeros(seconds),
        "others_cpu_pct": np.zeros(seconds), "host_idle_cores": np.full(seconds, 60.0),
        "host_cpu_pct": np.full(seconds, 40.0), "host_cpu_pressure_pct": np.zeros(seconds),
        "host_mem_used_mib": np.full(seconds, 200_000.0),
        "host_mem_avail_mib": np.full(seconds, 800_000.0),
        "tree_disk_read_mib_s": np.full(seconds, 12.0), "host_net_rx_mib_s": np.full(seconds, 90.0),
    }  # fmt: skip
    began = BEGAN + timedelta(seconds=late + ahead)
    start = {
        "time": began.isoformat(timespec="milliseconds"), "interval_s": 1.0, "mode": "command",
        "command": ["torchrun", f"--nnodes={nodes}", f"--node_rank={place}", "train.py"],
        "gpus": [
            {"index": gpu, "name": "NVIDIA H100 80GB HBM3", "uuid": f"GPU-{place}-{gpu}",
             "mem_total_mib": 81_559, "power_limit_w": 700, "power_default_limit_w": 700,
             "sm_clock_max_mhz": 1980, "mig": "Disabled"}
            for gpu in range(gpus)
        ],
        "host": {"hostname": f"node{place}", "cpus": 96, "affinity_cpus": 96,
                 "effective_cores": 96, "mem_total_mib": 1_000_000},
        "env": {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(gpus)))},
        "rank": {"SLURM_JOB_ID": "4711", "SLURM_NODEID": str(place), "SLURM_NNODES": str(nodes)},
    }  # fmt: skip
    frame = pd.DataFrame(columns, index=pd.Index(np.arange(1.0, seconds + 1), name="t_s"))
    events = (Event(5.0, "framework", "torch seen", {"name": "pytorch"}),)
    end = {"t_s": float(seconds), "exit_code": 0, "reason": "command"}
    return Timeline(frame, start, Source(f"node{place}", "run.csv", interval_s=1.0), events, end)
