"""① Start the command as if the recorder were not there (Linux).

fork and exec by hand instead of subprocess: the signal mask must be set before the fork (a signal
that arrives in between must not be lost), and posix_spawn would leave two internal signals ignored
in the command.
"""

# ruff: noqa: PTH112, PTH118, PTH208  pathlib takes longer to load than the start may wait

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Sequence

from gpudiag.record.launch import StartError

# a fault of the recorder's own must end it at once, and KILL and STOP cannot be blocked
_NEVER_BLOCKED = {
    signal.SIGKILL,
    signal.SIGSTOP,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGSYS,
    signal.SIGABRT,
}
BLOCKED = {int(number) for number in signal.valid_signals()} - {int(n) for n in _NEVER_BLOCKED}


def start(argv: Sequence[str]) -> tuple[int, float, set[int]]:
    """Start `argv`: its PID, the monotonic time of the start, and the signal mask to restore.

    On return all signals that can be relayed are blocked in the caller. Raises StartError.
    """
    before = {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)}
    child_signal = signal.getsignal(signal.SIGCHLD)
    if child_signal == signal.SIG_IGN:  # the kernel would swallow the exit code
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    environment = _environment()
    read_end, write_end = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _become(argv, environment, before, child_signal == signal.SIG_IGN, write_end)
    os.close(write_end)
    with open(read_end, "rb") as report:
        failure = report.read()
    if failure:
        os.waitpid(pid, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise _refusal(argv[0], int(failure))
    return pid, started, before


def _become(
    argv: Sequence[str],
    environment: dict[bytes, bytes],
    mask: set[int],
    child_signal_ignored: bool,
    report: int,
) -> None:
    """In the new process: undo what Python did to its signals, then exec. Never returns."""
    code = errno.ENOENT
    try:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them for itself
            signal.signal(number, signal.SIG_DFL)
        if callable(signal.getsignal(signal.SIGINT)):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        if child_signal_ignored:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        code = _exec(argv, environment)
    finally:
        os.write(report, str(code).encode())
        os._exit(127)


def _exec(argv: Sequence[str], environment: dict[bytes, bytes]) -> int:
    """Search the PATH as a shell does; the error number that tells why nothing was executed."""
    words = [os.fsencode(word) for word in argv]
    program = words[0]
    if not program:
        return errno.ENOENT
    folders = [b""] if b"/" in program else _search_path(environment)
    worst = errno.ENOENT
    for folder in folders:
        path = os.path.join(folder, program)
        try:
            os.execve(path, words, environment)
        except OSError as error:
            if error.errno == errno.ENOEXEC:  # a script without #!, which shells run themselves
                os.execve(b"/bin/sh", [b"sh", path, *words[1:]], environment)
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                worst = error.errno or worst
    return worst


def _search_path(environment: dict[bytes, bytes]) -> list[bytes]:
    return environment.get(b"PATH", os.fsencode(os.defpath)).split(b":")


def _refusal(program: str, code: int) -> StartError:
    if code in (errno.ENOENT, errno.ENOTDIR) and not os.path.lexists(program):
        return StartError(127, f"{program}: command not found")
    if os.path.isdir(program):
        return StartError(126, f"{program}: is a directory")
    reason = "its interpreter was not found" if code == errno.ENOENT else os.strerror(code).lower()
    return StartError(127 if code == errno.ENOENT else 126, f"{program}: {reason}")


def _environment() -> dict[bytes, bytes]:
    """The environment that the recorder was given.

    In the C locale Python adds LC_CTYPE for its children (PEP 538); the command must not see it.
    """
    environment = dict(os.environb)
    if b"LC_CTYPE" in environment:
        try:
            with open("/proc/self/environ", "rb") as file:
                given = file.read().split(b"\0")
        except OSError:
            return environment
        if given != [b""] and not any(item.startswith(b"LC_CTYPE=") for item in given):
            del environment[b"LC_CTYPE"]
    return environment


def close_inherited() -> None:
    """Close the descriptors that were meant for the command.

    A reader that waits for the end of a pipe (readiness notification, process substitution) would
    otherwise wait for the recorder too. Python's own descriptors are not inheritable.
    """
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:  # no /proc: nothing can be told apart, so nothing is closed
        return
    for name in names:
        number = int(name)
        try:
            if number > 2 and os.get_inheritable(number):
                os.close(number)
        except OSError:
            continue  # the descriptor of the listing itself
