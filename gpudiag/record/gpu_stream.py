"""① nvidia-smi as a long-lived stream, kept going whatever the driver does.

A state machine without a clock or a process of its own: it is told the time and what a helper
printed, and it starts helpers through `spawn`. A hung nvidia-smi costs readings, never the run:
nothing here waits.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Any

from gpudiag.record import gpu_query
from gpudiag.record.gpu_query import GpuRow
from gpudiag.record.gpu_tool import NO_LIBRARY, Tool
from gpudiag.record.launch import Helper

# `spawn(argv, generation)`: output is handed to `feed` with this generation. Raises OSError.
Spawn = Callable[[Sequence[str], int], Helper]
Tell = Callable[[str, str, dict[str, Any]], None]

FIRST_ROW_S = 45.0  # without persistence mode the driver itself may take over 25 s to wake a GPU
ONE_PASS_S = 10.0
KILL_AFTER_S = 2.0  # a GPU was seen to hang after its client was killed outright: ask first
LONGEST_PAUSE_S = 60.0
_REAP_S = 0.05  # between the end of the output and the exit code
_LONGEST_LINE = 65536
_MOST_TEXTS = 50  # lines between rows that are kept as events
_TRIES = 3


class GpuStream:
    """`status` and `text` say how it goes, as `gpu_source` in the recording does."""

    def __init__(
        self, tool: Tool, interval_s: float, spawn: Spawn, tell: Tell, only: Sequence[str] = ()
    ) -> None:
        self.status = "failed"
        self.text = f"{tool.name} has not answered yet"
        self.version = 0  # grows when status or text change
        self.generation = 0
        self.single = False
        self.running = False
        self._tool = tool
        self._only = only
        self._interval = interval_s
        self._spawn = spawn
        self._tell = tell
        self._fields = gpu_query.FIELDS
        self._helper: Helper | None = None
        self._dying: list[tuple[float, Helper]] = []
        self._started = 0.0
        self._rows = 0
        self._last_row = 0.0
        self._failures = 0
        self._start_at: float | None = None
        self._ended_at: float | None = None
        self._lines: list[str] = []
        self._texts_told = 0
        self._silences = 0

    def start(self, now: float) -> None:
        """Begin; also used after a pause."""
        self._start_at = None
        self._ended_at = None
        self.generation += 1
        self._rest = ""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._lines = []
        self._rows = 0
        self._started = now
        loop_s = None if self.single else self._interval
        argv = gpu_query.arguments(self._tool.argv, self._fields, loop_s, self._only)
        try:
            self._helper = self._spawn(argv, self.generation)
        except OSError as error:
            self._helper = None
            self._fail(now, f"{self._tool.name} cannot be started: {error.strerror}")

    def feed(self, now: float, data: bytes, generation: int) -> list[GpuRow]:
        """What the helper of `generation` printed; empty when it has ended. The rows in it."""
        if generation != self.generation or self._helper is None:
            return []
        if not data:
            self._ended_at = now
            data = b"\n"  # a last line without its line feed
        text = self._rest + self._decode(data).replace("\r", "")
        *lines, self._rest = text[-_LONGEST_LINE:].split("\n")
        rows = []
        for line in lines:
            row = gpu_query.parse_row(line, self._fields, now)
            if row is not None:
                rows.append(row)
            elif line.strip():
                self._take_text(line.strip())
        if rows:
            self._take_rows(now, len(rows))
        return rows

    def check(self, now: float) -> None:
        """Act on every deadline that has passed."""
        for when, helper in list(self._dying):
            if helper.exit_code() is not None:
                self._dying.remove((when, helper))
            elif now >= when:
                helper.kill()
                self._dying.remove((when, helper))
        if self._start_at is not None:
            if now >= self._start_at:
                self.start(now)
        elif self._ended_at is not None:
            code = self._helper.exit_code() if self._helper else None
            if code is not None or now >= self._ended_at + _REAP_S:
                self._ended(now, code)
        elif self._helper is not None and now >= self._silence_at():
            self._silent(now)

    def deadline(self) -> float:
        """When `check` must be called at the latest."""
        times = [when for when, _ in self._dying]
        if self._start_at is not None:
            times.append(self._start_at)
        elif self._ended_at is not None:
            times.append(self._ended_at + _REAP_S)
        elif self._helper is not None:
            times.append(self._silence_at())
        return min(times, default=float("inf"))

    def stop(self) -> Helper | None:
        """Ask the helper to end; the helper, for whoever wants to see whether it did."""
        helper, self._helper, self._start_at = self._helper, None, None
        if helper is not None:
            helper.terminate()
        for _, dying in self._dying:
            dying.kill()
        return helper

    def _silence_at(self) -> float:
        if self.single:
            return self._started + (ONE_PASS_S if self._silences or self.running else FIRST_ROW_S)
        if not self._rows:
            return self._started + FIRST_ROW_S
        return self._last_row + max(3 * self._interval, self._interval + 5.0)

    def _take_rows(self, now: float, count: int) -> None:
        first = self._rows == 0
        self._rows += count
        self._last_row = now
        if first and not self.running:
            for line in self._lines:
                self._tell_text(line)
            way = "one call a sample" if self.single else "one stream"
            self._tell("gpu-stream-started", f"{self._tool.name} answers ({way})", {})
        self.running = True
        self._say("ok", "one call a sample" if self.single else "")

    def _take_text(self, line: str) -> None:
        if self._rows:
            self._tell_text(line)
        else:
            self._lines = [*self._lines[-9:], line]

    def _tell_text(self, line: str) -> None:
        self._texts_told += 1
        if self._texts_told <= _MOST_TEXTS:
            self._tell("gpu-text", line[:300], {})

    def _silent(self, now: float) -> None:
        """No row within the deadline: end this helper and try again."""
        assert self._helper is not None
        waited = now - (self._last_row if self._rows else self._started)
        text = f"{self._tool.name} printed nothing for {waited:.0f} s"
        self._tell("gpu-stream-silent", text, {"waited_s": round(waited, 1)})
        self._helper.terminate()
        self._dying.append((now + KILL_AFTER_S, self._helper))
        self._helper = None
        self._silences += 1
        if self._silences >= _TRIES - 1:
            self.single = True  # a stream that is held back helps nobody; a call that ends does
        self._fail(now, text)

    def _ended(self, now: float, code: int | None) -> None:
        refused = next(filter(None, map(gpu_query.unknown_field, self._lines)), None)
        self._helper = None
        self._ended_at = None
        if refused in self._fields and refused != gpu_query.INDEX:
            self._fields = gpu_query.without(self._fields, str(refused))
            self._tell("note", f"this driver does not know {refused}", {"field": refused})
            self.start(now)
            return
        if self._rows and self.single:
            self._failures = 0
            self._start_at = max(self._started + self._interval, now)
            return
        name = self._tool.name
        how = "" if code is None else f" (exit code {code})"
        if self._rows:
            self._tell("gpu-stream-ended", f"{name} ended{how}", {"exit_code": code})
            if now - self._started > LONGEST_PAUSE_S:
                self._failures = 0
            self._fail(now, f"{name} ended{how}")
            return
        said = f": {self._lines[0][:200]}" if self._lines else " without a word"
        if code == 0 and self._lines:
            self._fail(now, f"{self._tool.argv[0]} does not answer a query{said}", _TRIES)
        elif code == NO_LIBRARY and name == "nvml":  # no driver, and none will come meanwhile
            self._fail(now, f"nvml gave no readings{said}", _TRIES)
        else:
            self._fail(now, f"{name} gave no readings{how}{said}")

    def _fail(self, now: float, text: str, most: int | None = None) -> None:
        self.running = False
        self._failures += 1
        self._say("failed", text)
        if most is None or self._failures < most:
            self._start_at = now + min(2.0 ** (self._failures - 1), LONGEST_PAUSE_S)

    def _say(self, status: str, text: str) -> None:
        if (status, text) != (self.status, self.text):
            self.status, self.text = status, text
            self.version += 1
