"""② Read a log of the CPU side, whatever its format, which is told by content."""

from __future__ import annotations

import os
from typing import Protocol

from gpudiag.errors import UnreadableError
from gpudiag.timeline.formats import wide
from gpudiag.timeline.host import duct, psrecord, runcsv_host, sar
from gpudiag.timeline.host.model import HostLog
from gpudiag.timeline.load import Log, load


class HostReader(Protocol):
    """One format of the CPU side. Each is a module listed in `READERS`."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """What a person calls the format."""
        ...

    def recognise(self, head: str) -> float:
        """How surely the text that starts with `head` is of this format: 0 (not) to 1."""
        ...

    def read(self, log: Log) -> HostLog:
        """The samples in `log`. Raises UnreadableError if there is none."""
        ...


READERS: tuple[HostReader, ...] = (sar, psrecord, duct, runcsv_host, wide.HOST)


def name_of(head: str) -> str:
    """What a log of the CPU side is called; empty if the text is none."""
    score, reader = max(((r.recognise(head), r) for r in READERS), key=lambda pair: pair[0])
    return reader.NAME if score > 0 else ""


def read_host(path: str | os.PathLike[str]) -> HostLog:
    """The samples of the CPU side in the log at `path`.

    Raises UnreadableError (one line and a hint) if there is none.
    """
    log = load(os.fspath(path))
    head = log.head
    score, reader = max(((r.recognise(head), r) for r in READERS), key=lambda pair: pair[0])
    if score <= 0:
        listed = ", ".join(r.NAME for r in READERS)
        raise UnreadableError(
            f"{log.path}: not a log of the CPU side that gpudiag knows", f"it reads {listed}"
        )
    return reader.read(log)
