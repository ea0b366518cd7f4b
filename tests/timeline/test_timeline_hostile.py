"""Whatever the input: a Timeline or one clear line, and every line of the file accounted for."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudiag.errors import GpudiagError, UnreadableError
from gpudiag.timeline import load as load_module
from gpudiag.timeline.read import read

LOGS = sorted((Path(__file__).parents[1] / "fixtures" / "logs").iterdir())
SEEDS = [path.read_bytes() for path in LOGS]
quick = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            timeline = read(path)
        except GpudiagError as error:
            said = error.message
            timeline = None
    if timeline is None:
        assert said
        assert "\n" not in said
        return
    source = timeline.source
    assert source.unaccounted == 0
    assert len(timeline.frame)
    assert timeline.frame.index.is_monotonic_increasing
    assert timeline.frame.index.is_unique
    assert not timeline.frame.isin([float("inf"), float("-inf")]).any(axis=None)
    assert all(dropped.reason for dropped in source.dropped)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


@quick
@given(data=st.binary(max_size=400))
def test_random_bytes(path: Path, data: bytes) -> None:
    check(path, data)


@quick
@given(
    lines=st.lists(
        st.one_of(
            st.text("0123456789 ,.%:-/[]|\"'\t\r\0MiBWPxNA", max_size=60),
            st.sampled_from(sorted({line for seed in SEEDS for line in seed.decode().split("\n")})),
        ),
        max_size=25,
    ),
    end=st.sampled_from(["\n", "\r\n", "\r", ""]),
)
def test_lines_of_all_logs_mixed(path: Path, lines: list[str], end: str) -> None:
    check(path, "\n".join(lines).encode() + end.encode())


@quick
@given(seed=st.sampled_from(SEEDS), data=st.data())
def test_cut_and_mutated_logs(path: Path, seed: bytes, data: st.DataObject) -> None:
    """GIVEN a log that is cut at both ends and has bytes changed, taken out, put in and doubled."""
    start = data.draw(st.integers(0, len(seed) // 2))
    text = bytearray(seed[start : data.draw(st.integers(start, len(seed)))])
    for _ in range(data.draw(st.integers(0, 8))):
        at = data.draw(st.integers(0, max(len(text) - 1, 0)))
        how = data.draw(st.sampled_from(["byte", "cut", "nuls", "double", "char"]))
        if how == "byte":
            text[at : at + 1] = bytes([data.draw(st.integers(0, 255))])
        elif how == "cut":
            del text[at : at + data.draw(st.integers(1, 30))]
        elif how == "nuls":
            text[at:at] = b"\0" * data.draw(st.integers(1, 60))
        elif how == "double":
            text[at:at] = text[at : at + 80]
        else:
            text[at:at] = data.draw(st.sampled_from([b",", b"\n", b'"', b"#", b"[N/A]", b"9" * 40]))
    check(path, bytes(text))


@pytest.mark.parametrize("seed", SEEDS, ids=[path.name for path in LOGS])
def test_every_cut_of_every_log(path: Path, seed: bytes) -> None:
    for cut in range(0, len(seed), 7):
        check(path, seed[:cut])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n \r\n", "is empty"),
        (b"\0" * 5000, "holds only NUL bytes"),
        (b"PK\x03\x04rest", "a ZIP archive or an Excel workbook"),
        (b"\x28\xb5\x2f\xfdrest", "zstd"),
        (bytes(range(256)) * 40, "a binary file"),
        (b"hello\nworld\n", "not a log that gpudiag knows"),
        (b"x" * (3 << 20), "a line longer than 1 MiB"),
        (b"<?xml version='1.0'?><nvidia_smi_log></nvidia_smi_log>", "XML"),
    ],
)
def test_what_is_no_log(path: Path, data: bytes, message: str) -> None:
    path.write_bytes(data)
    with pytest.raises(UnreadableError, match=message) as caught:
        read(path)
    assert caught.value.hint


def test_no_file_a_folder_a_fifo_a_locked_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="no such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(UnreadableError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(UnreadableError, match="cannot be read"):
        read("a\0b")
    with pytest.raises(UnreadableError, match="cannot be read"):
        read("x" * 5000)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UnreadableError, match="not a regular file"):
        read(tmp_path / "fifo")
    locked = tmp_path / "locked.csv"
    locked.write_text("utilization.gpu [%]\n5 %\n")
    locked.chmod(0)
    if not os.access(locked, os.R_OK):
        with pytest.raises(UnreadableError, match="may not be read"):
            read(locked)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_bomb_is_refused(path: Path, pack: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a file that unpacks a thousandfold THEN unpacking stops early with one clear line."""
    monkeypatch.setattr(load_module, "EXPANSION_FREE", 1 << 20)
    path.write_bytes(pack(b"\0" * (16 << 20)))  # type: ignore[operator]
    with pytest.raises(UnreadableError, match="unpacks to more than"):
        read(path)


def test_too_large(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_module, "MAX_BYTES", 1000)
    path.write_bytes(b"0, 5 %\n" * 1000)
    with pytest.raises(UnreadableError, match="larger than"):
        read(path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"utilization.gpu [%]\n5 %\n")))
    timeline = read("-")
    assert timeline.source.path == "standard input"
    assert timeline.frame["gpu0_util_pct"].tolist() == [5]
