"""Where a command may write: asked before the work is done, so that nothing is lost by a slip."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from gpudiag.errors import UsageError

_ELSEWHERE = "choose another place with -o FILE"


def target(
    output: str, sources: Sequence[str | None], *, replace: Callable[[Path], bool], refusal: str
) -> Path:
    """The file that `output` names, links followed. Raises UsageError if it must not be written.

    `sources` are the files that are read (`-` and None are none). A file that exists is only
    replaced if `replace(path)` says so; `refusal` ends the sentence otherwise.
    """
    try:
        path = Path(output)
        if path.is_symlink():
            path = Path(os.path.realpath(path))
        if not output or path.is_dir():
            raise UsageError(f"{output or 'an empty name'} is a folder", "name a file with -o FILE")
        if path.is_symlink():
            raise UsageError(f"{output} is a link that leads to itself", _ELSEWHERE)
        if path.exists() and not path.is_file():
            raise UsageError(f"{output} is no regular file", "-o - writes to standard output")
        if not path.parent.is_dir():
            raise UsageError(f"the folder {path.parent} does not exist", "make it first")
        if not os.access(path.parent, os.W_OK):
            raise UsageError(f"cannot write into {path.parent}", _ELSEWHERE)
        for source in sources:
            there = source and source != "-" and path.exists() and Path(source).exists()
            if there and path.samefile(str(source)):
                raise UsageError(f"{output} is what is read", "name another file with -o FILE")
        if path.exists() and not replace(path):
            raise UsageError(f"{output} exists{refusal}", "add --force to replace it")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write {output}: {reason}", _ELSEWHERE) from None
    return path
