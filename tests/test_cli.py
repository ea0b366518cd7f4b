"""The command line: what it prints, and the exit codes that say what went wrong."""

from __future__ import annotations

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
