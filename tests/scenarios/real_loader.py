"""Scenarios with PyTorch's own DataLoader. They need `pip install torch`, and run when asked for.

A step's kernels are emulated; everything that a training does on the CPU is real.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

from tests.scenarios.model import Scenario

_torch = partial(Scenario, program="torch_trainer.py")

TORCH = (
    _torch("torch-no-workers", ("GD101",), ("no-workers",),
           spec={"rounds": 5, "step_ms": 60}, twin={"workers": 2}),
    _torch("torch-much-augmentation-without-workers", ("GD102",),
           undecided=("loads-data-itself", "launches-too-slowly"),
           spec={"rounds": 24, "batch": 4, "step_ms": 60}, twin={"workers": 2}),
    _torch("torch-one-worker", ("GD101",), ("too-few-workers", "few-workers-beside-others"),
           spec={"rounds": 5, "step_ms": 40, "workers": 1}, twin={"workers": 2}),
    _torch("torch-more-workers-than-cores", ("GD101",), ("all-cores-saturated",),
           spec={"rounds": 10, "step_ms": 25, "workers": 4}),
    _torch("torch-workers-anew-each-epoch", ("GD109", "GD104"),
           spec={"rounds": 1, "workers": 2, "epoch": 1600, "seconds": 165, "step_ms": 150,
                 "start_method": "spawn"}, twin={"persistent": True}),
    _torch("torch-python-in-the-loop", ("GD102",), ("launches-too-slowly",),
           spec={"rounds": 0, "workers": 2, "python_ms": 60, "step_ms": 30},
           twin={"python_ms": 1}),
    _torch("torch-healthy", spec={"rounds": 2, "workers": 2, "step_ms": 90}),
    _torch("torch-healthy-without-workers", spec={"rounds": 0, "batch": 4, "step_ms": 90}),
)  # fmt: skip


def installed() -> bool:
    """Whether PyTorch is there."""
    return find_spec("torch") is not None
