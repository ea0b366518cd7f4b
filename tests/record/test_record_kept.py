"""Descriptors that stay open: closed with their process, and never more than the limit allows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("/proc", allow_module_level=True)

from gpudiag.record.linux.kept import KeptFiles
from gpudiag.record.linux.procfs import ProcFs


def opened() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_a_kept_file_is_read_anew(tmp_path: Path) -> None:
    """GIVEN a file that changes THEN every read shows it; THEN forget closes it."""
    (tmp_path / "7").mkdir()
    file = tmp_path / "7" / "stat"
    file.write_text("one")
    files, before = KeptFiles(str(tmp_path)), opened()
    assert files.read(7, "stat") == b"one"
    file.write_text("two")
    assert files.read(7, "stat") == b"two"
    assert files.read(8, "stat") == b""
    assert (files.kept(7), files.kept(8)) == (True, False)
    assert opened() == before + 1
    files.forget(7)
    files.forget(8)
    assert opened() == before


def test_an_ended_process_reads_nothing() -> None:
    """GIVEN a kept file of a process WHEN that has ended THEN it reads nothing and is closed."""
    pid = os.fork()
    if pid == 0:
        os.read(os.pipe()[0], 1)
    files, before = KeptFiles("/proc"), opened()
    assert files.read(pid, "stat").startswith(str(pid).encode())
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert files.read(pid, "stat") == b""
    assert opened() == before


def test_the_limit_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a low limit of open files THEN half of it is used, the rest read all the same."""
    for number in range(10):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "io").write_text(f"{number}")
    monkeypatch.setattr("resource.getrlimit", lambda _: (8, 8))
    files, before = KeptFiles(str(tmp_path)), opened()
    for _ in range(2):
        assert [files.read(n, "io") for n in range(10)] == [str(n).encode() for n in range(10)]
    assert opened() == before + 4
    for number in range(10):
        files.forget(number)
    assert opened() == before


def test_ended_threads_are_closed(tmp_path: Path) -> None:
    """GIVEN threads that come and go THEN no descriptor of one that has gone stays open."""
    reader, before = ProcFs(str(tmp_path)), opened()
    for thread in range(20):
        folder = tmp_path / "7" / "task" / str(thread)
        folder.mkdir(parents=True)
        (folder / "schedstat").write_text("1 2 3\n")
        assert list(reader.thread_times(7, 2)) == [thread]
        (folder / "schedstat").unlink()
        folder.rmdir()
    assert opened() <= before + 1


def test_strangers_are_not_kept(tmp_path: Path) -> None:
    """GIVEN a process that is looked at to see whether it belongs THEN nothing stays open."""
    (tmp_path / "7").mkdir()
    fields = " ".join(["S", "5", *map(str, range(50))])
    (tmp_path / "7" / "stat").write_text(f"7 (a) {fields}\n")
    reader, before = ProcFs(str(tmp_path)), opened()
    assert reader.reading(7) is not None
    assert opened() == before
    reader.io(7)  # there is none, as of a process of another user
    assert reader.reading(7) is not None
