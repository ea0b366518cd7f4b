"""Before ① record: ask nvidia-smi once, whatever it does: hang, flood, or be another program."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpudiag.record import gpu_facts, gpu_query
from gpudiag.record.gpu_tool import Tool

_MOST_BYTES = 1 << 18  # more is no answer to a query of a handful of GPUs
_MOST_REFUSED = 12  # fields a driver may not know: each costs one more start


@dataclass(frozen=True)
class Answer:
    """The output of one start of the tool: its text, how it ended, how long it took (s).

    `code` is None if it did not end in time (`hangs`), or could not be started (`error`).
    """

    text: str = ""
    code: int | None = None
    seconds: float = 0.0
    hangs: bool = False
    flood: bool = False
    error: str = ""


@dataclass(frozen=True)
class Asked:
    """All that nvidia-smi (or what stands for it) said.

    `answer` is that to the last query of facts; `gpus` are the facts (record.gpu_facts), empty if
    it was no answer; `sample` the one pass over the fields of a recording, with its `rows`;
    `refused` the fields that this driver does not know at all.
    """

    tool: str = ""
    path: str = ""
    why_not: str = ""
    answer: Answer | None = None
    gpus: tuple[Mapping[str, Any], ...] = ()
    sample: Answer | None = None
    rows: tuple[gpu_query.GpuRow, ...] = ()
    refused: tuple[str, ...] = ()


def ask(tool: Tool | None, why_not: str, deadline_s: float) -> Asked:
    """Ask for the facts, then for one sample; each start may take `deadline_s`."""
    if tool is None:
        return Asked(why_not=why_not)
    answer, fields, _ = _query(tool, gpu_facts.fields(), deadline_s)
    gpus = tuple(gpu_facts.parse(answer.text, fields)) if not answer.flood else ()
    known = Asked(tool.name, tool.argv[0], answer=answer, gpus=gpus)
    if not gpus:
        return known
    sample, fields, refused = _query(tool, gpu_query.FIELDS, deadline_s)
    read = (gpu_query.parse_row(line, fields, 0.0) for line in sample.text.splitlines())
    rows = tuple(row for row in read if row is not None)
    return Asked(tool.name, tool.argv[0], "", answer, gpus, sample, rows, refused)


def _query(
    tool: Tool, fields: tuple[str, ...], deadline_s: float
) -> tuple[Answer, tuple[str, ...], tuple[str, ...]]:
    """The answer, the fields it has, and those that were refused under every name."""
    refused: list[str] = []
    answer = Answer()
    for _ in range(_MOST_REFUSED):
        answer = start(gpu_query.arguments(tool.argv, fields, None), deadline_s)
        unknown = gpu_facts.refused(answer.text[:4096])
        if unknown is None or unknown not in fields:
            break
        if gpu_query.LATER_NAME.get(unknown) is None:
            refused.append(unknown)
        fields = gpu_query.without(fields, unknown)
    return answer, fields, tuple(refused)


def start(argv: Sequence[str], deadline_s: float) -> Answer:
    """Run a program; its output (stdout and stderr, cut at 256 KiB) when it ended or was ended."""
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Answer(error=getattr(error, "strerror", None) or str(error))
    said = bytearray()
    reader = threading.Thread(target=_read, args=(process, said), daemon=True)
    reader.start()
    reader.join(deadline_s)
    flood = len(said) >= _MOST_BYTES
    hangs = reader.is_alive()
    code: int | None = None
    if not hangs and not flood:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(max(began + deadline_s - time.monotonic(), 0.1))
        hangs = code is None
    seconds = time.monotonic() - began
    if code is None:
        _kill(process)
        # one that the driver holds in the kernel does not end: it is left behind
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
    return Answer(said.decode("utf-8", "replace"), code, seconds, hangs, flood)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it with what it started; it was not waited for, so its number is still its own."""
    with contextlib.suppress(OSError):
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _read(process: subprocess.Popen[bytes], said: bytearray) -> None:
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError):
        while len(said) < _MOST_BYTES and (part := process.stdout.read1(65536)):  # type: ignore[attr-defined]
            said += part
