"""`gpudiag report`: where it writes, what it refuses, and that each refusal is one line."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from gpudiag.cli import main

LOG = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n" + "".join(
    f"2026/07/03 14:{s // 60:02d}:{s % 60:02d}.000, 0, {95 if s % 4 else 3} %, 4500 MiB\n"
    for s in range(240)
)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "gpu_log.csv"
    path.write_text(LOG)
    return path


def test_a_page_is_written_beside_the_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a log, WHEN reported on without -o, THEN its page appears, and verdict and path."""
    assert main(["report", "gpu_log.csv"]) == 0
    verdict, path = capsys.readouterr().out.splitlines()
    assert verdict.startswith(("! Problem: ", "? Cannot tell: ", "✓ Healthy: "))
    assert path == "gpu_log.html"
    assert Path("gpu_log.html").read_text().startswith("<!doctype html>")
    assert not list(log.parent.glob(".*part"))


def test_a_report_is_replaced_and_anything_else_is_not(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN an own page, THEN it is replaced; GIVEN another file, THEN only with --force."""
    page = log.with_suffix(".html")
    assert main(["report", str(log)]) == main(["report", str(log)]) == 0
    page.write_text("my own notes")
    assert main(["report", str(log)]) == 2
    assert "exists and was not made by gpudiag" in capsys.readouterr().err
    assert page.read_text() == "my own notes"
    assert main(["report", str(log), "--force"]) == 0
    assert "gpudiag" in page.read_text()


@pytest.mark.parametrize("name", ["x.html", "x.json", "x.md", "x.txt"])
def test_every_format_knows_its_own_files(log: Path, name: str) -> None:
    """GIVEN a report of any format, THEN it may be replaced; notes of that name may not."""
    assert main(["report", str(log), "-o", name]) == main(["report", str(log), "-o", name]) == 0
    Path(name).write_text('{"mine": true}')
    assert main(["report", str(log), "-o", name]) == 2


def test_the_recording_is_never_overwritten(log: Path) -> None:
    """GIVEN -o with the log's own name, also through a link, THEN it is refused."""
    link = log.with_name("link.csv")
    link.symlink_to(log)
    for name in (log, link):
        assert main(["report", str(log), "-o", str(name), "--force"]) == 2
    assert log.read_text() == LOG


@pytest.mark.parametrize("target", ["nowhere/run.html", ".", "x\0y.html", "a" * 300 + ".html"])
def test_a_place_that_cannot_be_written_is_one_line(
    log: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN an impossible place, THEN exit code 2, and a line and a hint on stderr."""
    assert main(["report", str(log), "-o", target]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 2
    assert lines[0].startswith("gpudiag: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a disk that fills up while the page is written, THEN one line and no part of a page."""

    def full(self: Path, data: bytes) -> int:
        with open("/dev/full", "wb", buffering=0) as file:
            return file.write(data)

    monkeypatch.setattr(Path, "write_bytes", full)
    assert main(["report", str(log)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert not log.with_suffix(".html").exists()


def test_formats_follow_the_ending_or_the_option(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN -o x.json or --format, THEN that format; text goes to the terminal by default."""
    assert main(["report", str(log), "-o", "x.json"]) == 0
    assert json.loads(Path("x.json").read_text())["schema_version"] == 1
    capsys.readouterr()


def test_standard_output_gets_the_report_alone(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN -o - or --format text, THEN nothing but the report is printed."""
    for arguments, start in ((["-o", "-"], b"<!doctype html>"), (["--format", "json"], b"{\n")):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
        assert main(["report", str(log), *arguments]) == 0
        assert raw.getvalue().startswith(start)
        monkeypatch.undo()
        os.chdir(log.parent)


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 500, b"hello\nworld\n"])
def test_a_file_that_is_no_recording_is_one_line(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN an empty, binary or foreign file, THEN exit code 3 and one line with a hint."""
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    assert main(["report", str(path)]) == 3
    assert capsys.readouterr().err.startswith("gpudiag: ")
    assert not path.with_suffix(".html").exists()


def test_an_interval_of_nothing_is_a_usage_error(log: Path) -> None:
    """GIVEN --interval 0 or nonsense, THEN exit code 2 from the argument parser."""
    for interval in ("0", "soon", "-1"):
        with pytest.raises(SystemExit) as stopped:
            main(["report", str(log), f"--interval={interval}"])
        assert stopped.value.code == 2


def test_an_ending_that_promises_another_kind_of_file_is_refused(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN -o page.pdf WHEN reported THEN one line, and no HTML in a file of that name."""
    assert main(["report", str(log), "-o", str(log.with_name("page.pdf"))]) == 2
    assert "cannot be written as .pdf" in capsys.readouterr().err
    assert not log.with_name("page.pdf").exists()


def test_open_opens_the_page_and_nothing_else(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN --open, THEN the browser gets the page; without one a line says so; no page, no go."""
    opened: list[str] = []

    def take(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", take)
    assert main(["report", str(log), "--open"]) == 0
    assert opened == [log.with_suffix(".html").resolve().as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert main(["report", str(log), "--open"]) == 0
    assert "no browser was found" in capsys.readouterr().err
    assert main(["report", str(log), "--open", "--format", "text"]) == 2
    assert main(["report", str(log), "--open", "-o", "-"]) == 2
