"""② Read logs of `nvidia-smi -q` (text), one output or many in one file."""

from __future__ import annotations

import re

from gpudiag.errors import UnreadableError
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.formats.full_query import Gpu, Numbers
from gpudiag.timeline.formats.gather import Gather
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "nvidia-smi -q"
_START = re.compile(r"^=+\s*NVSMI LOG\s*=+\s*$", re.MULTILINE)
_GPU = re.compile(r"GPU ((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])")
_LINE = re.compile(r"( *)(\S.*?)\s*(?: : ?(.*)|)")
_NOTED = re.compile(r"(.*?)\s*\[Deprecated;.*")
_DEEPEST = 12


def recognise(head: str) -> float:
    """By the line that begins each output."""
    return 0.95 if _START.search(head) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    found = _Reader(log).run()
    if not len(found):
        raise UnreadableError(
            f"{log.path}: an nvidia-smi -q log without a reading of a GPU",
            "was another section than UTILIZATION, MEMORY, POWER, TEMPERATURE or CLOCK asked for?",
        )
    return timeline(found.readings(), log.path, NAME, found, interval_s)


class _Reader:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._found = Gather(log.notes)
        self._numbers = Numbers()
        self._gpus: list[Gpu] = []
        self._shared: dict[str, str] = {}
        self._path: list[tuple[int, str]] = []

    def run(self) -> Gather:
        found = self._found
        for number, line in self._log.lines():
            found.lines += 1
            text = line.rstrip()
            if _START.match(text):
                self._close()
                found.head += 1
                found.header_rows += 1
            elif gpu := _GPU.fullmatch(text):
                self._gpus.append(Gpu(number, gpu[1], len(self._gpus)))
                self._path = []
            else:
                self._line(number, text)
        self._close()
        return found

    def _line(self, number: int, text: str) -> None:
        found = self._found
        match = _LINE.fullmatch(text)
        if not match or not found.head:
            found.other(number, text.strip())
            return
        indent, key, value = len(match[1]), match[2], match[3]
        if not indent:
            if key == "Timestamp" and value:
                found.stamps.append(value)
            elif key in ("Driver Version", "KMD Version") and value:
                noted = _NOTED.fullmatch(value)
                self._shared.setdefault("driver", noted[1] if noted else value)
            elif value is None:
                found.other(number, text)
                return
        elif self._gpus:
            self._tell(indent, key.lower(), value)
        found.other_lines += 1

    def _tell(self, indent: int, key: str, value: str | None) -> None:
        while self._path and self._path[-1][0] >= indent:
            self._path.pop()
        place = "/".join([*(name for _, name in self._path), key])
        if value is not None:
            self._gpus[-1].tell(place, value.strip())
        if len(self._path) < _DEEPEST:
            self._path.append((indent, key))

    def _close(self) -> None:
        taken = self._numbers.add(self._gpus, self._found, self._shared)
        for gpu in self._gpus:
            if gpu.line not in taken:
                self._found.drop(gpu.line, "nothing of this GPU is a reading")
        self._gpus, self._shared, self._path = [], {}, []
