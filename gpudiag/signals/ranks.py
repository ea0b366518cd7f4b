"""③ Each training process of a run beside the GPU that it drives.

Which GPU that is follows from the environment that the process was started with: the only one in
its CUDA_VISIBLE_DEVICES, else the one at the place of its local rank, as every launcher's manual
has it. Where two would share a GPU, or the driver sees no process of the run on it, that does not
hold, and nothing is said of single ranks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpudiag.signals.activity import GROSS_S, GROSS_SAMPLES, need_length
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent
from gpudiag.signals.used import visible_gpus

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

_COLUMN = re.compile(r"rank(\d{1,4})_cpu_pct", re.ASCII)
FEWEST = 2


@dataclass(frozen=True)
class Rank:
    """A training process and its GPU; means of the active time without pauses.

    `stall` is that of its own GPU, `busy_while_idle` its X, `cpu` in per cent of a core.
    `worker_cpu` is the mean CPU of one of its workers, None where it has none or they were not
    measured.
    """

    number: int
    gpu: int
    cpu: float
    stall: float
    busy_while_idle: float
    worker_cpu: float | None


def _numbers(signals: SignalSet) -> list[int]:
    names = (_COLUMN.fullmatch(str(name)) for name in signals.timeline.frame.columns)
    return sorted(
        int(match[1]) for match in names if match and signals.timeline.column(match[0]) is not None
    )


def ranks_cpu(signals: SignalSet) -> float | None:
    """The CPU of all training processes, 100 = one core; None where they were not told apart."""
    numbers = _numbers(signals)
    if len(numbers) < FEWEST:
        return None
    return sum(signals.steady_mean(f"rank{number}_cpu_pct") for number in numbers)


def known_ranks(signals: SignalSet) -> tuple[Rank, ...]:
    """The ranks whose GPU is known, at least two; empty where it is not."""
    return signals.once("known_ranks", None, lambda: _known(signals))


def stalled_ratios(signals: SignalSet) -> list[float]:
    """X / S of each known rank whose own GPU stalls for at least 10 %."""
    least = signals.limits["min_stall"]
    return [r.busy_while_idle / r.stall for r in known_ranks(signals) if r.stall >= least]


def _known(signals: SignalSet) -> tuple[Rank, ...]:
    numbers = _numbers(signals)
    told = {
        event.data.get("rank"): event.data for event in signals.timeline.events
        if event.kind == "rank"
    }  # fmt: skip
    gpus = {
        number: _gpu_of(signals, told[number], len(numbers)) for number in numbers if number in told
    }
    found = [(number, gpu) for number, gpu in gpus.items() if gpu is not None]
    alone = len({gpu for _, gpu in found}) == len(found)
    if len(found) < FEWEST or len(found) < len(numbers) or not alone:
        return ()
    if not all(_is_there(signals, gpu) for _, gpu in found):
        return ()
    return tuple(_measured(signals, number, gpu) for number, gpu in found)


def _gpu_of(signals: SignalSet, told: Mapping[str, Any], count: int) -> int | None:
    """The GPU of one of `count` ranks, by what is known of its environment."""
    env = signals.timeline.start.get("env")
    base = env if isinstance(env, Mapping) else {}
    visible = told.get("CUDA_VISIBLE_DEVICES", base.get("CUDA_VISIBLE_DEVICES"))
    if not isinstance(visible, str):
        visible = ",".join(map(str, signals.timeline.gpus))
    listed = visible_gpus(visible, signals.timeline, base)
    if not listed:
        return None
    if len(listed) == 1:
        return listed[0]
    place = _number(told.get("LOCAL_RANK"))
    if place is None and _number(told.get("WORLD_SIZE")) in (None, count):
        place = _number(told.get("RANK", told.get("PADDLE_TRAINER_ID")))
    return listed[place] if place is not None and place < len(listed) else None


def _number(text: object) -> int | None:
    told = str(text) if text is not None else ""
    return int(told) if told.isascii() and told.isdigit() and len(told) <= 4 else None


def _is_there(signals: SignalSet, gpu: int) -> bool:
    """Whether the rank can work there: the GPU is the run's, and a process of it was seen on it."""
    if gpu not in signals.used.gpus or signals.timeline.column(f"gpu{gpu}_util_pct") is None:
        return False
    seen = signals.timeline.column(f"gpu{gpu}_own_procs")
    return seen is None or float(seen.max()) >= 1


def _measured(signals: SignalSet, number: int, gpu: int) -> Rank:
    cpu = signals.array(f"rank{number}_cpu_pct")
    waits = signals.timeline.column(f"rank{number}_cpu_wait_pct")
    wants = cpu if waits is None else cpu + np.nan_to_num(waits.to_numpy(dtype=np.float64))
    wanted = signals.clock.mean(np.minimum(wants, 100.0), signals.window.steady)
    if wanted is None:
        raise Absent(Missing(f"rank {number} was not measured in the time that counts"))
    stall = 1 - min(signals.steady_mean("gpu_util_pct", gpu), 100.0) / 100
    return Rank(
        number,
        gpu,
        signals.steady_mean(f"rank{number}_cpu_pct"),
        stall,
        wanted / 100 - (1 - stall),
        _worker_cpu(signals, number),
    )


def _worker_cpu(signals: SignalSet, number: int) -> float | None:
    names = (f"rank{number}_workers", f"rank{number}_workers_cpu_pct")
    if any(signals.timeline.column(name) is None for name in names):
        return None
    count, cpu = (signals.steady_mean(name) for name in names)
    return cpu / count if count >= 1 else None


def _need_ranks(signals: SignalSet) -> tuple[Rank, ...]:
    need_length(signals, GROSS_S, GROSS_SAMPLES)
    ranks = known_ranks(signals)
    if not ranks:
        raise Absent(Missing("which GPU each training process drives is not known"))
    return ranks


@signal(
    "ranks_judged", "figure", "", "run",
    "Training processes whose own GPU is known and stalls for at least 10 % of the active time. A "
    "process is given to the only GPU in its CUDA_VISIBLE_DEVICES, else to that at the place of "
    "its LOCAL_RANK (or RANK, on one machine); missing where that gives two of them one GPU.",
)  # fmt: skip
def ranks_judged(signals: SignalSet, gpu: int | None) -> float | Missing:
    _need_ranks(signals)
    return float(len(stalled_ratios(signals)))


@signal(
    "ranks_asleep", "figure", "", "run",
    "Those of ranks_judged that sleep while their own GPU idles (X / S at most 0.3).",
)  # fmt: skip
def ranks_asleep(signals: SignalSet, gpu: int | None) -> float | Missing:
    _need_ranks(signals)
    return float(sum(r <= signals.limits["asleep_ratio"] for r in stalled_ratios(signals)))


@signal(
    "ranks_busy", "figure", "", "run",
    "Those of ranks_judged that run, or want to, while their own GPU idles (X / S at least 0.6).",
)  # fmt: skip
def ranks_busy(signals: SignalSet, gpu: int | None) -> float | Missing:
    _need_ranks(signals)
    return float(sum(r >= signals.limits["busy_ratio"] for r in stalled_ratios(signals)))


def _slow(signals: SignalSet) -> Rank:
    return max(_need_ranks(signals), key=lambda rank: rank.stall)


@signal("slow_rank", "figure", "", "run", "Number of the rank whose own GPU stalls most.")
def slow_rank(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_slow(signals).number)


@signal(
    "slow_rank_cpu",
    "figure",
    "%",
    "run",
    "CPU of the rank whose own GPU stalls most.",
)
def slow_rank_cpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _slow(signals).cpu


@signal(
    "slow_rank_busy_ratio", "figure", "", "run",
    "X / S of the rank whose own GPU stalls most: read like main_busy_ratio.",
)  # fmt: skip
def slow_rank_busy_ratio(signals: SignalSet, gpu: int | None) -> float | Missing:
    rank = _slow(signals)
    if rank.stall < signals.limits["min_stall"]:
        return Missing("no GPU stalls for 10 % of the time")
    return rank.busy_while_idle / rank.stall


@signal(
    "slow_rank_worker_cpu", "figure", "%", "run",
    "Mean CPU of a loader worker of the rank whose own GPU stalls most.",
)  # fmt: skip
def slow_rank_worker_cpu(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = _slow(signals).worker_cpu
    return Missing("that rank has no loader workers") if found is None else found
