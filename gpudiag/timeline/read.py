"""② The one way in: a path to a Timeline, whatever its format. The format is told by content."""

from __future__ import annotations

import os
from typing import Protocol

from gpudiag.errors import UnreadableError, UsageError
from gpudiag.timeline import runcsv
from gpudiag.timeline.load import Log, load
from gpudiag.timeline.model import Timeline


class Reader(Protocol):
    """One format that can be read. Each is a module of this package, listed in `readers`."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """What a person calls the format: `nvidia-smi --query-gpu CSV`."""
        ...

    def recognise(self, head: str) -> float:
        """How surely the text that starts with `head` is of this format: 0 (not) to 1."""
        ...

    def read(self, log: Log, interval_s: float | None) -> Timeline:
        """The timeline in `log`. Raises UnreadableError if there is none.

        `interval_s` is the seconds between samples, for a log without timestamps.
        """
        ...


def readers() -> tuple[Reader, ...]:
    """Every reader. Its modules are loaded only for a file that is no run.csv: they cost 0.1 s."""
    from gpudiag.timeline import formats, smicsv

    return (runcsv, smicsv, *formats.READERS)


def read(path: str | os.PathLike[str], *, interval_s: float | None = None) -> Timeline:
    """The Timeline in the recording or log at `path`; `-` is standard input.

    `interval_s`: seconds between samples, used only for a log that has no timestamps.
    Raises UnreadableError (one line and a hint) if nothing can be read, and nothing else.
    """
    if interval_s is not None and not 0 < interval_s < float("inf"):
        raise UsageError(f"an interval of {interval_s} s is not possible", "give seconds above 0")
    log = load(os.fspath(path))
    head = log.head
    if runcsv.recognise(head) == 1:
        return runcsv.read(log, interval_s)
    from gpudiag.timeline import formats, other
    from gpudiag.timeline.host import read as host
    from gpudiag.timeline.localised import plain

    log = plain(log)
    head = log.head
    score, reader = max(((r.recognise(head), r) for r in readers()), key=lambda pair: pair[0])
    own = reader in formats.READERS
    if score < 1 and not own and (name := other.name_of(head)):
        raise UnreadableError(f"{log.path}: {name}; gpudiag cannot read it", _reads())
    if score < 0.3 and not own and (name := host.name_of(head)):
        raise UnreadableError(
            f"{log.path}: a {name} log holds no GPU readings", "give it beside a GPU log: --host"
        )
    if score <= 0:
        raise UnreadableError(f"{log.path}: not a log that gpudiag knows", _reads())
    return reader.read(log, interval_s)


def _reads() -> str:
    return "gpudiag reads " + ", ".join(r.NAME for r in readers()) + "; see docs/logs.md"
