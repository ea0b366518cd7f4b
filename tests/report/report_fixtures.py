"""Diagnoses and timelines made by hand, for the tests of the report and for looking at pages.

`python tests/report/report_fixtures.py FOLDER` writes a page of each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gpudiag.diagnose.model import (
    Cause,
    CauseVerdict,
    Check,
    Diagnosis,
    Episode,
    Finding,
    Ledger,
    LedgerPart,
    Remedy,
    Rule,
)
from gpudiag.timeline.model import Dropped, Event, Source, Timeline

HOSTILE = (
    "<script>alert(1)</script></style><img src=x onerror=alert(2)>\"'`--> {{ 7*7 }} $x^2$ &amp; "
    "\x1b[31mred\x1b[0m \u202egnp.exe\u202c \u2066x\u2069 \x00 \ud800 ]]>"
)


def rule(name: str, title: str, **changes: Any) -> Rule:
    """A rule of which only the texts that a report shows matter."""
    facts: dict[str, Any] = {
        "code": "GD101", "name": name, "title": title, "family": "input", "scope": "run",
        "when": "", "for_s": 0.0, "bridge_s": 0.0, "min_share": 0.0, "cost": "", "bound": True,
        "summary": "", "meaning": "", "confirm": "", "fine": "", "evidence": (), "plot": (),
        "supersedes": (), "thresholds": (), "severity": (), "confidence": (), "causes": (),
        "tests": (),
    }  # fmt: skip
    return Rule(**{**facts, **changes})


def gpu(index: int, name: str = "NVIDIA A100-SXM4-80GB", **changes: Any) -> dict[str, Any]:
    """The static facts of one GPU."""
    return {
        "index": index, "uuid": f"GPU-6d2f1a3c-0{index}e1-4b7a-9c55-2f8e0d9b7a1{index}",
        "name": name, "mem_total_mib": 81920, "power_limit_w": 400, "sm_clock_max_mhz": 1410,
        "pcie_gen_max": 4, "pcie_lanes_max": 16, "driver": "550.54.15",
        "persistence": "Enabled", "mig": "Disabled", "ecc": "Enabled", **changes,
    }  # fmt: skip


HOST = {
    "hostname": "node17", "os": "Ubuntu 22.04.4 LTS", "kernel": "5.15.0-105-generic",
    "python": "3.11.9", "cpus": 64, "cores": 32, "mem_total_mib": 515_000,
    "swap_total_mib": 8192, "affinity_cpus": 16, "effective_cores": 8.0,
    "cgroup": {"version": 2, "cpu_quota_cores": 8.0, "mem_limit_mib": 131072},
    "shm_total_mib": 65536,
}  # fmt: skip
END = {
    "t_s": 1803.2, "exit_code": 0, "samples": 1800, "gpu_rows_lost": 3, "recorder_cpu_s": 9.4,
    "recorder_max_rss_mib": 22.6, "skew_median_s": 0.0011, "skew_p99_s": 0.0061,
    "interval_median_s": 1.0,
}  # fmt: skip


def recording(columns: dict[str, np.ndarray], interval_s: float = 1.0, **changes: Any) -> Timeline:
    """A Timeline as run.csv gives it."""
    length = len(next(iter(columns.values())))
    index = pd.Index(np.arange(length) * interval_s + 0.003, name="t_s")
    frame = pd.DataFrame({name: np.asarray(v, float) for name, v in columns.items()}, index=index)
    gpus = sorted(
        {int(n[3:].split("_")[0]) for n in columns if n.startswith("gpu") and n[3].isdigit()}
    )
    facts: dict[str, Any] = {
        "start": {
            "time": "2026-07-03T14:02:07+02:00", "gpudiag": "0.1.0", "cwd": "/home/mara/ocr",
            "command": ["python", "train.py", "--config", "configs/resnet50.yaml"],
            "interval_s": interval_s, "gpus": [gpu(number) for number in gpus], "host": HOST,
            "env": {"CUDA_VISIBLE_DEVICES": "0,1", "PYTORCH_ALLOC_CONF": "max_split_size_mb:128"},
            "rank": {"WORLD_SIZE": "2", "RANK": "0"},
        },
        "source": Source("run.csv", "run.csv", rows=length, header_rows=1, span_s=float(index[-1])),
        "events": (
            Event(4.1, "framework", "PyTorch seen in process 4121", {"name": "pytorch"}),
            Event(1201.0, "gap", "no sample for 21 s: the machine was suspended"),
        ),
        "end": END,
    }  # fmt: skip
    facts.update(changes)
    return Timeline(frame=frame, **facts)


WORKERS = Cause(
    "too-few-workers", "The workers are at their limit and cores are free", "", "",
    (
        Remedy("pytorch", "Use 6 workers: each is at 97 % of a core, and 4.1 cores are idle.",
               "loader = DataLoader(\n    dataset,\n    batch_size=256,\n    num_workers=6,\n"
               "    persistent_workers=True,\n    pin_memory=True,\n)"),
        Remedy("paddle", "Use 6 workers.", "paddle.io.DataLoader(dataset, num_workers=6)"),
        Remedy("tensorflow", "Map in parallel.", "ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)"),
        Remedy("any", "Decode once, and store what was decoded."),
    ),
)  # fmt: skip
NO_WORKERS = Cause("no-workers", "The DataLoader has no workers", "", "",
                   (Remedy("pytorch", "Use workers.", "DataLoader(num_workers=4)"),))  # fmt: skip
STORAGE = Cause("storage", "The workers wait for storage", "", "",
                (Remedy("any", "Copy the data to a local disk first."),))  # fmt: skip
QUOTA = Cause("cpu-quota", "The CPU quota of the container stops the workers", "", "",
              (Remedy("any", "Ask for more CPU: `resources.limits.cpu: 12`."),))  # fmt: skip


def starving() -> tuple[Diagnosis, Timeline]:
    """Half an hour on two GPUs that wait for a loader with two workers."""
    rng, n = np.random.default_rng(7), 1800
    busy = (np.arange(n) // 4 % 3 == 0) & (np.arange(n) > 45)
    util = np.where(busy, rng.integers(88, 100, n), rng.integers(0, 6, n)).astype(float)
    util[rng.random(n) < 0.02] = np.nan
    other = np.clip(util + rng.normal(0, 3, n), 0, 100)
    memory = np.where(np.arange(n) < 30, 412, 31_200 + rng.integers(0, 60, n))
    workers = np.where(np.arange(n) < 40, 0, 195 + rng.normal(0, 4, n)).clip(0)
    timeline = recording(
        {
            "skew_s": np.full(n, 0.0011) + rng.random(n) * 0.0005,
            "gpu0_util_pct": util, "gpu1_util_pct": other,
            "gpu0_mem_used_mib": memory, "gpu1_mem_used_mib": memory + 300,
            "gpu0_power_w": 90 + util * 2.4, "gpu1_power_w": 88 + other * 2.4,
            "gpu0_sm_clock_mhz": np.full(n, 1410), "gpu1_sm_clock_mhz": np.full(n, 1410),
            "gpu0_temp_c": 41 + util / 10, "gpu1_temp_c": 40 + other / 10,
            "main_cpu_pct": 20 + util * 0.4, "workers": np.where(np.arange(n) < 40, 0, 2),
            "workers_cpu_pct": workers, "host_cpu_pct": 31 + rng.normal(0, 2, n),
            "host_mem_used_mib": 61_000 + rng.normal(0, 300, n).cumsum() * 0.2,
            "tree_disk_read_mib_s": np.abs(rng.normal(24, 9, n)),
            "host_net_rx_mib_s": np.abs(rng.normal(0.3, 0.1, n)),
        }
    )  # fmt: skip
    episodes = tuple(Episode(float(s), float(s) + 8) for s in range(60, 1790, 12))
    starvation = rule(
        "data-loader-starvation", "The GPUs wait for input data",
        plot=("gpu_util_pct", "workers_cpu_pct", "main_cpu_pct", "cgroup_throttled_pct"),
        meaning="While the loader prepares the next batch, the GPU has nothing to do.\n"
        "Utilisation falls to zero between batches.",
        confirm="Repeat one batch that is already in memory for two minutes:\n"
        "if utilisation rises above 90 %, the loader is what the GPUs wait for.",
    )  # fmt: skip
    finding = Finding(
        starvation, "high", "confirmed",
        "The GPUs waited for input for 64 % of the active time; the two loader workers were at "
        "their limit while four cores were idle.",
        (), 0.64, 2.8, episodes,
        ("GPU utilisation: mean 33 % over 1,740 s of training",
         "2 workers used 195 % of CPU (97 % each)",
         "4.1 of the 8 cores that the run may use were idle",
         "the training process used 33 % of a core"),
        (
            CauseVerdict(NO_WORKERS, "ruled out", "2 workers were seen in 98 % of the samples."),
            CauseVerdict(WORKERS, "holds", "Each worker used 97 % of a core; 4.1 cores were idle."),
            CauseVerdict(STORAGE, "ruled out", "The workers were runnable in 96 % of the samples."),
            CauseVerdict(QUOTA, "unknown", "", ("the control group of the run was not readable",)),
        ),
    )  # fmt: skip
    respawn = Finding(
        rule("workers-restarted", "The workers are started anew for each epoch", code="GD107",
             plot=("workers_new", "gpu_util_pct"), confirm="Set persistent_workers=True."),
        "low", "likely", "Six times all workers ended and started again, for 4 s each.", (0,),
        0.013, 1.013, (Episode(300, 304), Episode(900, 904)), ("6 restarts of 2 workers",), (),
    )  # fmt: skip
    parts = (
        LedgerPart("start_up", "start-up and warm-up", 90.0, 0.025),
        LedgerPart("busy", "busy", 1170.0, 0.325),
        LedgerPart("input_wait", "waiting for input", 2232.0, 0.62),
        LedgerPart("unexplained", "idle, cause not known", 108.0, 0.03),
    )
    diagnosis = Diagnosis(
        "problem",
        "The GPUs were idle 64 % of the time because two loader workers could not keep up. "
        "Fixing this could make the run at most 2.8 times as fast.",
        (finding, respawn),
        (
            Check(starvation, "fired", ""),
            Check(rule("memory-creep", "GPU memory grows until it runs out", code="GD201"), "fine",
                  "GPU memory is level: it grew by 31 MiB in 29 minutes, and 48.1 GiB are free."),
            Check(rule("gpus-unequal", "One GPU does less than the others", code="GD301"), "fine",
                  "Both GPUs do the same: their mean utilisation differs by 1 point."),
            Check(rule("gpu-idle", "The GPUs are idle", code="GD110"), "superseded", ""),
            Check(rule("cpu-quota", "The CPU quota stops the run", code="GD105"), "unchecked",
                  "the control group of the run was not readable",
                  ("the control group of the run was not readable",)),
        ),
        Ledger((0, 1), 1800.0, parts), "pytorch", (), {"gpu_util_mean": 33.1},
    )  # fmt: skip
    return diagnosis, timeline


def healthy() -> tuple[Diagnosis, Timeline]:
    """Ten minutes of one busy GPU."""
    rng, n = np.random.default_rng(3), 600
    timeline = recording(
        {
            "gpu0_util_pct": np.clip(rng.normal(97, 2, n), 0, 100),
            "gpu0_mem_used_mib": np.full(n, 22_000), "gpu0_power_w": rng.normal(371, 9, n),
            "main_cpu_pct": np.full(n, 100.0), "host_cpu_pct": np.full(n, 12.0),
        },
        events=(),
    )  # fmt: skip
    fine = Check(rule("x", "The GPUs wait for input data"), "fine",
                 "The training process does not wait for its data loader.")  # fmt: skip
    ledger = Ledger((0,), 600, (LedgerPart("start_up", "start-up and warm-up", 12, 0.02),
                                LedgerPart("busy", "busy", 588, 0.98)))  # fmt: skip
    return Diagnosis("healthy", "The GPU was busy 97 % of the time, and no check found a problem.",
                     (), (fine,), ledger, "pytorch"), timeline  # fmt: skip


def foreign_log() -> tuple[Diagnosis, Timeline]:
    """A log without times and without the CPU side."""
    rng, n = np.random.default_rng(5), 240
    timeline = recording(
        {"gpu0_util_pct": rng.choice([0, 8, 15, 60], n), "gpu0_mem_used_mib": np.full(n, 4500)},
        start={"gpus": [{"index": 0}]},
        source=Source(
            "logs/gpu_log.csv", "nvidia-smi --query-gpu CSV", time_known=False, rows=n,
            dropped=tuple(Dropped(17 + 3 * k, "too few cells", "9 %") for k in range(12)),
            notes=("The log has no timestamps: samples are counted instead.",),
        ),
        events=(), end=None,
    )  # fmt: skip
    idle = rule("gpu-idle-cause-unknown", "The GPU is idle, and the log does not say why",
                code="GD110", plot=("gpu_util_pct",))  # fmt: skip
    finding = Finding(idle, "medium", "watch", "The GPU was idle 79 % of the time.", (0,), None,
                      None, (Episode(20, 90), Episode(120, 200)), ("mean utilisation 21 %",),
                      tuple(CauseVerdict(cause, "unknown", "", ("no CPU side was recorded",))
                            for cause in (WORKERS, STORAGE)))  # fmt: skip
    return Diagnosis(
        "cannot tell", "The GPU was idle 79 % of the time; this log cannot say why.", (finding,),
        (Check(rule("q", "The CPU quota stops the run", code="GD105"), "unchecked",
               "no CPU side was recorded", ("no CPU side was recorded",)),),
        Ledger(reason="the log has no timestamps"), "any",
        ("No CPU side was recorded: the cause cannot be told. Record with gpudiag record.",
         "The log has no timestamps: durations and costs in time cannot be given."),
    ), timeline  # fmt: skip


def creeping() -> tuple[Diagnosis, Timeline]:
    """GPU memory that grows over two hours, with CPU-side columns flat."""
    rng, n = np.random.default_rng(11), 7200
    t = np.arange(n)
    memory = 40_000 + t / 7200 * 36_000 // 256 * 256 + rng.integers(0, 30, n)
    timeline = recording(
        {"gpu0_util_pct": np.clip(rng.normal(93, 4, n), 0, 100), "gpu0_mem_used_mib": memory,
         "main_cpu_pct": np.full(n, 98.0)}
    )  # fmt: skip
    creep = rule("memory-creep", "GPU memory grows", code="GD201", family="memory",
                 plot=("gpu_mem_used_mib",))  # fmt: skip
    finding = Finding(creep, "critical", "confirmed",
                      "Memory of GPU 0 grows by 300 MiB a minute; it runs out in about 18 minutes.",
                      (0,), None, None, (Episode(600, 7200),), ("43 GiB in 2 h",), ())  # fmt: skip
    return Diagnosis("problem", "GPU 0 runs out of memory in about 18 minutes.", (finding,), (),
                     Ledger((0,), 7200, (LedgerPart("busy", "busy", 6700, 0.93),
                                         LedgerPart("unexplained", "not known", 500, 0.07))),
                     "pytorch"), timeline  # fmt: skip


def whole_day(gpus: int = 8, hours: float = 24.0) -> tuple[Diagnosis, Timeline]:
    """A day on eight GPUs at one sample a second: noise, which compresses worst."""
    rng, n = np.random.default_rng(13), int(hours * 3600)
    columns: dict[str, np.ndarray] = {}
    for number in range(gpus):
        columns[f"gpu{number}_util_pct"] = rng.integers(0, 101, n)
        columns[f"gpu{number}_mem_used_mib"] = rng.integers(30_000, 70_000, n)
        columns[f"gpu{number}_power_w"] = rng.integers(80, 400, n)
        columns[f"gpu{number}_sm_clock_mhz"] = rng.integers(300, 1410, n)
        columns[f"gpu{number}_temp_c"] = rng.integers(30, 80, n)
    for name in ("main_cpu_pct", "workers_cpu_pct", "others_cpu_pct", "host_cpu_pct",
                 "cgroup_throttled_pct", "tree_disk_read_mib_s", "tree_disk_write_mib_s",
                 "host_net_rx_mib_s", "host_mem_used_mib", "cgroup_mem_used_mib"):  # fmt: skip
        columns[name] = rng.random(n) * 100
    diagnosis, _ = starving()
    busy = LedgerPart("busy", "busy", n * gpus * 0.3, 0.3)
    idle = LedgerPart("input_wait", "waiting for input", n * gpus * 0.7, 0.7)
    ledger = Ledger(tuple(range(gpus)), float(n), (busy, idle))
    return Diagnosis(diagnosis.state, diagnosis.sentence, diagnosis.findings, diagnosis.checks,
                     ledger, diagnosis.framework), recording(columns)  # fmt: skip


def many_gpus() -> tuple[Diagnosis, Timeline]:
    """Twenty minutes on four GPUs, at 100, 80, 60 and 40 %; one busier from 400 to 800 s."""
    n = 1200
    columns = {f"gpu{k}_util_pct": np.full(n, 100.0 - 20 * k) for k in range(4)}
    columns["gpu2_util_pct"][400:800] = 97.0
    columns["gpu3_util_pct"][100:200] = np.nan
    diagnosis, _ = healthy()
    return diagnosis, recording({**columns, "main_cpu_pct": np.full(n, 100.0)})


def hostile() -> tuple[Diagnosis, Timeline]:
    """Every text from outside is an attack, and one is a hundred kilobytes long."""
    long = HOSTILE + "A" * 100_000
    n = 120
    attack = rule(HOSTILE, HOSTILE, code=HOSTILE, meaning=long, confirm=HOSTILE,
                  plot=("gpu_util_pct", HOSTILE))  # fmt: skip
    cause = Cause(HOSTILE, HOSTILE, "", "", (Remedy("any", HOSTILE, long), Remedy("jax", HOSTILE)))
    finding = Finding(attack, "high", "likely", long, (0,), 0.5, 2.0, (Episode(3, 9),), (HOSTILE,),
                      tuple(CauseVerdict(cause, v, HOSTILE, (HOSTILE,))
                            for v in ("holds", "unknown", "ruled out")))  # fmt: skip
    timeline = recording(
        {"gpu0_util_pct": np.arange(n) % 100, "host_cpu_pct": np.full(n, 5)},
        start={
            "time": HOSTILE, "command": ["python", HOSTILE, long], "cwd": HOSTILE,
            "gpus": [gpu(0, HOSTILE, uuid=long, driver=HOSTILE)],
            "host": {**HOST, "hostname": HOSTILE, "kernel": long, "cgroup": HOSTILE},
            "env": {HOSTILE: HOSTILE, "FLAGS_x": long}, "rank": HOSTILE,
        },
        source=Source(HOSTILE + "/run.csv", HOSTILE, rows=n, header_rows=1, span_s=119.0,
                      dropped=(Dropped(3, HOSTILE, long),), notes=(HOSTILE, long)),
        events=(Event(1.0, HOSTILE, long),), end={"exit_code": HOSTILE},
    )  # fmt: skip
    return Diagnosis(
        "problem", long, (finding,),
        (Check(attack, "fine", HOSTILE), Check(attack, "unchecked", HOSTILE, (long,)),
         Check(attack, "superseded", HOSTILE)),
        Ledger((0,), 120, (LedgerPart(HOSTILE, HOSTILE, 120, 1.0),)), "jax", (HOSTILE,),
        {HOSTILE: 1.0},
    ), timeline  # fmt: skip


PAGES: dict[str, Callable[[], tuple[Diagnosis, Timeline]]] = {
    "starving": starving, "healthy": healthy, "foreign_log": foreign_log,
    "creeping": creeping, "many_gpus": many_gpus, "whole_day": whole_day, "hostile": hostile,
}  # fmt: skip

if __name__ == "__main__":
    from gpudiag.report import render

    for name, make in PAGES.items():
        print(render(*make(), Path(sys.argv[1]) / f"{name}.html"))
