"""① The file behind a queue, so that a stalled disk holds up nothing but the rows."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpudiag.timeline.writer import RunFile

_QUEUE = 4096  # over an hour at the default interval


class Writer:
    """A RunFile behind a queue. Every method returns at once; a full queue loses the row."""

    def __init__(self, file: RunFile) -> None:
        self._file = file
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(_QUEUE)
        self._overflow = 0
        self._done = 0
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    @property
    def path(self) -> Path:
        """Where the recording is written."""
        return self._file.path

    @property
    def lost_rows(self) -> int:
        """Rows that did not reach the file so far."""
        return self._file.lost_rows + self._overflow

    @property
    def trouble(self) -> str:
        """The first reason why something could not be written; empty if there is none."""
        if self._overflow and not self._file.trouble:
            return f"{self._file.path}: the disk did not keep up"
        return self._file.trouble

    def row(self, values: Mapping[str, float | int | None]) -> None:
        """See RunFile.row; `values` must not change afterwards."""
        if not self._put(lambda: self._file.row(values)):
            self._overflow += 1

    def event(
        self, t_s: float, kind: str, text: str, data: Mapping[str, Any] | None = None
    ) -> None:
        """See RunFile.event."""
        self._put(lambda: self._file.event(t_s, kind, text, data or {}))

    def restart(self, facts: Mapping[str, Any]) -> None:
        """See RunFile.restart."""
        self._put(lambda: self._file.restart(facts))

    def widen(self, columns: Sequence[str]) -> None:
        """See RunFile.widen."""
        self._put(lambda: self._file.widen(columns))

    def close(self, end: Mapping[str, Any], patience_s: float) -> bool:
        """Write what is queued and the end line; False if nothing happens for `patience_s`."""
        self._put(lambda: self._file.close(end))
        self._put(None)
        while self._thread.is_alive():
            before = self._done
            self._thread.join(patience_s)
            if self._done == before:
                break
        return not self._thread.is_alive()

    def _put(self, job: Callable[[], None] | None) -> bool:
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            return False
        return True

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            self._done += 1
