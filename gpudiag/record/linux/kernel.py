"""① The calls of prctl(2) that the recorder needs (Linux)."""

from __future__ import annotations

import signal
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36

_prctl: Callable[..., int] | None = None
try:
    import ctypes

    _prctl = ctypes.CDLL(None, use_errno=True).prctl
except (ImportError, OSError, AttributeError):
    pass  # a Python without ctypes records all the same


def adopt_orphans() -> bool:
    """Become the parent of the run's orphans, so that daemons stay in the tree."""
    return _prctl is not None and _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def leave_no_core() -> None:
    """Keep the kernel from dumping this process, also where a program collects the dumps."""
    if _prctl is not None:
        _prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def die_with_parent(number: signal.Signals) -> None:
    """Have the kernel send `number` to this process when the thread that forked it ends."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
