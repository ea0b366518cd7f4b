"""③ The machines of one run beside each other: which of them all the others wait for.

What is of a machine shows on all its GPUs alike; one odd GPU among them is no odd machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpudiag.signals.activity import GROSS_S, GROSS_SAMPLES, need_length
from gpudiag.signals.base import Missing, signal
from gpudiag.signals.compute import Absent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpudiag.signals.compute import SignalSet

_ONE_MACHINE = "one machine was recorded"


class _Odd(NamedTuple):
    """A machine by its place in the list: its figure, the median of the others', and whether every
    GPU of it lies beyond the middle between the two."""

    node: int
    figure: float
    others: float
    whole: bool


def _members(signals: SignalSet) -> list[tuple[int, ...]]:
    """The working GPUs of each machine; raises Absent with fewer than two machines that work."""
    nodes = signals.timeline.start.get("nodes")
    if not isinstance(nodes, list | tuple):
        raise Absent(Missing(_ONE_MACHINE))
    working = set(signals.used.working)
    members = [tuple(gpu for gpu in node["gpus"] if gpu in working) for node in nodes]
    if sum(map(bool, members)) < 2:
        raise Absent(Missing("fewer than two machines of the run worked"))
    return members


def _odd(
    signals: SignalSet,
    name: str,
    of_gpu: Callable[[int], float],
    pick: Callable[[list[float]], int],
) -> _Odd:
    def find() -> _Odd:
        members = _members(signals)
        places = [place for place, gpus in enumerate(members) if gpus]
        each = {place: [of_gpu(gpu) for gpu in members[place]] for place in places}
        means = [float(np.median(each[place])) for place in places]
        chosen = pick(means)
        others = float(np.median([mean for n, mean in enumerate(means) if n != chosen]))
        middle = (means[chosen] + others) / 2
        own = each[places[chosen]]
        whole = max(own) < middle if means[chosen] < others else min(own) > middle
        return _Odd(places[chosen], means[chosen], others, whole)

    return signals.once(f"odd node by {name}", None, find)


def _lowest(means: list[float]) -> int:
    return int(np.argmin(means))


def _farthest(means: list[float]) -> int:
    """The one farthest from the median of the others; of two, the higher."""
    if len(means) == 2:
        return int(np.argmax(means))
    apart = [
        abs(mean - float(np.median([m for k, m in enumerate(means) if k != n])))
        for n, mean in enumerate(means)
    ]
    return int(np.argmax(apart))


def _by_utilisation(signals: SignalSet) -> _Odd:
    need_length(signals, GROSS_S, GROSS_SAMPLES)
    return _odd(signals, "util", lambda gpu: signals.steady_mean("gpu_util_pct", gpu), _lowest)


def _by_clock(signals: SignalSet) -> _Odd:
    return _odd(signals, "clock", lambda gpu: signals.steady_mean("gpu_sm_clock_mhz", gpu), _lowest)


def _by_power(signals: SignalSet) -> _Odd:
    def share(gpu: int) -> float:
        limit = _limit(signals.timeline.gpu_facts(gpu))
        return signals.steady_mean("gpu_power_w", gpu) / limit

    return _odd(signals, "power", share, _farthest)


def _limit(facts: Mapping[str, object]) -> float:
    limit = facts.get("power_limit_w")
    if not isinstance(limit, int | float) or limit <= 0:
        raise Absent(Missing("the power limits of the GPUs are not known"))
    return float(limit)


@signal(
    "nodes", "figure", "", "run", "Machines on which the run was recorded; 1 for one recording."
)
def nodes(signals: SignalSet, gpu: int | None) -> float | Missing:
    found = signals.timeline.start.get("nodes")
    return float(len(found)) if isinstance(found, list | tuple) else 1.0


@signal(
    "idle_node", "figure", "", "run",
    "Machine (its place in the list) whose GPUs are busy least, by the median of their mean "
    "utilisation in the active time without pauses.",
)  # fmt: skip
def idle_node(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_by_utilisation(signals).node)


@signal("idle_node_util", "figure", "%", "run", "That utilisation of that machine.")
def idle_node_util(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _by_utilisation(signals).figure


@signal("other_nodes_util", "figure", "%", "run", "The same of the other machines, their median.")
def other_nodes_util(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _by_utilisation(signals).others


@signal(
    "idle_node_whole", "figure", "0 or 1", "run",
    "1 if every GPU of that machine is below the middle between its utilisation and that of the "
    "others, so that it is the machine and not one GPU.",
)  # fmt: skip
def idle_node_whole(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_by_utilisation(signals).whole)


@signal(
    "slow_clock_node", "figure", "", "run",
    "Machine whose GPUs have the lowest SM clock, by the median of their means.",
)  # fmt: skip
def slow_clock_node(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_by_clock(signals).node)


@signal(
    "slow_clock_node_ratio", "figure", "", "run",
    "Its SM clock over that of the other machines (their median); 1 if not every GPU of it is low.",
)  # fmt: skip
def slow_clock_node_ratio(signals: SignalSet, gpu: int | None) -> float | Missing:
    odd = _by_clock(signals)
    if odd.others <= 0:
        return Missing("the SM clocks were not measured")
    return odd.figure / odd.others if odd.whole else 1.0


@signal(
    "odd_power_node", "figure", "", "run",
    "Machine whose GPUs' power over the limit is farthest from that of the others; of two machines "
    "the one with the higher power.",
)  # fmt: skip
def odd_power_node(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(_by_power(signals).node)


@signal(
    "odd_power_node_deviation", "figure", "share", "run",
    "Its power less that of the others (their median), as a share of the limit; 0 if not every GPU "
    "of it differs so.",
)  # fmt: skip
def odd_power_node_deviation(signals: SignalSet, gpu: int | None) -> float | Missing:
    odd = _by_power(signals)
    return odd.figure - odd.others if odd.whole else 0.0


# what each difference is measured by, so that the three can be compared
_POINTS, _RATIO, _SHARE = 20.0, 0.15, 0.15


@signal(
    "odd_node", "figure", "", "run",
    "Machine that differs most from the others: by utilisation (in units of 20 points), else by "
    "its SM clock (15 % lower) or power (15 % of the limit), as far as these were measured.",
)  # fmt: skip
def odd_node(signals: SignalSet, gpu: int | None) -> float | Missing:
    gap = signals.need("other_nodes_util") - signals.need("idle_node_util")
    found = [(gap / _POINTS * signals.need("idle_node_whole"), signals.need("idle_node"))]
    ratio, place = signals.figure("slow_clock_node_ratio"), signals.figure("slow_clock_node")
    if isinstance(ratio, float) and isinstance(place, float):
        found.append(((1 - ratio) / _RATIO, place))
    power, place = signals.figure("odd_power_node_deviation"), signals.figure("odd_power_node")
    if isinstance(power, float) and isinstance(place, float):
        found.append((abs(power) / _SHARE, place))
    return max(found, key=lambda pair: pair[0])[1]
