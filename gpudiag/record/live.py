"""① `--live`: one line on the terminal that tells how the run is doing, renewed with every row.

It stands right of the cursor, and the cursor is put back: what the command prints overwrites the
line, and nothing that the command has printed is ever erased.
"""

from __future__ import annotations

import contextlib
import locale
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gpudiag.language import speaking, tr
from gpudiag.units import format_duration

Row = Mapping[str, float | int | None]
# save the cursor, cut off at the margin instead of going on in the next line … and undo both
_BEFORE, _AFTER = b"\x1b7\x1b[?7l", b"\x1b[K\x1b[?7h\x1b8"
_ERASE = b"\x1b[K"  # from the cursor on
_NARROWEST = 20


class StatusLine:
    """A terminal by its name. Never raises after it was made, and never waits for the terminal."""

    def __init__(self, terminal: str, language: str = "en") -> None:
        """Raises OSError."""
        self._language = language
        self._encoding = "ascii" if language == "en" else locale.getpreferredencoding(False)
        # a description of its own: not to wait must hold for the recorder, not for the command
        flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
        self._file = os.open(terminal, flags)

    def show(self, row: Row, gpus: Sequence[Mapping[str, Any]]) -> None:
        """Renew the line; `gpus` are the facts of the start line."""
        with contextlib.suppress(OSError):
            if self._in_background():
                return
            width = os.get_terminal_size(self._file).columns
            with speaking(self._language):
                told = parts(row, gpus)
            text = joined(told, width if width >= _NARROWEST else 80)
            os.write(self._file, _BEFORE + text.encode(self._encoding, "replace") + _AFTER)

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


def status_line(language: str = "en") -> StatusLine | None:
    """The line on the terminal of stderr, or None if that is none."""
    if sys.platform == "win32":
        return None
    try:
        return StatusLine(os.ttyname(2), language) if os.isatty(2) else None
    except OSError:
        return None


def joined(told: Sequence[str], width: int) -> str:
    """As many of the parts as fit on a line, most important first, and one column to spare."""
    text = ""
    for part in told:
        longer = f"{text} | {part}" if text else part
        if _columns(longer) >= width:
            break
        text = longer
    if text:
        return text
    text = " | ".join(told)
    while text and _columns(text) >= max(width, 1):
        text = text[:-1]
    return text


def _columns(text: str) -> int:
    """Columns of a terminal that the text takes: a Chinese character takes two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


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
        span = f"{mean:.0f} % ({low:.0f}-{high:.0f})"
        told.append(tr("{count} GPUs {share}", count=len(util), share=span))
    elif gpus and not memory:
        told.append(tr("GPU: no reading"))
    if memory:
        told.append(_memory(memory, gpus))
    if (main := row.get("main_cpu_pct")) is not None:
        told.append(tr("main {share} % CPU", share=f"{main:.0f}"))
    if workers := row.get("workers"):
        if (cpu := row.get("workers_cpu_pct")) is None:
            told.append(tr("{count} workers", count=workers))
        else:
            told.append(tr("{count} workers {share} % CPU", count=workers, share=f"{cpu:.0f}"))
    if (host := row.get("host_cpu_pct")) is not None:
        told.append(tr("host {share} % CPU", share=f"{host:.0f}"))
    return told


def _memory(used: Mapping[int, float], gpus: Sequence[Mapping[str, Any]]) -> str:
    known = ((int(gpu["index"]), gpu.get("mem_total_mib")) for gpu in gpus)
    totals = {gpu: float(total) for gpu, total in known if total}
    shares = {gpu: used[gpu] / totals[gpu] for gpu in used if gpu in totals}
    fullest = max(shares, key=shares.__getitem__) if shares else max(used, key=used.__getitem__)
    size = f"{used[fullest] / 1024:.1f}"
    if fullest in shares:
        size += f"/{totals[fullest] / 1024:.0f}"
    if len(used) > 1:
        return tr("memory {size} GiB (GPU {gpu})", size=size, gpu=fullest)
    return tr("memory {size} GiB", size=size)


def _of_gpus(row: Row, quantity: str) -> dict[int, float]:
    found = {}
    for name, value in row.items():
        device, _, rest = name.partition("_")
        if rest == quantity and value is not None and device[3:].isdigit() and device[:3] == "gpu":
            found[int(device[3:])] = value
    return found
