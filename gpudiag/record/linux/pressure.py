"""① How much of the time programs of this machine waited for CPU, disk or memory (Linux).

The kernel's pressure stall information since 4.20: /proc/pressure; some systems leave it out.
"""

from __future__ import annotations

import os

_KINDS = {
    "cpu": "host_cpu_pressure_pct",
    "io": "host_io_pressure_pct",
    "memory": "host_mem_pressure_pct",
}


class Pressure:
    """Shares are over the time since the last sample; the constructor takes the first one."""

    def __init__(self, root: str = "/proc/pressure") -> None:
        self._root = root
        self._before = {kind: self._waited_us(kind) for kind in _KINDS}

    def sample(self, elapsed_s: float) -> dict[str, float | None]:
        """The three columns; those that the kernel does not tell are absent."""
        values: dict[str, float | None] = {}
        for kind, before in self._before.items():
            if before is None:
                continue
            now = self._before[kind] = self._waited_us(kind)
            if now is not None and now >= before and elapsed_s > 0:
                values[_KINDS[kind]] = min(100.0, (now - before) / elapsed_s / 1e4)
        return values

    def _waited_us(self, kind: str) -> int | None:
        try:
            file = os.open(f"{self._root}/{kind}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            text = os.read(file, 1024)
        except OSError:  # built in, but switched off
            return None
        finally:
            os.close(file)
        # some avg10=0.12 avg60=0.05 avg300=0.01 total=123456
        first = text.split(b"\n", 1)[0]
        total = first.rpartition(b"total=")[2]
        return int(total) if first.startswith(b"some ") and total.isdigit() else None
