"""② Write run.csv, format 1: append a row a tick, so that whatever happens leaves a readable file.

Standard library only: `record` imports this module.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpudiag.timeline.columns import MAGIC, parse_name

_APPEND = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW = _APPEND | os.O_CREAT | os.O_EXCL
_RETRY_ROWS = 30  # after a widening that failed


def cell(value: float | int | None, digits: int) -> str:
    """A figure with no more decimals than it is worth; empty if there is none."""
    if value is None or not math.isfinite(value):
        return ""
    text = f"{value:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


class RunFile:
    """A recording that grows. Never raises after it was made: what fails is counted and kept.

    `lost_rows` were not written; `trouble` is the first reason, empty if there was none.
    """

    def __init__(self, path: Path, start: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Make the file. Raises FileExistsError rather than touch one that exists, and OSError."""
        self.path = path
        self.lost_rows = 0
        self.trouble = ""
        self._start = dict(start)
        self._columns = list(columns)
        self._digits = [_digits(name) for name in columns]
        self._wanted: list[str] = []
        self._stale_start = False
        self._rows_to_retry = 0
        self._broken_line = False
        head = f"{MAGIC}\n{self._start_line()}{self._header()}".encode()
        self._file = _create(path, head)

    def row(self, values: Mapping[str, float | int | None]) -> None:
        """Append one row; names that are no columns yet widen the file."""
        fresh = [name for name in values if name not in self._columns]
        if fresh:
            self.widen(fresh)
        elif self._wanted or self._stale_start:
            self._rows_to_retry -= 1
            if self._rows_to_retry <= 0:
                self._rewrite()
        cells = [
            cell(values.get(name), digits)
            for name, digits in zip(self._columns, self._digits, strict=True)
        ]
        if not self._append(",".join(cells) + "\n"):
            self.lost_rows += 1

    def event(self, t_s: float, kind: str, text: str, data: Mapping[str, Any]) -> None:
        """Append an event line."""
        facts = {"t_s": round(t_s, 3), "kind": kind, "text": text}
        self._append(f"# event {_json(facts | ({'data': dict(data)} if data else {}))}\n")

    def restart(self, facts: Mapping[str, Any]) -> None:
        """Take `facts` into the start line."""
        self._start |= facts
        self._stale_start = True
        self._rewrite()

    def widen(self, columns: Iterable[str]) -> None:
        """Add columns; the rows written so far get empty cells."""
        self._wanted += [n for n in columns if n not in self._columns and n not in self._wanted]
        if self._wanted:
            self._rewrite()

    def close(self, end: Mapping[str, Any] | None) -> None:
        """Append the end line, if there is one to write, and close."""
        if self._wanted or self._stale_start:
            self._rewrite()
        if end is not None:
            self._append(f"# end {_json(end)}\n")
        with contextlib.suppress(OSError):
            if os.fstat(self._file).st_nlink == 0:
                self._complain(f"{self.path} was removed while it was written")
        with contextlib.suppress(OSError):
            os.close(self._file)

    def _append(self, text: str) -> bool:
        """One write; a line that does not fit is taken back whole."""
        data = (("\n" if self._broken_line else "") + text).encode()
        try:
            before = os.fstat(self._file).st_size
            written = os.write(self._file, data)
        except OSError as error:
            self._complain(f"cannot write {self.path}: {error.strerror}")
            return False
        if written < len(data):
            self._complain(f"cannot write {self.path}: {os.strerror(errno.ENOSPC)}")
            try:
                os.ftruncate(self._file, before)
            except OSError:
                self._broken_line = True
            return False
        self._broken_line = False
        return True

    def _rewrite(self) -> None:
        """Put a wider or better informed file in the place of the old one, all at once."""
        self._rows_to_retry = _RETRY_ROWS
        temporary = _temporary(self.path)
        try:
            mine = os.fstat(self._file)
            there = self.path.stat()
            if (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev):
                raise OSError(errno.ESTALE, "it was moved or replaced")
            with self.path.open("rb") as old, temporary.open("xb") as new:
                self._copy(old, new)
                with contextlib.suppress(OSError, AttributeError):
                    os.fchmod(new.fileno(), mine.st_mode & 0o7777)
            fresh = os.open(temporary, _APPEND)
            temporary.replace(self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            self._complain(f"cannot write {self.path}: {error.strerror}")
            return
        os.close(self._file)
        self._file = fresh
        self._columns += self._wanted
        self._digits += [_digits(name) for name in self._wanted]
        self._wanted, self._stale_start, self._broken_line = [], False, False

    def _copy(self, old: Iterable[bytes], new: Any) -> None:
        more = b"," * len(self._wanted) + b"\n"
        header = True
        for line in old:
            if not line.endswith(b"\n"):
                break
            if line.startswith(b"# start "):
                line = self._start_line().encode()
            elif not line.startswith(b"#"):
                if header:
                    line = self._header(self._wanted).encode()
                    header = False
                elif self._wanted:
                    line = line[:-1] + more
            new.write(line)

    def _start_line(self) -> str:
        return f"# start {_json(self._start)}\n"

    def _header(self, more: Sequence[str] = ()) -> str:
        return ",".join([*self._columns, *more]) + "\n"

    def _complain(self, reason: str) -> None:
        self.trouble = self.trouble or reason


def _create(path: Path, head: bytes) -> int:
    """Make the file with its head in it, so that nobody sees it empty; a descriptor to append.

    Raises FileExistsError and OSError.
    """
    temporary = _temporary(path)
    file = os.open(temporary, _NEW, 0o666)
    try:
        if os.write(file, head) < len(head):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.link(temporary, path)
    except OSError as error:
        os.close(file)
        if error.errno in (errno.EEXIST, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise
        # a file system without hard links
        file = os.open(path, _NEW, 0o666)
        os.write(file, head)
    finally:
        temporary.unlink()
    return file


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _digits(name: str) -> int:
    known = parse_name(name)
    if known is None:
        raise ValueError(f"{name} is no column of run.csv")
    return known[0].digits


def _json(facts: Mapping[str, Any]) -> str:
    # ASCII, because a command line may hold bytes that are no UTF-8
    return json.dumps(facts, separators=(",", ":"), default=str)
