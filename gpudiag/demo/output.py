"""① How the simulated nvidia-smi writes: stdio's buffering, and a reader that is gone.

Whether the real tool buffers on a pipe is reported both ways, so all of it can be played: `line`,
`block` (4 KiB), `exit` (all at the end) and `tty` (what stdio does: lines on a terminal, else
blocks). A closed pipe does not end the tool, which is how orphaned loops come about.
"""

from __future__ import annotations

import os

from gpudiag.demo.faults import Buffering

BLOCK = 4096


class Output:
    """Text to stdout, or to the file of `-f`."""

    def __init__(self, buffering: Buffering, filename: str | None) -> None:
        self._fd = (
            os.open(filename, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666) if filename else 1
        )
        self._mode = buffering
        if buffering == "tty":
            self._mode = "line" if os.isatty(self._fd) else "block"
        self._held = b""

    def write(self, text: str) -> None:
        """Print `text`; it reaches the reader as the buffering has it."""
        self._held += text.encode()
        if self._mode == "line" and self._held:
            self.flush()
        elif self._mode == "block":
            whole = len(self._held) // BLOCK * BLOCK
            self._send(whole)

    def flush(self) -> None:
        """As fflush: at a clean end, on Ctrl-C, and where a test wants half a line out."""
        self._send(len(self._held))

    def _send(self, length: int) -> None:
        data, self._held = self._held[:length], self._held[length:]
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except OSError:  # nobody reads any more: carry on, as the tool does
                return
