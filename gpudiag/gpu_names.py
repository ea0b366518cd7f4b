"""What a GPU is called: by its number, or in a run on several machines `node05:3`.

The GPUs of such a run are numbered through. Texts are made from numbers deep in rules and plots; a
name is put in where a number becomes text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from gpudiag.language import tr

_names: ContextVar[Mapping[int, str] | None] = ContextVar("gpu_names", default=None)


@contextmanager
def named(names: Mapping[int, str] | None) -> Iterator[None]:
    """Within the block GPUs have these names; those without one, and with None, their number."""
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)


def names_of(start: Mapping[str, Any]) -> Mapping[int, str] | None:
    """The names that the facts of a merged recording give its GPUs; None of a single machine's."""
    nodes = start.get("nodes")
    if not isinstance(nodes, list | tuple):
        return None
    return {
        number: f"{node['name']}:{local}"
        for node in nodes
        for local, number in zip(node["local"], node["gpus"], strict=True)
    }


def gpu_name(gpu: int) -> str:
    """The name of one GPU."""
    names = _names.get()
    return str(gpu) if names is None else names.get(gpu, str(gpu))


def node_name(place: int) -> str:
    """The name of a machine by its place in the list."""
    names = _names.get() or {}
    nodes = list(dict.fromkeys(name.rpartition(":")[0] for name in names.values()))
    return nodes[place] if 0 <= place < len(nodes) else str(place)


def gpus_in_words(gpus: Sequence[int]) -> str:
    """`GPU 3`, `GPUs 0, 1 and 4`, `GPUs 0 to 7`; `the GPUs of node05` where that is all of it."""
    whole = _whole_nodes(gpus)
    if whole:
        return tr("the GPUs of {nodes}", nodes=listed(whole))
    names = [gpu_name(gpu) for gpu in gpus]
    if len(names) == 1:
        return tr("GPU {gpu}", gpu=names[0])
    if _names.get() is None and list(gpus) == list(range(gpus[0], gpus[-1] + 1)) and len(gpus) > 2:
        return tr("GPUs {first} to {last}", first=names[0], last=names[-1])
    return tr("GPUs {gpus}", gpus=listed(names))


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = names or ("",)
    return tr("{others} and {last}", others=tr(", ").join(first), last=last) if first else last


def _whole_nodes(gpus: Sequence[int]) -> list[str]:
    """The nodes whose every GPU is among `gpus`, if these are all of `gpus`; else none."""
    names = _names.get()
    if names is None or len(gpus) < 2:
        return []
    node_of = {gpu: name.rpartition(":")[0] for gpu, name in names.items()}
    nodes = list(dict.fromkeys(node_of.get(gpu, "") for gpu in gpus))
    every = [gpu for gpu, node in node_of.items() if node in nodes]
    return nodes if sorted(every) == sorted(gpus) and "" not in nodes else []
