"""① `with gpudiag.record("run.csv"): train()`: record this process, from a process beside it.

Nothing in here ends or changes a training: a recorder that cannot start or is killed costs one
line on stderr, an exception of the block passes as it is, and Ctrl-C is for the training alone.
Only a mistake in the call itself raises, before the block is entered.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from gpudiag.errors import GpudiagError, UsageError
from gpudiag.record import marking
from gpudiag.record.naming import wanted_path
from gpudiag.record.recorder import Options

if TYPE_CHECKING:
    from gpudiag.api.channel import Channel
    from gpudiag.api.report import Report
    from gpudiag.diagnose.model import Diagnosis

_BEGIN_S = 10.0  # on a machine that gives it no time; it takes 0.1 to 0.2 s
_END_S = 10.0
_active: Block | None = None  # of the process that it says: a fork has a copy


def record(
    path: str | os.PathLike[str] | None = None,
    *,
    interval: float | str = 1.0,
    gpus: str | int | Sequence[int | str] | None = None,
    quiet: bool = False,
) -> Block:
    """Record this process and its children while the `with` block runs.

    `path`: the recording, default run.csv or the next free name; %h, %r, %j as with `-o`.
    `interval`: seconds between two samples, or a text such as "500ms". `gpus`: only these, by
    index or UUID. `quiet`: no summary at the end. Raises UsageError if one of these makes no sense.
    """
    from gpudiag.commands.record import gpus as parsed_gpus
    from gpudiag.commands.record import interval as parsed_interval

    every = interval if isinstance(interval, str) else f"{interval}s"
    listed = (gpus,) if isinstance(gpus, str | int) else gpus
    try:
        options = Options(
            command=(),
            output=None if path is None else os.fspath(path),
            interval_s=parsed_interval(every),
            quiet=True,
            gpus=() if not listed else parsed_gpus(",".join(map(str, listed))),
        )
    except UsageError as error:
        raise UsageError(error.message.removeprefix("--"), error.hint) from None
    return Block(options, quiet)


class Block:
    """A recording of this process. After its `with` block it shows its report in a notebook."""

    def __init__(self, options: Options, quiet: bool = False) -> None:
        self._options = options
        self._quiet = quiet
        self._channel: Channel | None = None
        self._owner = 0
        self._path: Path | None = None

    def __enter__(self) -> Block:
        """Start the recorder. Raises UsageError if the name is that of another kind of file."""
        global _active
        output = str(wanted_path(self._options.output))
        if _active is not None and _active._owner == os.getpid():
            _say([f"not recorded: this process is being recorded already, into {_active.path}"])
        elif self._owner:
            _say(["not recorded: this recording is over; call gpudiag.record() for another one"])
        else:
            self._owner = os.getpid()
            self._start(self._options._replace(output=output, pid=self._owner))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the recording; an exception of the block passes."""
        global _active
        # a child that was forked in the block leaves it too, and a block within is not recorded
        if self._owner != os.getpid() or _active is not self:
            return
        channel, self._channel = self._channel, None
        _active = None
        if channel is None:
            return
        with suppress(Exception):
            if kind is not None:
                marking.send(f"the block ended with {kind.__name__}", self._owner)
            self._finish(channel)

    @property
    def path(self) -> Path | None:
        """The recording; None if there is none. It is a whole file at any time."""
        return self._path

    def report(self) -> Report:
        """What the recording says. Raises UsageError within the block, or if there is none."""
        if self._channel is not None and self._owner == os.getpid():
            raise UsageError("the recording still goes on", "ask for its report after the block")
        if self._path is None:
            raise UsageError("nothing was recorded", "use it in a with block: see docs/python.md")
        return self._report

    @cached_property
    def _report(self) -> Report:
        from gpudiag.api.report import open_report

        assert self._path is not None
        return open_report(self._path)

    @property
    def findings(self) -> Diagnosis:
        """What is said of the run, as of gpudiag.diagnose. Raises as `report` does."""
        return self.report().findings

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the report; the ending decides on its format. Raises as `report` does."""
        return self.report().save(path)

    def __repr__(self) -> str:
        if self._channel is not None:
            return f"<gpudiag is recording into {self._path}>"
        return f"<gpudiag recording {self._path or 'not made'}>"

    def _repr_html_(self) -> str | None:
        report = self._shown()
        return None if report is None else report._repr_html_()

    def _repr_markdown_(self) -> str | None:
        report = self._shown()
        return None if report is None else report._repr_markdown_()

    def _shown(self) -> Report | None:
        """The report, where there is one to be shown."""
        try:
            return self.report()
        except GpudiagError:  # it goes on, or was too short for a sample
            return None

    def _start(self, options: Options) -> None:
        global _active
        try:
            from gpudiag.api.channel import Channel, can_fork

            if not can_fork():
                raise OSError(None, "this system has no fork; use gpudiag record --pid beside it")
            channel = Channel(options)
        except Exception as error:  # no more processes, no Python, or a fault of ours
            _say([f"nothing is recorded: {getattr(error, 'strerror', None) or error}"])
            return
        self._channel, _active = channel, self
        try:
            channel.hear("begun", "failure", seconds=_BEGIN_S)
        except BaseException:  # Ctrl-C: the block will not be entered
            channel.close()
            self._channel = _active = None
            raise
        if "begun" in channel.told:
            self._path = Path(channel.told["begun"])
            marking.look_again()
        elif "failure" in channel.told or channel.ended:
            reason = channel.told.get("failure", "the recorder did not start")
            _say([f"nothing is recorded: {reason}"])
            channel.close()
            self._channel = _active = None

    def _finish(self, channel: Channel) -> None:
        channel.end()
        channel.hear("path", "failure", seconds=_END_S)
        told = channel.told
        channel.close()
        if told.get("path"):
            self._path = Path(told["path"])
        elif "begun" in told:
            self._path = Path(told["begun"])
        if "path" in told:
            _say(told["warnings"] if self._quiet else [*told["lines"], *told["warnings"]])
        else:
            _say([f"the recording broke off: {told.get('failure', 'the recorder has gone')}"])


def _say(lines: Sequence[str]) -> None:
    """Lines on stderr, whatever that is by now."""
    with suppress(Exception):
        for line in lines:
            shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
            print(f"gpudiag: {shown}", file=sys.stderr)
