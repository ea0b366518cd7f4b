"""① The sampling loop: one row a tick, paced by the GPU stream.

It runs in a thread of its own and waits on one inbox: what helpers printed, and the word that the
command has ended.
"""

from __future__ import annotations

import queue
import time
from array import array
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from gpudiag.record.cgroup import Cgroup
from gpudiag.record.figures import Figures, max_rss_mib
from gpudiag.record.gpu_use import GpuUse
from gpudiag.record.gpus import Gpus, Readings
from gpudiag.record.host import HostSampler
from gpudiag.record.launch import Exit, Helper, Launcher
from gpudiag.record.live import status_line
from gpudiag.record.processes import Processes
from gpudiag.record.wall_clock import WallClock
from gpudiag.record.writing import Writer

if TYPE_CHECKING:
    from gpudiag.record.recorder import Options

Row = dict[str, float | int | None]

_SHORTEST_SHARE = 0.3  # of an interval: over less, rates would be noise
_WRITE_S = 0.4
_HELPERS_S = 0.3


class Sampler:
    """Made and run in one thread; `stop` and `figures` may be called from another."""

    def __init__(
        self,
        launcher: Launcher,
        writer: Writer,
        options: Options,
        started: float,
        cores: Collection[int],
        cgroup: Cgroup | None,
    ) -> None:
        self.writer = writer
        self._launcher = launcher
        self._interval = options.interval_s
        self._started = started
        self._until = float("inf") if options.duration_s is None else started + options.duration_s
        self._cgroup = cgroup
        self._inbox: queue.SimpleQueue[tuple[str, int, float, bytes] | Exit] = queue.SimpleQueue()
        self._host = HostSampler(cores)
        self._processes = Processes(launcher, self._tell, started) if launcher.pid else None
        self._last = time.monotonic()
        self._wall = WallClock(time.time(), self._last)
        self._told_changes = -1
        self._broken: set[str] = set()
        self._last_t = 0.0
        self._samples = 0
        self._ended: Exit | None = None
        self._duration = 0.0
        self._skews = array("d")
        self._intervals = array("d")
        self._sums: dict[str, tuple[float, int]] = {}
        self.before_close: list[Callable[[], None]] = []
        self._live = status_line(options.language) if options.live else None
        self._gpus = Gpus(
            self._interval, time.monotonic(), self._spawn, self._tell, options.gpus, options.nvml
        )
        self._use = GpuUse(
            self._gpus,
            self._processes,
            lambda argv, number: self._spawn(argv, "apps", number),
            self._tell,
            rises=launcher.attached_to is None,
        )

    def stop(self, how: Exit) -> None:
        """The command has ended: finish the recording."""
        self._inbox.put(how)

    def mark(self, kind: str, text: str, data: dict[str, Any], when: float) -> None:
        """An event of another thread, at monotonic time `when`."""
        self.writer.event(when - self._started, kind, text, data)

    def run(self) -> None:
        """Sample until `stop`, or for the duration that was asked for."""
        while self._ended is None:
            now = time.monotonic()
            if now >= self._until:
                self._take(Exit(None, None, "duration"))
                break
            self._gpus.check(now)
            self._use.check(now)
            self._tell_changes()
            self._tick_if_due(time.monotonic())
            now = time.monotonic()
            wake = min(self._gpus.deadline(now), self._use.deadline(), self._until)
            try:
                self._take(self._inbox.get(timeout=max(wake - now, 0.0)))
                while self._ended is None and self._gpus.pacemaker.incomplete:
                    self._take(self._inbox.get(timeout=max(wake - time.monotonic(), 0.0)))
                while True:  # all that came in one lump is seen before a row is written
                    self._take(self._inbox.get_nowait())
            except queue.Empty:
                continue
        self._finish()

    def figures(self) -> Figures:
        """How the recording went, for the end line and the summary."""
        return Figures(
            path=self.writer.path,
            exit=self._ended,
            duration_s=self._duration or time.monotonic() - self._started,
            samples=self._samples,
            util_mean_pct={
                name: total / count for name, (total, count) in sorted(self._sums.items()) if count
            },
            gpu_source=self._gpus.source,
            gpu_rows_lost=self._gpus.rows_lost,
            rows_lost=self.writer.lost_rows,
            trouble=self.writer.trouble,
            cpu_s=time.process_time(),
            max_rss_mib=max_rss_mib(),
            skews_s=self._skews,
            intervals_s=self._intervals,
        )

    def _take(self, message: tuple[str, int, float, bytes] | Exit) -> None:
        if isinstance(message, Exit):
            self._ended = message
            self._duration = time.monotonic() - self._started
            return
        purpose, number, arrived, data = message
        if purpose == "apps":
            self._use.receive(number, arrived, data)
        else:
            self._gpus.receive(purpose, number, arrived, data)

    def _tick_if_due(self, now: float) -> None:
        readings = self._gpus.take(now)
        if readings is not None or self._gpus.pacemaker.timer_due(now):
            self._tick(readings)

    def _tick(self, readings: Readings | None, with_processes: bool = True) -> None:
        now = time.monotonic()
        elapsed = now - self._last
        row: Row = {}
        if elapsed >= _SHORTEST_SHARE * self._interval:
            self._last = now
            if elapsed > max(2.5 * self._interval, self._interval + 1.0):
                self._tell("gap", f"nothing was sampled for {elapsed:.1f} s", {"seconds": elapsed})
            step = self._wall.step(time.time(), now)
            if step is not None:
                text = f"the clock on the wall moved by {step:+.1f} s (set, or the machine slept)"
                self._tell("clock-step", text, {"seconds": round(step, 1)})
            row |= self._guarded("host", lambda: {**self._host.sample(elapsed)})
            if with_processes and self._processes is not None:
                processes = self._processes
                row |= self._guarded("processes", lambda: processes.sample(now))
            if self._cgroup is not None:
                cgroup = self._cgroup
                row |= self._guarded("control group", lambda: {**cgroup.sample(elapsed)})
            self._intervals.append(elapsed)
        end = time.monotonic()
        if readings is not None:
            row |= readings.cells
            row |= self._use.row(row)
            row["gpu_batch_s"] = readings.last - readings.first
            if self._last == now:
                row["skew_s"] = end - readings.last
                self._skews.append(end - readings.last)
            self._add_up(readings)
        elif not row:
            return
        # the file has milliseconds, and its reader wants every time once
        self._last_t = max(round(end - self._started, 3), round(self._last_t + 0.001, 3))
        row = {"t_s": self._last_t, **row}
        self.writer.row(row)
        if self._live is not None:
            self._live.show(row, self._gpus.facts)
        self._samples += 1

    def _guarded(self, what: str, sample: Callable[[], Row]) -> Row:
        """One broken source (a kernel with files of its own kind) must not cost the others."""
        try:
            return sample()
        except Exception as error:
            if what not in self._broken:
                self._broken.add(what)
                text = f"{what} cannot be sampled: {type(error).__name__}: {error}"
                self._tell("note", text[:300], {"source": what})
            return {}

    def _add_up(self, readings: Readings) -> None:
        for name, value in readings.cells.items():
            if name.endswith("_util_pct") and "mem" not in name and value is not None:
                total, count = self._sums.get(name, (0.0, 0))
                self._sums[name] = (total + value, count + 1)

    def _tell(self, kind: str, text: str, data: dict[str, Any]) -> None:
        self.writer.event(time.monotonic() - self._started, kind, text, data)

    def _tell_changes(self) -> None:
        if self._gpus.changes != self._told_changes:
            self._told_changes = self._gpus.changes
            self.writer.restart({"gpus": self._gpus.facts, "gpu_source": self._gpus.source})

    def _spawn(self, argv: Sequence[str], purpose: str, generation: int) -> Helper:
        def received(arrived: float, data: bytes) -> None:
            self._inbox.put((purpose, generation, arrived, data))

        return self._launcher.helper(argv, received)

    def _finish(self) -> None:
        helpers = [*self._gpus.stop(), *self._use.stop()]
        deadline = time.monotonic() + _HELPERS_S
        self._gpus.pacemaker.flush()
        assert self._ended is not None
        goes_on = self._ended.why in ("duration", "asked")
        self._tick(self._gpus.take(time.monotonic()), with_processes=goes_on)
        self._use.judge()
        if self._live is not None:
            self._live.close()
            self._live = None
        for close in self.before_close:
            close()
        self._tell_changes()
        self.writer.close(self.figures().end_facts(), _WRITE_S)
        while helpers and time.monotonic() < deadline:
            helpers = [helper for helper in helpers if helper.exit_code() is None]
            if helpers:
                time.sleep(0.005)
        for helper in helpers:
            helper.kill()
