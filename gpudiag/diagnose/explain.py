"""④ Why a condition does not hold: which comparison failed, and the figure that was measured.

For a cause that is ruled out: its own `evidence` would be untrue there.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpudiag.diagnose.evaluate import Evaluator
from gpudiag.diagnose.nodes import Node
from gpudiag.diagnose.truth import Unknown
from gpudiag.language import tr
from gpudiag.signals.base import REGISTRY
from gpudiag.timeline.columns import BY_NAME
from gpudiag.units import format_duration

MOST = 2  # failed comparisons that are said; one is enough to rule a cause out
_NEEDS: Mapping[str, str] = {
    "<": "less than",
    "<=": "at most",
    ">": "more than",
    ">=": "at least",
    "==": "exactly",
}
_MIRRORED: Mapping[str, str] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
# Signals that causes are decided by, in people's words; others go by their names.
_WORDS: Mapping[str, str] = {
    "workers_count": "the number of loader workers",
    "worker_cpu": "the CPU use of the median worker",
    "worker_cpu_least": "the CPU use of the least busy worker",
    "workers_cores": "what the workers use together",
    "worker_switches": "the number of waits of a worker",
    "workers_core_wait_share": "the share of time in which workers lack a core",
    "workers_wanting_share": "the share of time in which workers want a core",
    "main_cpu": "the CPU use of the training process",
    "main_busy_ratio": "the share of the GPU's idle time in which the training process is busy",
    "main_read_mib_s_mean": "what the training process reads a second",
    "disk_read_mib_s": "what the run reads from disk a second",
    "net_rx_mib_s": "what the machine receives from the network a second",
    "cores_busy_share": "the share of the cores that is busy",
    "tree_core_share": "the share of the cores that the run uses",
    "throttled_share": "the share of scheduler periods in which the quota stops the run",
    "stopped_cores": "the CPU time lost to the quota",
    "stall_share": "the share of the active time without a kernel",
    "gpus_working": "the number of GPUs at work",
    "gpu_models": "the number of different models",
    "power_limit_ratio": "the highest power limit over the lowest",
    "mem_peak_mib": "the most memory held on the GPU",
    "mem_peak_share": "the fullest that the GPU's memory was",
    "mem_before_mib": "the memory in use before the run allocated any",
    "mem_rises": "the number of rises of the memory",
    "mem_regular_steps": "the number of like steps at like intervals",
    "shm_used_share": "the fullest that /dev/shm was",
    "util_least": "the lowest mean utilisation among the GPUs",
    "slow_clock_node_ratio": "the lowest SM clock of a machine over that of the others",
    "odd_power_node_deviation": "by how much the power of a machine's GPUs differs",
    "idle_node_whole": "proof that all GPUs of a machine idle more than the others'",
    "first_gpu_memory_ratio": "the first GPU's memory over that of the others",
    "foreign_load_evidence": "proof that other programs take cores that the run wants",
    "storage_wait_evidence": "proof that the workers wait for storage",
    "has_cpu_side": "a record of the CPU side",
    "main_sleeps": "proof that the training process sleeps while the GPU idles",
}
_FLAG = "0 or 1"


def why_false(node: Node, evaluator: Evaluator, gpu: int | None = None) -> str:
    """What fails of a condition that is false, as a sentence; empty if nothing can be named."""
    said = list(dict.fromkeys(_failures(node, evaluator, gpu)))
    if not said:
        return ""
    text = tr("; ").join(said[:MOST])
    starts_with_name = "_" in text.split(" ", 1)[0]
    return f"{text if starts_with_name else text[:1].upper() + text[1:]}{tr('.')}"


def _failures(node: Node, evaluator: Evaluator, gpu: int | None) -> list[str]:
    if node.op in ("and", "or"):
        return [text for arg in node.args for text in _failures(arg, evaluator, gpu)]
    if evaluator.condition(node, gpu) is not False:
        return []
    left, right, op = node.args[0], node.args[1], node.op
    if left.op == "number":
        left, right, op = right, left, _MIRRORED[op]
    measured, needed = evaluator.figure(left, gpu), evaluator.figure(right, gpu)
    if isinstance(measured, Unknown) or isinstance(needed, Unknown):
        return []
    unit = _unit(left)
    if unit == _FLAG:
        name = (
            tr(_WORDS[left.name])
            if left.name in _WORDS
            else tr("a sign of this ({signal})", signal=left.text)
        )
        missing = needed > measured
        return [
            tr("there is no {what}", what=name) if missing else tr("there is {what}", what=name)
        ]
    limit = _figure(needed, unit)
    named = "" if right.op == "number" else f" ({right.text})"
    return [
        tr(
            "{what} is {measured}, and with this cause it would be {relation} {limit}{name}",
            what=tr(_WORDS[left.name]) if left.name in _WORDS else left.text,
            measured=_figure(measured, unit),
            relation=tr(_NEEDS[op]),
            limit=limit,
            name=named,
        )
    ]


def _unit(node: Node) -> str:
    """The unit of an expression, where all its names agree on one."""
    if node.op == "name":
        if node.name in REGISTRY:
            return REGISTRY[node.name].unit
        column = BY_NAME.get(node.name.removeprefix("gpu_")) or BY_NAME.get(node.name)
        return column.unit if column else ""
    if node.kind in ("condition", "series condition"):
        return ""
    if node.op in ("share", "whole_share"):
        return "share"
    if node.op in ("gpus_count", "/"):
        return ""
    units = {_unit(arg) for arg in node.args if arg.op != "number"}
    return units.pop() if len(units) == 1 else ""


def _figure(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.3g} %"
    if unit == "s":
        return format_duration(value) if value >= 0 else f"{value:.3g} s"
    if unit == "MiB" and abs(value) >= 1024:
        return f"{value / 1024:.1f} GiB"
    text = f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{text} {unit}" if unit else text
