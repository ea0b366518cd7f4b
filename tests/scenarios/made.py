"""Recordings for what takes hours, root or a container: made from a seed, with a known truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from gpudiag.timeline.model import Event, Source, Timeline

TOTAL = 16_384
Curve = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def timeline(
    columns: Mapping[str, Any],
    start: Mapping[str, Any] | None = None,
    end: Mapping[str, Any] | None = None,
    events: tuple[Event, ...] = (),
    seconds: int = 2400,
) -> Timeline:
    """A recording of one healthy GPU, changed by `columns` (figures, or one reading a second)."""
    base: dict[str, Any] = {
        "gpu0_util_pct": 95, "gpu0_power_w": 250, "main_cpu_pct": 95, "main_cpu_wait_pct": 1,
        "main_read_mib_s": 0.1, "main_rss_mib": 3000, "workers": 0, "others_cpu_pct": 0,
        "host_idle_cores": 6, "host_cpu_pressure_pct": 1, "host_io_pressure_pct": 0,
        "host_mem_avail_mib": 60_000, "tree_disk_read_mib_s": 0, "tree_write_mib_s": 0.1,
        "host_net_rx_mib_s": 0,
    }  # fmt: skip
    made = {name: np.broadcast_to(np.asarray(c, dtype=float), seconds)
            for name, c in {**base, **columns}.items()}  # fmt: skip
    index = pd.Index(np.arange(1.0, seconds + 1), name="t_s")
    facts = {
        "command": ["python", "train.py"],
        "env": {"HOME": "/root"},
        "host": {"cpus": 8, "affinity_cpus": 8, "effective_cores": 8, "mem_total_mib": 65_536},
        "gpus": [{"index": 0, "name": "made", "mem_total_mib": TOTAL, "power_limit_w": 300}],
        **(start or {}),
    }
    source = Source("made", "run.csv", rows=seconds, interval_s=1.0, span_s=float(seconds))
    ending = {"t_s": float(seconds), "exit_code": 0} if end is None else end
    return Timeline(pd.DataFrame(made, index=index), facts, source, events, ending or None)


def memory(curve: Curve, seed: int) -> Timeline:
    """GPU memory that follows `curve` after loading, with the noise of whole MiB."""
    t = np.arange(2400.0)
    values = curve(t, np.random.default_rng(seed))
    return timeline({"gpu0_mem_used_mib": np.round(np.where(t < 4, 10, values))})


def linear(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 6000 + 200 * t / 60 + rng.normal(0, 2, len(t))


def staircase(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 6000 + 300 * np.floor((t + 30 * rng.random()) / 90)


def rising_sawtooth(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 6000 + 3 * t + 800 * ((t / 110 + rng.random()) % 1)


def plateau(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.minimum(2934 + 1600 * (1 - np.exp(-t / (40 + 40 * rng.random()))), 4537)


def logarithm(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draws = 5000 + 300 * np.log1p(rng.exponential(20, len(t)))
    return np.maximum.accumulate(np.round(draws / 20) * 20)


def sawtooth(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 5000 + 2500 * ((t / 130 + rng.random()) % 1)


def evaluation(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where((t + 60 * rng.random()) % 300 > 250, 9000, 6000)


def pool(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.full(len(t), 12_288)


def co_tenant(t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(t > 900 + 300 * rng.random(), 9500, 6000)


def copied_pages() -> Timeline:
    pss = np.full(2400, np.nan)
    pss[::30] = np.linspace(4000, 16_000, 80)
    workers = {"workers": 8, "workers_cpu_pct": 120, "workers_cpu_median_pct": 15,
               "workers_cpu_min_pct": 12, "workers_cpu_max_pct": 20,
               "workers_rss_mib": 26_000}  # fmt: skip
    left = np.linspace(50_000, 38_000, 2400)
    return timeline({**workers, "workers_pss_mib": pss, "host_mem_avail_mib": left})


def list_of_losses() -> Timeline:
    used = np.linspace(3000, 9000, 2400)
    return timeline({"main_rss_mib": used, "host_mem_avail_mib": 60_000 - used})


def replay_buffer() -> Timeline:
    used = np.minimum(1776 + np.arange(2400) * 5.0, 6000)
    return timeline({"main_rss_mib": used, "host_mem_avail_mib": 60_000 - used})


def file_cache() -> Timeline:
    cache = np.linspace(500, 12_000, 2400)
    host = {"cpus": 8, "effective_cores": 8, "cgroup": {"version": 2, "mem_limit_mib": 16_384}}
    return timeline({"cgroup_mem_used_mib": 3500 + cache, "cgroup_mem_cache_mib": cache},
                    {"host": host})  # fmt: skip


def killed() -> Timeline:
    kills = np.where(np.arange(2400) >= 2398, 1, 0)
    return timeline({"cgroup_oom_kills": kills}, end={"t_s": 2400.0, "signal": 9})


def quota() -> Timeline:
    workers = {"workers": 8, "workers_cpu_pct": 340, "workers_cpu_median_pct": 42,
               "workers_cpu_min_pct": 40, "workers_cpu_max_pct": 45, "workers_cpu_wait_pct": 380,
               "workers_running": 6, "workers_sleeping": 2, "workers_blocked": 0}  # fmt: skip
    host = {"cpus": 64, "affinity_cpus": 64, "effective_cores": 4,
            "cgroup": {"version": 2, "cpu_quota_cores": 4}}  # fmt: skip
    return timeline(
        {**workers, "gpu0_util_pct": 50, "main_cpu_pct": 55, "main_cpu_wait_pct": 15,
         "cgroup_throttled_pct": 60, "cgroup_stopped_cores": 3, "cgroup_cpu_cores": 4,
         "host_idle_cores": 52}, {"host": host},
    )  # fmt: skip


def long_start() -> Timeline:
    ready = np.arange(2400) >= 800
    return timeline({"gpu0_util_pct": np.where(ready, 95, 0),
                     "main_cpu_pct": np.where(ready, 95, 3),
                     "others_cpu_pct": np.where(ready, 0, 97)})  # fmt: skip


def evaluations() -> Timeline:
    """Every five minutes workers of a second loader start while the GPU waits 20 s for them."""
    place = np.arange(2400) % 300
    wait = place >= 280
    return timeline({
        "gpu0_util_pct": np.where(wait, 0, 95), "main_cpu_pct": np.where(wait, 5, 95),
        "workers": np.where(wait, 8, 4), "workers_new": np.where(place == 281, 4, 0),
        "workers_gone": np.where(place == 0, 4, 0), "workers_cpu_pct": np.where(wait, 350, 120),
        "workers_cpu_median_pct": 30, "workers_cpu_min_pct": 25, "workers_cpu_max_pct": 35,
        "gpu0_power_w": np.where(wait, 60, 250),
    })  # fmt: skip


def notebook() -> Timeline:
    works = np.arange(2400) < 900
    return timeline({
        "gpu0_util_pct": np.where(works, 95, 0), "main_cpu_pct": np.where(works, 95, 1),
        "gpu0_mem_used_mib": np.where(np.arange(2400) < 4, 10, 9000),
        "tree_write_mib_s": np.where(np.arange(2400) % 40 == 0, 0.2, 0.02),
    })  # fmt: skip


def idle_after_the_end() -> Timeline:
    works = np.arange(2400) < 900
    return timeline({
        "gpu0_util_pct": np.where(works, 95, 0), "main_cpu_pct": np.where(works, 95, 1),
        "gpu0_mem_used_mib": np.where(works, 9000, 10),
    })  # fmt: skip
