"""② From a path to clean text: decompress, decode, take out what is no text.

Every reader gets a `Log`: UTF-8 without a byte order mark, lines ending in a line feed. What had
to be changed to get there stands in `notes`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import stat
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gpudiag.errors import UnreadableError
from gpudiag.timeline import progress

MAX_BYTES = 1 << 30
MAX_LINE = 1 << 20
# A day of an idle GPU shrinks about thirtyfold; 100 is beyond any log, 1,000 is what gzip can do.
MAX_EXPANSION, EXPANSION_FREE = 100, 64 << 20
_CHUNK = 1 << 20
_TOLD_LINES = 4096
_BLANK = b"\0 \t\r\n"
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\a\x1b\n]*(?:\a|\x1b\\)|[@-Z\\^_])")
_READ_IT_AS_TEXT = "gpudiag reads its own run.csv and logs of nvidia-smi as text; see docs/logs.md"

_ZSTD = b"\x28\xb5\x2f\xfd"
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (_ZSTD, "compressed with zstd: run zstd -d on it first (Python 3.14 could unpack it)"),
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook: unpack it, or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook: save the sheet as CSV"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG picture: the log itself is needed, as text"),
    (b"\xff\xd8\xff", "a JPEG picture: the log itself is needed, as text"),
    (b"\x7fELF", "a program"),
    (b"PAR1", "a Parquet file: write it as CSV"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x80\x04\x95", "a Python pickle"),
)


@dataclass(frozen=True)
class Log:
    """A file as text. `data` is UTF-8, without byte order mark, lines end in a line feed.

    A lone carriage return within a line stands where a line broke off without a line feed (a
    progress bar, or a hole of NUL bytes): readers take it as a break, `lines` counts it so.
    """

    path: str
    data: bytes
    notes: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """The first 256 KiB as text: what a reader recognises its format by."""
        return self.data[: 1 << 18].decode("utf-8", "replace")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Every line with its number (from 1), without its end; pieces share their line's number.

        What follows the last line feed is a line too, unless it is empty.
        """
        bytes_of = io.BytesIO(self.data)
        text = io.TextIOWrapper(bytes_of, "utf-8", "replace", newline="\n")
        for number, line in enumerate(text, 1):
            if number % _TOLD_LINES == 0:
                progress.tell(bytes_of.tell(), len(self.data))
            line = line.rstrip("\n")
            if "\r" in line:
                for piece in line.split("\r"):
                    yield number, piece
            else:
                yield number, line


def load(path: str) -> Log:
    """The text at `path` (`-` is standard input). Raises UnreadableError with one clear line."""
    shown = "standard input" if path == "-" else path
    try:
        raw = _read_all(sys.stdin.buffer, shown) if path == "-" else _read_file(path)
    except FileNotFoundError:
        raise UnreadableError(f"{shown}: no such file", "check the path") from None
    except IsADirectoryError:
        raise UnreadableError(f"{shown}: is a folder", "name the log file itself") from None
    except PermissionError:
        raise UnreadableError(f"{shown}: may not be read", "check its permissions") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableError(f"{shown}: cannot be read: {reason}") from None
    raw, notes = _decompressed(raw, shown)
    if not raw[:4096].strip(_BLANK) and not raw.strip(_BLANK):
        what = "holds only NUL bytes" if b"\0" in raw else "is empty"
        hint = "was the logger killed before its first sample, or its output buffered?"
        raise UnreadableError(f"{shown}: {what}", hint)
    for magic, what in _MAGIC:
        if raw.startswith(magic):
            raise UnreadableError(f"{shown}: not a log but {what}", _READ_IT_AS_TEXT)
    data, more = _decoded(raw)
    _refuse_binary(data, shown)
    return Log(shown, data, (*notes, *more))


def _read_file(path: str) -> bytes:
    found = Path(path).stat()
    mode = found.st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    if not stat.S_ISREG(mode):
        # Opening a FIFO without a writer, or a device, would never end.
        raise UnreadableError(f"{path}: not a regular file", "pipe it in: … | gpudiag report -")
    if found.st_size > MAX_BYTES:
        raise _too_large(path)
    with open(path, "rb") as file:
        return _read_all(file, path)


def _too_large(shown: str) -> UnreadableError:
    return UnreadableError(f"{shown}: larger than 1 GiB", "split it and read the parts")


def _read_all(file: BinaryIO, shown: str) -> bytes:
    raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise _too_large(shown)
    return raw


def _decompressed(raw: bytes, shown: str) -> tuple[bytes, list[str]]:
    file = io.BytesIO(raw)
    stream: gzip.GzipFile | lzma.LZMAFile | bz2.BZ2File
    damage: tuple[type[Exception], ...] = (EOFError, OSError, zlib.error, lzma.LZMAError)
    if raw.startswith(b"\x1f\x8b"):
        stream = gzip.GzipFile(fileobj=file)
    elif raw.startswith(b"\xfd7zXZ\0"):
        stream = lzma.LZMAFile(file)  # noqa: SIM115 - a wrapper of bytes in memory
    elif raw.startswith(b"BZh"):
        stream = bz2.BZ2File(file)
    elif raw.startswith(_ZSTD) and sys.version_info >= (3, 14):
        from compression import zstd

        stream = zstd.ZstdFile(file)
        damage += (zstd.ZstdError,)
    else:
        return raw, []
    parts: list[bytes] = []
    size, notes = 0, []
    try:
        while part := stream.read1(_CHUNK):  # read() would lose all at a cut
            parts.append(part)
            size += len(part)
            if size > MAX_BYTES or size > max(EXPANSION_FREE, MAX_EXPANSION * len(raw)):
                raise UnreadableError(
                    f"{shown}: unpacks to more than {size >> 20} MiB from {len(raw):,} bytes",
                    "this is no log of a GPU; unpack it and look",
                )
    except damage:
        notes.append("The compressed file is cut short or damaged; what could be unpacked is read.")
    return b"".join(parts), notes


def _decoded(raw: bytes) -> tuple[bytes, list[str]]:
    notes: list[str] = []
    wide = _utf16(raw)
    if wide:
        raw = raw.decode(wide, "replace").lstrip("\ufeff").encode("utf-8", "replace")
        notes.append("The file is UTF-16 (as PowerShell writes it).")
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in raw:
        raw = _without_nuls(raw, notes)
    if not raw.isascii():
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            raw = raw.decode("latin-1").encode("utf-8")
            notes.append("The file is not UTF-8; it was read as Latin-1.")
    if b"\x1b" in raw:
        raw = _ANSI.sub(b"", raw)
    if b"\r" in raw:
        raw = re.sub(rb"\r+\n", b"\n", raw)
        raw = re.sub(rb"^\r+|\r+$", b"", raw, flags=re.MULTILINE)
    return raw, notes


def _utf16(raw: bytes) -> str | None:
    """The UTF-16 or UTF-32 codec of `raw`; None for anything else, holes of NUL bytes included."""
    if raw.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    sample = raw[:4096]
    if len(sample) < 8 or b"\0\0" in sample:
        return None
    half = len(sample) // 2
    if sample[1::2].count(0) > 0.9 * half and not sample[0::2].count(0):
        return "utf-16-le"
    if sample[0::2].count(0) > 0.9 * half and not sample[1::2].count(0):
        return "utf-16-be"
    return None


def _without_nuls(raw: bytes, notes: list[str]) -> bytes:
    count = raw.count(b"\0")
    holes = 0
    if b"\0\0" in raw:
        # Two writers of one file leave holes; what stands before and after is two lines.
        raw, holes = re.subn(rb"\0{2,}", b"\r", raw)
    raw = raw.replace(b"\0", b"")
    where = f" in {holes:,} holes" if holes else ""
    notes.append(
        f"{count:,} NUL bytes{where} were taken out: two programs wrote this file at once, "
        "or the machine went down while it was written."
        if holes
        else f"{count:,} single NUL bytes were taken out (a file that is partly UTF-16)."
    )
    return raw


def _refuse_binary(data: bytes, shown: str) -> None:
    sample = data[:65536]
    odd = len(sample) - len(sample.translate(None, b"\1\2\3\4\5\6\7\x0e\x0f\x10\x11\x12\x13\x14"))
    if odd > 0.02 * len(sample):
        raise UnreadableError(f"{shown}: a binary file, not a log", _READ_IT_AS_TEXT)
    for start in range(0, len(data) - MAX_LINE + 1, MAX_LINE):
        if data.find(b"\n", start, start + MAX_LINE) < 0:
            raise UnreadableError(f"{shown}: has a line longer than 1 MiB", _READ_IT_AS_TEXT)
