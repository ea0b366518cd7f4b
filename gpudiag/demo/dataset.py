"""① The demo's dataset: samples that are read from files and cost CPU to decode.

The work is real (zlib and SHA-256 over real bytes) and in proportion to the cost asked for: a
short calibration counts how many passes over a sample fill that much CPU time on this machine, so
that a scenario shows the same shape on a fast and on a slow one.
"""

from __future__ import annotations

import hashlib
import random
import time
import zlib
from pathlib import Path

FILES = 16
PIECES = 4608  # of 24 random bytes each: about 110 KB packed, as a photograph of ImageNet


class FileDataset:
    """`cpu_ms` is what decoding a sample costs, `latency_ms` what each read waits for storage."""

    def __init__(self, folder: Path, cpu_ms: float, latency_ms: float = 0.0) -> None:
        self._paths = [folder / f"sample{number}.bin" for number in range(FILES)]
        for number, path in enumerate(self._paths):
            path.write_bytes(zlib.compress(_texture(number)))
        self._latency_s = latency_ms / 1000
        self._passes = max(1, round(cpu_ms / 1000 / self._pass_s()))

    def __getitem__(self, index: int) -> bytes:
        """Read and decode sample `index`."""
        packed = self._paths[index % FILES].read_bytes()
        if self._latency_s:
            time.sleep(self._latency_s)
        return _decode(packed, self._passes)

    def _pass_s(self) -> float:
        """CPU seconds of one pass: the median of several short measurements."""
        packed = self._paths[0].read_bytes()
        taken = []
        for _ in range(9):
            start = time.process_time()
            _decode(packed, 5)
            taken.append((time.process_time() - start) / 5)
        return max(sorted(taken)[4], 1e-6)


def _texture(seed: int) -> bytes:
    """Bytes that compress somewhat, as pictures do."""
    chance = random.Random(seed)
    return b"".join(chance.randbytes(24) + bytes(8) for _ in range(PIECES))


def _decode(packed: bytes, passes: int) -> bytes:
    digest = hashlib.sha256()
    for _ in range(passes):
        digest.update(zlib.decompress(packed))
    return digest.digest()
