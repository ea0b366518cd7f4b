"""The one class of error that a user may see: one line, and a hint of what to do."""

from __future__ import annotations

EXIT_FINDING = 1
EXIT_USAGE = 2
EXIT_UNREADABLE = 3
EXIT_BAD_RULE = 4
EXIT_INTERNAL = 70  # EX_SOFTWARE of sysexits.h


class GpudiagError(Exception):
    """What went wrong in one line, what to do about it, and the exit code that says so.

    `cli.main` is the only place that catches it. `message` and `hint` may hold text from outside;
    `cli` makes control characters visible before it prints them.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GpudiagError):
    """The command line asks for something that cannot be done (exit code 2)."""


class UnreadableError(GpudiagError):
    """A recording or log that cannot be read (exit code 3)."""

    exit_code = EXIT_UNREADABLE


class RuleError(GpudiagError):
    """A rule file that is wrong (exit code 4)."""

    exit_code = EXIT_BAD_RULE
