"""① `gpudiag record`, from the start of the command to the exit code that is passed on.

Three threads: the main thread starts the command and then only waits and relays signals; the
sampler measures; the writer writes. What goes wrong in the latter two never reaches the command.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpudiag.errors import UsageError
from gpudiag.language import tr
from gpudiag.record.launch import Exit, Launcher, choose
from gpudiag.record.naming import obstacle_at, wanted_path
from gpudiag.units import format_duration

if TYPE_CHECKING:
    from gpudiag.record.sampler import Sampler

# The sampler ends within half a second of the command, by its own deadlines. These are for a
# machine that gives it no time, and for a read from /proc or a disk that never returns.
_LEAVE_S = 2.0
_SET_UP_S = 5.0  # the same for a command that ends before its recording has begun


class Options(NamedTuple):
    """What is asked of a recording; `output` None is run.csv or the next free name.

    Without a command it looks at process `pid`, or at the machine alone. `duration_s` None is to
    its end. `gpus` are indices or UUIDs, all if it is empty. `live` is a line on the terminal.
    `nvml` asks the library and not nvidia-smi. `language` is that of the line.
    """

    command: Sequence[str]
    output: str | None = None
    interval_s: float = 1.0
    quiet: bool = False
    pid: int | None = None
    duration_s: float | None = None
    gpus: Sequence[str] = ()
    live: bool = False
    nvml: bool = False
    language: str = "en"


class Recording(NamedTuple):
    """How a recording ended. `path` is None if nothing could be written."""

    exit: Exit
    path: Path | None
    lines: list[str]
    warnings: list[str]


def record_and_leave(options: Options) -> int:
    """Record and pass the exit code on; dies of the command's signal if there was one.

    Without a command it is 0, or 1 if nothing could be recorded. Raises StartError, UsageError.
    """
    launcher = choose(options.command, options.pid)
    recording = record(options, launcher)
    _say(recording.warnings if options.quiet else [*recording.lines, *recording.warnings])
    code = launcher.leave(recording.exit)
    return code if options.command else int(recording.path is None)


def record(
    options: Options,
    launcher: Launcher | None = None,
    begun: Callable[[Path], None] | None = None,
) -> Recording:
    """Run the command, or look on, and record until it ends. Raises StartError, UsageError.

    On Linux the signals that were blocked for it stay so until `launcher.leave`. `begun` is told
    the recording's path, in another thread, as soon as there is one and marks are taken.
    """
    launcher = launcher or choose(options.command, options.pid)
    wanted = wanted_path(options.output)
    obstacle = obstacle_at(wanted)
    if obstacle and not options.command:
        raise UsageError(f"nothing can be recorded: {obstacle}", "name another file with -o")
    if obstacle:
        _say([tr("no recording will be written: {why}", why=obstacle)])
    if not options.command and not options.quiet:
        _say([_announcement(options)])
    started = launcher.start(options.command)
    session = _Session(options, launcher, wanted, started, begun)
    session.begin()
    how = launcher.wait()
    return session.end(how)


def _say(lines: Sequence[str]) -> None:
    """Lines on stderr, whatever it is connected to; the exit code must not depend on it."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        for line in lines:
            shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
            print(f"gpudiag: {shown}", file=sys.stderr)
        sys.stderr.flush()


def _announcement(options: Options) -> str:
    """What a recording without a command is about to do: otherwise it would seem to hang."""
    if options.duration_s is None:
        if options.pid is None:
            return tr("recording this machine; Ctrl-C ends the recording")
        return tr(
            "recording process {pid} until it ends; Ctrl-C ends the recording", pid=options.pid
        )
    time = format_duration(options.duration_s)
    if options.pid is None:
        return tr("recording this machine for {time}; Ctrl-C ends the recording", time=time)
    return tr(
        "recording process {pid} until it ends, or for {time}; Ctrl-C ends the recording",
        pid=options.pid,
        time=time,
    )


class _Session:
    """The recording beside the running command, in the sampler's thread."""

    def __init__(
        self,
        options: Options,
        launcher: Launcher,
        wanted: Path,
        started: float,
        begun: Callable[[Path], None] | None,
    ) -> None:
        self._begun = begun
        self._options = options
        self._launcher = launcher
        self._wanted = wanted
        self._started = started
        self._sampler: Sampler | None = None
        self._how: Exit | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failure = ""

    def begin(self) -> None:
        """Start the sampler. The command is running: nothing may be raised from here on."""
        try:
            self._launcher.settle()
            self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
            self._thread.start()
        except (OSError, RuntimeError) as error:  # no more processes or threads allowed
            self._thread = None
            self._failure = str(error)

    def _run(self) -> None:
        """Set up and sample until the command has ended."""
        try:
            gc.disable()  # nothing that is loaded here is garbage, and looking for it costs CPU
            from gpudiag.record.setup import make_sampler

            sampler = make_sampler(self._options, self._launcher, self._wanted, self._started)
            gc.freeze()
            gc.enable()
            with self._lock:
                self._sampler = sampler
                if self._how is not None:
                    sampler.stop(self._how)
            if self._begun is not None:
                self._begun(sampler.writer.path)
            sampler.run()
        except OSError as error:
            self._failure = f"{error.strerror}: {error.filename}" if error.filename else str(error)
        except Exception as error:  # a fault of ours must not reach the command
            self._failure = f"{type(error).__name__}: {error}"
        finally:
            self._launcher.release()

    def end(self, how: Exit) -> Recording:
        """The command has ended: finish within a moment, and say what to tell the user."""
        with self._lock:
            self._how = how
            if self._sampler is not None:
                self._sampler.stop(how)
        if self._thread is not None:
            self._thread.join(_SET_UP_S if self._sampler is None else _LEAVE_S)
        sampler = self._sampler
        if sampler is None:
            reason = self._failure or tr("the command ended before the recording began")
            return Recording(how, None, [], [tr("nothing was recorded: {why}", why=reason)])
        from gpudiag.record.summary import summary, warnings

        moved = self._wanted if sampler.writer.path != self._wanted else None
        return Recording(
            how,
            sampler.writer.path,
            summary(sampler.figures()),
            warnings(sampler.figures(), moved, self._failure),
        )
