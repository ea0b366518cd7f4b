"""② Read logs of `nvidia-smi -q -x` (XML), one document or many in one file.

The log may come from a stranger. The parser is expat, fed line by line; a document that declares
entities or carries its own DTD is refused before anything is expanded, and no DTD is ever loaded:
the DOCTYPE line that nvidia-smi itself prints only names one. That leaves nothing for a library
such as defusedxml to add.
"""

from __future__ import annotations

import re
from typing import NoReturn
from xml.parsers import expat

from gpudiag.errors import UnreadableError
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.formats.full_query import Gpu, Numbers
from gpudiag.timeline.formats.gather import Gather
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline

NAME = "nvidia-smi -q -x (XML)"
_ROOT = "nvidia_smi_log"
_START = re.compile(rf"<\?xml\b|<!DOCTYPE\b|<{_ROOT}\b")
_DEEPEST = 32
_LONGEST = 300


def recognise(head: str) -> float:
    """By the name of the root element."""
    return 0.97 if re.search(rf"<(?:!DOCTYPE )?{_ROOT}\b", head) else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    reader = _Reader(log)
    found = reader.run()
    if not len(found):
        raise UnreadableError(
            f"{log.path}: an nvidia-smi -q -x log (XML) without a reading of a GPU",
            "was it stopped before its first sample?",
        )
    return timeline(found.readings(reader.lines_taken), log.path, NAME, found, interval_s)


class _HostileError(Exception):
    """The document does what no output of nvidia-smi does."""


class _Document:
    """One document, fed line by line."""

    def __init__(self) -> None:
        self.gpus: list[Gpu] = []
        self.shared: dict[str, str] = {}
        self.stamp = ""
        self.line = 0
        self.ended = False
        self._path: list[str] = []
        self._text = ""
        self._open: Gpu | None = None
        parser = expat.ParserCreate("utf-8")
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        self._parser = parser

    def feed(self, line: int, text: str) -> None:
        """Parse one more line. Raises ExpatError where it is broken, and _HostileError."""
        self.line = line
        self._parser.Parse(text.encode() + b"\n", False)

    def _doctype(self, name: str, system: str | None, public: str | None, own: int) -> None:
        if own:
            self._refuse()

    def _refuse(self, *_: object) -> NoReturn:
        raise _HostileError

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= _DEEPEST:
            raise _HostileError
        self._path.append(name)
        self._text = ""
        if self._path == [_ROOT, "gpu"]:
            self._open = Gpu(self.line, attributes.get("id", "")[:40], len(self.gpus))

    def _characters(self, text: str) -> None:
        if len(self._text) < _LONGEST:
            self._text += text

    def _end(self, name: str) -> None:
        text, self._text = self._text.strip()[:_LONGEST], ""
        if len(self._path) == 1:
            self.ended = True
        elif self._path == [_ROOT, "gpu"]:
            assert self._open is not None
            self.gpus.append(self._open)
            self._open = None
        elif self._path[:2] == [_ROOT, "gpu"] and self._open and text:
            self._open.tell("/".join(self._path[2:]), text)
        elif self._path == [_ROOT, "timestamp"]:
            self.stamp = text
        elif self._path == [_ROOT, "driver_version"]:
            self.shared["driver"] = text.partition(" [")[0]
        self._path.pop()


class _Reader:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._found = Gather(log.notes)
        self._numbers = Numbers()
        self._document: _Document | None = None
        self._taken: set[int] = set()
        self._inside = 0
        self.lines_taken = 0

    def run(self) -> Gather:
        found = self._found
        last = 0
        for number, line in self._log.lines():
            found.lines += number != last
            last = number
            starts = [0, *(m.start() for m in re.finditer(r"<\?xml\b", line) if m.start())]
            outside = True
            for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
                outside &= self._piece(number, line[start:end])
            if outside:
                found.other(number, line.strip())
                found.other_lines -= 1
        self._close()
        self.lines_taken = len(self._taken)
        dropped = {d.line: d for d in found.dropped if d.line not in self._taken}
        found.dropped = list(dropped.values())
        found.other_lines = found.lines - self.lines_taken - len(found.dropped)
        return found

    def _piece(self, number: int, text: str) -> bool:
        """Feed a piece of a line; whether it stands outside of all documents."""
        start = _START.search(text)
        if start and (self._document is None or start[0].startswith("<?xml")):
            self._close()
            self._document = _Document()
            text = text[start.start() :]
        if self._document is None:
            return True
        try:
            self._document.feed(number, text)
        except expat.ExpatError as error:
            if not self._document.ended:
                self._found.drop(number, f"broken XML: {expat.ErrorString(error.code)}", text)
            self._close()
            return False
        except _HostileError:
            raise UnreadableError(
                f"{self._log.path}: XML with entities or a DTD of its own, as nvidia-smi never "
                "writes it; it was not read",
                "look at the file: it may be made to harm its reader",
            ) from None
        if self._document.ended:
            self._close()
        return False

    def _close(self) -> None:
        document, self._document = self._document, None
        if document is None:
            return
        if not document.ended:
            self._found.note("The last document is not whole; its whole GPUs are read.")
        if document.stamp:
            self._found.stamps.append(document.stamp)
        self._found.head += 1
        self._taken |= self._numbers.add(document.gpus, self._found, document.shared)
