"""① The clock of the simulated nvidia-smi: the real one, or one that a scenario scripts."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

STAMP = "%Y/%m/%d %H:%M:%S.%f"


class Clock:
    """The wall clock, or a scripted one that passes without waiting."""

    def __init__(self, start: str | None) -> None:
        self._scripted = datetime.strptime(start, STAMP) if start else None
        self._began = time.monotonic()
        self._passed = 0.0

    def elapsed(self) -> float:
        """Seconds since the tool was started."""
        return self._passed if self._scripted else time.monotonic() - self._began

    def sleep(self, seconds: float) -> None:
        """Wait; at once on a scripted clock."""
        if self._scripted:
            self._passed += seconds
        elif seconds > 0:
            time.sleep(seconds)

    def now(self, stepped_s: float) -> datetime:
        """Local wall time without a zone, `stepped_s` off."""
        base = self._scripted or datetime.now()
        return base + timedelta(seconds=(self._passed if self._scripted else 0.0) + stepped_s)
