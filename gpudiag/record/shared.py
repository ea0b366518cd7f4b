"""① The workers' memory without counting shared pages several times: rarely, and out of the way.

The kernel visits every page of a process for this figure, milliseconds a GiB, during which that
process cannot change its own memory map. So it is asked every 30 s at most, in a thread of its own
that no tick waits for, and less often where it takes long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

from gpudiag.record.reading import ProcessReader

_PERIOD_S = 30.0
_FIRST_S = 5.0
_LARGEST_SHARE = 0.002  # of the time


class SharedMemory:
    """`look` is called on every tick."""

    def __init__(
        self, reader: ProcessReader, now: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._next = now + _FIRST_S
        self._thread: threading.Thread | None = None
        self._found: int | None = None
        self._took_s = 0.0

    def look(self, pids: Collection[int], now: float) -> int | None:
        """The bytes of `pids`, once, on the first tick after they were read; None in between."""
        if self._thread is not None:
            if self._thread.is_alive():
                return None
            self._thread = None
            self._next = now + max(_PERIOD_S, self._took_s / _LARGEST_SHARE)
            found, self._found = self._found, None
            return found
        if pids and now >= self._next:
            self._thread = threading.Thread(
                target=self._read, args=(sorted(pids),), name="shared", daemon=True
            )
            try:
                self._thread.start()
            except RuntimeError:  # no more threads allowed
                self._thread = None
                self._next = now + _PERIOD_S
        return None

    def _read(self, pids: list[int]) -> None:
        """The sum, if it is known of every one; a part would look like memory that was freed."""
        begun = self._clock()
        total = 0
        complete = True
        for pid in pids:
            size = self._reader.pss_bytes(pid)
            complete = complete and size is not None
            total += size or 0
        self._took_s = self._clock() - begun
        self._found = total if complete else None
