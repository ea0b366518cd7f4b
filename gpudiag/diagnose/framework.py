"""④ The framework of the run: it decides which remedies are shown first."""

from __future__ import annotations

from typing import get_args

from gpudiag.diagnose.model import Framework
from gpudiag.timeline.model import Timeline

_KNOWN: tuple[Framework, ...] = get_args(Framework)
_ON_TORCH: tuple[Framework, ...] = ("lightning", "transformers")


def framework_of(timeline: Timeline) -> Framework:
    """The framework that the run was written with, `any` if none was seen.

    PyTorch and PaddlePaddle count before TensorFlow and JAX, which libraries that do not train load
    too; else the first seen. Lightning and Transformers count where PyTorch is what they run on.
    """
    events = sorted(timeline.events, key=lambda event: event.t_s)
    names = [str(event.data.get("name")) for event in events if event.kind == "framework"]
    seen: list[Framework] = [known for name in names for known in _KNOWN if known == name]
    bases: list[Framework] = [name for name in seen if name in ("pytorch", "paddle")]
    bases += [name for name in seen if name in ("tensorflow", "jax")]
    on_torch = [name for name in _ON_TORCH if name in seen]
    if on_torch and bases[:1] in ([], ["pytorch"]):
        return on_torch[0]
    return bases[0] if bases else "any"
