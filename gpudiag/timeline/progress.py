"""② How far a reader has come, for whoever wants to show it; nobody by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[float], None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """Call `by` with the share of a log that is read, 0 to 1, now and then inside the block."""
    token = _watcher.set(by)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell(done: int, of: int) -> None:
    """Say that `done` of `of` bytes or lines are read."""
    by = _watcher.get()
    if by is not None and of:
        by(min(done / of, 1.0))
