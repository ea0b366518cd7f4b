"""The command line: what it prints, and the exit codes that say what went wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudiag import cli
from gpudiag.errors import RuleError, UnreadableError, UsageError


def test_without_a_command_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN no command WHEN run THEN the help with examples, and success."""
    assert cli.main([]) == 0
    out = capsys.readouterr().out
    assert "gpudiag record -- python train.py" in out
    assert all(name in out for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_examples(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a command WHEN asked for help THEN it says what it does and shows examples."""
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0
    assert f"gpudiag {name}" in capsys.readouterr().out.split("examples:")[1]


@pytest.mark.parametrize(("error", "code"), [(UsageError, 2), (UnreadableError, 3), (RuleError, 4)])
def test_an_error_is_one_line_and_a_hint(
    error: type[UsageError],
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """GIVEN an error with hostile text WHEN it reaches the top THEN two plain lines, its code."""

    def fail(_: object) -> None:
        raise error("cannot read \x1b[31mred\n\u202egnp.exe", "try another file")

    monkeypatch.setattr(cli, "_parser", fail)
    assert cli.main(["report"]) == code
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["gpudiag: cannot read \\x1b[31mred\\n\\u202egnp.exe", "  try another file"]


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a command that does not exist WHEN run THEN exit code 2 and the list of commands."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["diagnose", "run.csv"])
    assert stop.value.code == 2
    assert "record" in capsys.readouterr().err


def test_a_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a path that does not exist WHEN reported on THEN one line, exit code 3."""
    assert cli.main(["report", str(tmp_path / "none.csv")]) == 3
    assert "Traceback" not in capsys.readouterr().err


def test_a_mistake_of_ours_is_one_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a bug WHEN it reaches the top THEN a line that asks to report it, and exit code 70."""
    monkeypatch.setattr(cli, "_parser", lambda _: 1 / 0)
    assert cli.main(["report"]) == 70
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert "GPUDIAG_TRACEBACK=1" in err


def run_with_streams(command: str, redirection: str) -> tuple[int, str]:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m gpudiag {command} {redirection}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["rules list", "demo --list"])
def test_output_that_cannot_be_written_is_one_line(command: str) -> None:
    """GIVEN a full disk behind standard output WHEN a command prints THEN one line, exit code 2."""
    code, err = run_with_streams(command, "> /dev/full")
    assert code == 2
    assert err.splitlines() == ["gpudiag: cannot write the output: No space left on device"]


@pytest.mark.parametrize(
    ("command", "redirection", "code"),
    [
        ("rules list", ">&-", 0),
        ("report nosuch.csv", "2>&-", 3),
        ("report -", "<&-", 3),
    ],
)
def test_closed_streams_change_no_exit_code(command: str, redirection: str, code: int) -> None:
    """GIVEN a closed stream WHEN a command runs THEN its exit code, and no traceback."""
    got, err = run_with_streams(command, redirection)
    assert got == code
    assert "Traceback" not in err


@pytest.mark.parametrize("kind", ["fifo", "loop", "link"])
def test_only_regular_files_are_replaced(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN -o on something that is no file WHEN reported THEN refused; a link is followed."""
    log, out = tmp_path / "gpu_log.csv", tmp_path / "out.html"
    log.write_text(
        "timestamp, utilization.gpu [%], memory.used [MiB]\n"
        + "".join(f"2026/01/01 10:00:{s:02d}.000, {s} %, 1000 MiB\n" for s in range(60)),
        encoding="utf-8",
    )
    if kind == "fifo":
        os.mkfifo(out)
    else:
        out.symlink_to(out if kind == "loop" else tmp_path / "real.html")
    assert cli.main(["report", str(log), "-o", str(out)]) == (0 if kind == "link" else 2)
    assert out.is_fifo() if kind == "fifo" else out.is_symlink()
    assert (tmp_path / "real.html").exists() == (kind == "link")


def test_an_empty_name_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN an empty name WHEN reported on THEN a usage error."""
    assert cli.main(["report", ""]) == 2
    assert "empty name" in capsys.readouterr().err
