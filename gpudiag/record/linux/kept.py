"""① Files of /proc that are read on every tick stay open (Linux).

Opening and closing such a file costs more than reading it. A descriptor also belongs to its
process for good: once that has ended it reads nothing, whoever has the number then.
"""

from __future__ import annotations

import contextlib
import os
import resource

_SIZE = 4096
_MOST = 2048


class KeptFiles:
    """Read files of processes below `root` over and over."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._of: dict[int, dict[str, int]] = {}
        # the limit is the command's too, and was chosen without a recorder in mind
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._left = _MOST if limit == resource.RLIM_INFINITY else min(_MOST, limit // 2)

    def kept(self, pid: int) -> bool:
        """Whether a file of process `pid` is open."""
        return pid in self._of

    def read(self, pid: int, name: str) -> bytes:
        """The first page of the file `name` of process `pid`; empty if it cannot be read."""
        files = self._of.get(pid)
        if files is not None and (file := files.get(name)) is not None:
            try:
                return os.pread(file, _SIZE, 0)
            except OSError:  # ended, or no longer ours to see
                self._close(files, name)
        try:
            file = os.open(f"{self._root}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            data = os.pread(file, _SIZE, 0)
        except OSError:
            os.close(file)
            return b""
        if self._left > 0:
            self._left -= 1
            self._of.setdefault(pid, {})[name] = file
        else:
            os.close(file)
        return data

    def forget(self, pid: int) -> None:
        """Close the files of process `pid`, if there are any."""
        files = self._of.pop(pid, None)
        for name in list(files or ()):
            self._close(files or {}, name)

    def forget_others(self, pid: int, names: set[str], folder: str) -> None:
        """Close the files of process `pid` below `folder` that are not in one of `names`."""
        files = self._of.get(pid, {})
        for name in [n for n in files if n.startswith(folder) and n.split("/")[1] not in names]:
            self._close(files, name)

    def _close(self, files: dict[str, int], name: str) -> None:
        self._left += 1
        with contextlib.suppress(OSError):
            os.close(files.pop(name))
