"""① Run a command untouched, sample GPUs, host and processes on one clock, write run.csv.

Standard library and psutil only: the command must start within 100 ms. `recorder.record` is the
way in for a command; what each figure really measures stands in docs/recording.md.

`gpudiag.record` names this folder and, in a Python program, a function: the module is callable,
as `gpudiag.diagnose` is. Its own names stay what they were (`import gpudiag.record.recorder`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudiag.api.block import Block


class _Callable(ModuleType):
    def __call__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        interval: float | str = 1.0,
        gpus: str | int | Sequence[int | str] | None = None,
        quiet: bool = False,
    ) -> Block:
        """Record this process within a `with` block: see gpudiag.api.block.record."""
        # the one import against the flow: what is called stands on top of it, and nothing of it
        # is loaded until a program calls
        from gpudiag.api.block import record

        return record(path, interval=interval, gpus=gpus, quiet=quiet)


# documented under "customizing module attribute access" in Python's data model
sys.modules[__name__].__class__ = _Callable
