"""③ The run itself: frameworks, allocator settings, how it ended, what was recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpudiag.signals.base import Missing, signal

if TYPE_CHECKING:
    from gpudiag.signals.compute import SignalSet

_TORCH = {"pytorch", "lightning", "transformers"}


def _frameworks(signals: SignalSet) -> set[str] | Missing:
    seen = {
        str(event.data.get("name"))
        for event in signals.timeline.events
        if event.kind == "framework" and event.data.get("name")
    }
    return seen or Missing("no framework was recognised in the recording")


def _has(signals: SignalSet, names: set[str]) -> float | Missing:
    seen = _frameworks(signals)
    return seen if isinstance(seen, Missing) else float(bool(seen & names))


@signal("has_torch", "figure", "0 or 1", "run", "1 if PyTorch was seen in a process of the run.")
def has_torch(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _has(signals, _TORCH)


@signal("has_paddle", "figure", "0 or 1", "run", "1 if PaddlePaddle was seen in the run.")
def has_paddle(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _has(signals, {"paddle"})


@signal("has_tensorflow", "figure", "0 or 1", "run", "1 if TensorFlow was seen in the run.")
def has_tensorflow(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _has(signals, {"tensorflow"})


@signal("has_jax", "figure", "0 or 1", "run", "1 if JAX was seen in the run.")
def has_jax(signals: SignalSet, gpu: int | None) -> float | Missing:
    return _has(signals, {"jax"})


@signal(
    "recorded", "figure", "0 or 1", "run",
    "1 if gpudiag started a command and recorded it, 0 for a log that says nothing of a command.",
)  # fmt: skip
def recorded(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(bool(signals.timeline.start.get("command")))


@signal(
    "has_cpu_side", "figure", "0 or 1", "run",
    "1 if the CPU use of the training process was recorded, 0 if not.",
)  # fmt: skip
def has_cpu_side(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(signals.timeline.column("main_cpu_pct") is not None)


@signal(
    "exit_code", "figure", "", "run",
    "Exit code of the command; 128 plus the signal if a signal ended it.",
)  # fmt: skip
def exit_code(signals: SignalSet, gpu: int | None) -> float | Missing:
    end = signals.timeline.end
    if end is None:
        return Missing("how the run ended is not recorded")
    code, ended_by = end.get("exit_code"), end.get("signal")
    if isinstance(code, int) and not isinstance(code, bool):
        return float(code if code >= 0 else 128 - code)
    if isinstance(ended_by, int) and not isinstance(ended_by, bool):
        return float(128 + ended_by)
    return Missing("how the run ended is not recorded")


@signal(
    "killed", "figure", "0 or 1", "run",
    "1 if SIGKILL ended the command (exit code 137 or signal 9), which a program cannot send by "
    "failing.",
)  # fmt: skip
def killed(signals: SignalSet, gpu: int | None) -> float | Missing:
    return float(signals.need("exit_code") == 137)


def _env(signals: SignalSet) -> Mapping[str, object] | Missing:
    env = signals.timeline.start.get("env")
    if isinstance(env, Mapping):
        return env
    return Missing("the environment of the run was not recorded")


@signal(
    "gpus_hidden", "figure", "0 or 1", "run",
    "1 if CUDA_VISIBLE_DEVICES is set and names no GPU (empty or -1), so that the run sees none.",
)  # fmt: skip
def gpus_hidden(signals: SignalSet, gpu: int | None) -> float | Missing:
    env = _env(signals)
    if isinstance(env, Missing):
        return env
    return float(str(env.get("CUDA_VISIBLE_DEVICES", "0")).strip() in ("", "-1", "NoDevFiles"))


@signal(
    "paddle_naive_best_fit", "figure", "0 or 1", "run",
    "1 if FLAGS_allocator_strategy=naive_best_fit is set, which makes PaddlePaddle take 92 % of "
    "the free memory at once; its default, auto_growth, does not.",
)  # fmt: skip
def paddle_naive_best_fit(signals: SignalSet, gpu: int | None) -> float | Missing:
    env = _env(signals)
    if isinstance(env, Missing):
        return env
    return float(str(env.get("FLAGS_allocator_strategy", "")).strip() == "naive_best_fit")


@signal(
    "torch_expandable_segments", "figure", "0 or 1", "run",
    "1 if PYTORCH_ALLOC_CONF or PYTORCH_CUDA_ALLOC_CONF turns expandable_segments on.",
)  # fmt: skip
def torch_expandable_segments(signals: SignalSet, gpu: int | None) -> float | Missing:
    env = _env(signals)
    if isinstance(env, Missing):
        return env
    set_to = " ".join(
        str(env.get(name, "")) for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    )
    return float("expandable_segments:true" in set_to.replace(" ", "").lower())


_LAUNCHERS = (
    "torchrun",
    "torch.distributed",
    "accelerate",
    "deepspeed",
    "horovodrun",
    "mpirun",
    "mpiexec",
    "srun",
    "paddle.distributed",
    "fleetrun",
)
ONE_PROCESS_CPU = 150.0  # every further rank that waits for its GPU spins on a core of its own


def _launched(signals: SignalSet) -> bool:
    """Whether several ranks were seen or stated, or a launcher stands in the command."""
    command = signals.timeline.start.get("command") or []
    ranks = _seen_ranks(signals) or _stated_ranks(signals)
    return (ranks is not None and ranks > 1) or any(
        word in str(part) for part in command for word in _LAUNCHERS
    )


def _seen_ranks(signals: SignalSet) -> float | None:
    """The training processes that the recorder told apart; it does so from the second one on."""
    seen = {
        str(event.data.get("rank")) for event in signals.timeline.events if event.kind == "rank"
    }
    return float(len(seen)) if len(seen) > 1 else None


def _stated_ranks(signals: SignalSet) -> float | None:
    """The ranks on this machine that the environment of the recorded command states."""
    rank = signals.timeline.start.get("rank")
    for name in ("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE"):
        text = str(rank.get(name, "")) if isinstance(rank, Mapping) else ""
        if text.isascii() and text.isdigit() and 0 < int(text[:6]) <= 10_000:
            return float(text)
    return None


_SERVERS = (
    "vllm",
    "sglang",
    "tritonserver",
    "text-generation-launcher",
    "text-generation-server",
    "text-embeddings-router",
    "trtllm-serve",
    "lmdeploy",
    "ollama",
    "llama-server",
    "torchserve",
    "tensorflow_model_server",
    "bentoml",
    "uvicorn",
    "gunicorn",
    "hypercorn",
)
_SERVE = re.compile(rf"(?:{'|'.join(map(re.escape, _SERVERS))})(?:\.[a-z_.]+)?(?:\.exe)?", re.ASCII)


@signal(
    "serves_requests", "figure", "0 or 1", "run",
    "1 if the recorded command starts an inference or web server (vLLM, SGLang, Triton, "
    "text-generation-inference, uvicorn, gunicorn and the like, as program or module), which idles "
    "between requests and does not train.",
)  # fmt: skip
def serves_requests(signals: SignalSet, gpu: int | None) -> float | Missing:
    command = signals.timeline.start.get("command")
    if not command:
        return Missing("the log does not say what was run")
    names = [str(part).rsplit("/", 1)[-1] for part in command[:6] if not str(part).startswith("-")]
    return float(any(_SERVE.fullmatch(name) for name in names))


@signal(
    "single_process", "figure", "0 or 1", "run",
    "1 if one training process seems to drive all working GPUs: no launcher stands in the command, "
    "no other process of the run uses half a core, and the training process uses less than one "
    "and a half (a further rank would spin on a core of its own). 0 if a launcher started several.",
)  # fmt: skip
def single_process(signals: SignalSet, gpu: int | None) -> float | Missing:
    if len(signals.used.working) < 2:
        return Missing("fewer than two GPUs of the run worked")
    if _launched(signals):
        return 0.0
    if signals.need("main_cpu") < ONE_PROCESS_CPU and signals.need("others_cpu") < 50:
        return 1.0
    return Missing("how many training processes drive the GPUs cannot be told")


@signal(
    "ranks", "figure", "", "run",
    "Training processes of the run on this machine: those that the recorder saw; else "
    "LOCAL_WORLD_SIZE of the recorded command; else "
    "1 where one GPU works or single_process is 1, and one for each working GPU where a launcher "
    "stands in the command.",
)  # fmt: skip
def ranks(signals: SignalSet, gpu: int | None) -> float | Missing:
    stated = _seen_ranks(signals) or _stated_ranks(signals)
    if stated is not None:
        return stated
    if len(signals.used.working) <= 1:
        return 1.0
    return 1.0 if signals.need("single_process") >= 1 else float(len(signals.used.working))
