"""① Which deep-learning frameworks the run uses, from what its processes have loaded.

A look at the mapped files costs milliseconds, so a process is looked at a few times while it
starts, and then never again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# a mapped file or a word of the command → name in the recording
_LOADED = {
    "pytorch": re.compile(r"/libtorch(?:_cpu|_cuda|_python)?\.so|/torch/lib/|torch_python\.dll"),
    "paddle": re.compile(r"/paddle/(?:base|fluid)/|/libpaddle\.so|/paddle/libs/"),
    "tensorflow": re.compile(r"/libtensorflow_framework\.so|_pywrap_tensorflow"),
    "jax": re.compile(r"/jaxlib/|/xla_extension\.so|libjax_common\.so"),
}
_COMMAND = {
    "pytorch": re.compile(r"(?:.*/)?torchrun|torch\.distributed\.(?:run|launch)"),
    "paddle": re.compile(r"paddle\.distributed(?:\.fleet)?\.launch|(?:.*/)?fleetrun"),
    "lightning": re.compile(r"(?:.*/)?lightning|(?:pytorch_)?lightning(?:\.\S+)?"),
    "transformers": re.compile(
        r"transformers(?:\.\S+)?|(?:.*/)?transformers-cli|.*/transformers/.*"
    ),
}
_LOADING_S = 0.05  # of CPU, which no framework comes without
_LOOKS_S = (1.0, 3.0, 8.0, 20.0, 60.0, 180.0)


class Looks:
    """When to look at a process again."""

    def __init__(self) -> None:
        self._taken: dict[tuple[int, float], int] = {}
        self._cpu_s: dict[tuple[int, float], float] = {}

    def due(self, key: tuple[int, float], age_s: float, cpu_s: float) -> bool:
        """Whether process `key` should be looked at now; counts as a look if so."""
        taken = self._taken.get(key, 0)
        if taken >= len(_LOOKS_S) or age_s < _LOOKS_S[taken]:
            return False
        if cpu_s < self._cpu_s.get(key, 0.0) + _LOADING_S:
            return False
        self._cpu_s[key] = cpu_s
        while taken < len(_LOOKS_S) and age_s >= _LOOKS_S[taken]:
            taken += 1
        self._taken[key] = taken
        return True

    def keep(self, keys: set[tuple[int, float]]) -> None:
        """Forget all other processes."""
        for gone in self._taken.keys() - keys:
            del self._taken[gone]
            del self._cpu_s[gone]


def loaded(maps: str) -> Iterator[str]:
    """The frameworks whose libraries stand in the text of mapped files."""
    return (name for name, pattern in _LOADED.items() if pattern.search(maps))


def named(command: Sequence[str]) -> Iterator[str]:
    """The frameworks that the command line itself names."""
    words = command[:4]  # the interpreter, its options, the program
    return (
        name for name, pattern in _COMMAND.items() if any(pattern.fullmatch(word) for word in words)
    )
