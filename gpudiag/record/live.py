"""① `--live`: one line on the terminal that tells how the run is doing, renewed with every row.

It stands right of the cursor, and the cursor is put back: what the command prints overwrites the
line, and nothing that the command has printed is ever erased.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gpudiag.units import format_duration

Row = Mapping[str, float | int | None]
# save the cursor, cut off at the margin instead of going on in the next line … and undo both
_BEFORE, _AFTER = b"\x1b7\x1b[?7l", b"\x1b[K\x1b[?7h\x1b8"
_ERASE = b"\x1b[K"  # from the cursor on
_NARROWEST = 20


class StatusLine:
    """A terminal by its name. Never raises after it was made, and never waits for the terminal."""

    def __init__(self, terminal: str) -> None:
        """Raises OSError."""
        # a description of its own: not to wait must hold for the recorder, not for the command
        flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
        self._file = os.open(terminal, flags)

    def show(self, row: Row, gpus: Sequence[Mapping[str, Any]]) -> None:
        """Renew the line; `gpus` are the facts of the start line."""
        with contextlib.suppress(OSError):
            if self._in_background():
                return
            width = os.get_terminal_size(self._file).columns
            text = joined(parts(row, gpus), width if width >= _NARROWEST else 80)
            os.write(self._file, _BEFORE + text.encode("ascii", "replace") + _AFTER)

    def close(self) -> None:
        """Leave nothing behind."""
        with contextlib.suppress(OSError):
            if not self._in_background():
                os.write(self._file, _ERASE)
        os.close(self._file)

    def _in_background(self) -> bool:
        try:
            return os.tcgetpgrp(self._file) != os.getpgrp()
        except OSError:  # not the terminal of this session
            return False


def status_line() -> StatusLine | None:
    """The line on the terminal of stderr, or None if that is none."""
    if sys.platform == "win32":
        return None
    try:
        return StatusLine(os.ttyname(2)) if os.isatty(2) else None
    except OSError:
        return None


def joined(told: Sequence[str], width: int) -> str:
    """As many of the parts as fit on a line, most important first, and one column to spare."""
    text = ""
    for part in told:
        longer = f"{text} | {part}" if text else part
        if len(longer) >= width:
            break
        text = longer
    return text or " | ".join(told)[: max(width - 1, 0)]


def parts(row: Row, gpus: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the line says of a row; a figure that was not measured is left out."""
    told = [f"[gpudiag {format_duration(row['t_s'] or 0)}]"]
    util = _of_gpus(row, "util_pct")
    memory = _of_gpus(row, "mem_used_mib")
    if len(util) == 1:
        told.append(f"GPU {next(iter(util.values())):.0f} %")
    elif util:
        mean = sum(util.values()) / len(util)
        low, high = min(util.values()), max(util.values())
        told.append(f"{len(util)} GPUs {mean:.0f} % ({low:.0f}-{high:.0f})")
    elif gpus and not memory:
        told.append("GPU: no reading")
    if memory:
        told.append(_memory(memory, gpus))
    if (main := row.get("main_cpu_pct")) is not None:
        told.append(f"main {main:.0f} % CPU")
    if workers := row.get("workers"):
        cpu = row.get("workers_cpu_pct")
        told.append(f"{workers} workers" + ("" if cpu is None else f" {cpu:.0f} % CPU"))
    if (host := row.get("host_cpu_pct")) is not None:
        told.append(f"host {host:.0f} % CPU")
    return told


def _memory(used: Mapping[int, float], gpus: Sequence[Mapping[str, Any]]) -> str:
    known = ((int(gpu["index"]), gpu.get("mem_total_mib")) for gpu in gpus)
    totals = {gpu: float(total) for gpu, total in known if total}
    shares = {gpu: used[gpu] / totals[gpu] for gpu in used if gpu in totals}
    fullest = max(shares, key=shares.__getitem__) if shares else max(used, key=used.__getitem__)
    size = f"{used[fullest] / 1024:.1f}"
    if fullest in shares:
        size += f"/{totals[fullest] / 1024:.0f}"
    return f"memory {size} GiB" + (f" (GPU {fullest})" if len(used) > 1 else "")


def _of_gpus(row: Row, quantity: str) -> dict[int, float]:
    found = {}
    for name, value in row.items():
        device, _, rest = name.partition("_")
        if rest == quantity and value is not None and device[3:].isdigit() and device[:3] == "gpu":
            found[int(device[3:])] = value
    return found
