"""`gpudiag completion`: the scripts in the shells that they are for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

if os.name != "posix":
    pytest.skip("bash, zsh and fish", allow_module_level=True)

import completionkit as shells

from gpudiag import cli
from gpudiag.commands.completion import SHELLS
from gpudiag.commands.completion_words import every, grammar

Capture = pytest.CaptureFixture[str]
ASK = {"bash": shells.bash, "fish": shells.fish}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What lies in the folder in which Tab is pressed."""
    place = tmp_path / "place"
    (place / "sub").mkdir(parents=True)
    for name in ("run.csv", "gpu.log", "limits.toml", "picture.png"):
        (place / name).touch()
    return place


def test_every_command_is_known() -> None:
    """GIVEN the commands of gpudiag WHEN the grammar is read THEN it has them all, no more."""
    assert sorted(action.path for action in grammar().actions) == sorted(cli.COMMANDS)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_names_every_option(shell: str, capsys: Capture) -> None:
    """GIVEN all parsers WHEN a script is printed THEN every option of every command is in it."""
    assert cli.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    flags = {flag for command in every(grammar()) for o in command.options for flag in o.flags}
    assert {"--fail-on", "--interval", "--thresholds"} <= flags
    assert not [flag for flag in flags if flag.lstrip("-") not in text]


@pytest.mark.parametrize("shell", sorted(ASK))
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (["gpudiag", "rec"], ["record"]),
        (["gpudiag", "record", "--int"], ["--interval"]),
        (["gpudiag", "report", "--format", "h"], ["html"]),
        (["gpudiag", "report", ""], ["gpu.log", "run.csv", "sub"]),
        (["gpudiag", "report", "pic"], ["picture.png"]),
        (["gpudiag", "check", "--thresholds", ""], ["limits.toml", "sub"]),
        (["gpudiag", "check", "--rules", ""], ["sub"]),
        (["gpudiag", "rules", "sh"], ["show"]),
        (["gpudiag", "rules", "test", "--thr"], ["--thresholds"]),
        (["gpudiag", "completion", ""], ["bash", "fish", "zsh"]),
        (["gpudiag", "record", "--", "cat", "pic"], ["picture.png"]),
        (["gpudiag", "record", "--interval", "1s", "--", "cat", "pic"], ["picture.png"]),
        (["gpudiag", "record", "cat", "pic"], ["picture.png"]),
    ],
)
def test_bash_and_fish_complete(
    shell: str, line: list[str], offered: list[str], tmp_path: Path, folder: Path, capsys: Capture
) -> None:
    """GIVEN the script in a real shell WHEN Tab is pressed THEN what fits."""
    script = shells.script(shell, tmp_path, capsys)
    assert sorted(ASK[shell](script, folder, *line)) == offered


@pytest.mark.parametrize("shell", sorted(ASK))
def test_after_the_dashes_the_command_is_the_users_own(
    shell: str, tmp_path: Path, folder: Path, capsys: Capture
) -> None:
    """GIVEN `record --` WHEN Tab is pressed THEN programs of the PATH, and none of our options."""
    script = shells.script(shell, tmp_path, capsys)
    assert "chmod" in ASK[shell](script, folder, "gpudiag", "record", "--", "chmo")
    theirs = ASK[shell](script, folder, "gpudiag", "record", "--", "chmod", "--q")
    assert "--quiet" not in theirs or shell == "fish"  # fish knows the options of chmod itself


def test_bash_takes_an_equals_sign(tmp_path: Path, folder: Path, capsys: Capture) -> None:
    """GIVEN `--format=h`, which bash splits in three WHEN completed THEN its value."""
    script = shells.script("bash", tmp_path, capsys)
    line = ["gpudiag", "report", "--format", "="]
    assert shells.bash(script, folder, *line, "h") == ["html"]
    assert "json" in shells.bash(script, folder, *line)


def test_zsh_completes(tmp_path: Path, folder: Path, capsys: Capture) -> None:
    """GIVEN the script in a zsh on a terminal WHEN Tab is pressed THEN the line is completed."""
    script = shells.script("zsh", tmp_path, capsys)
    lines = {
        "gpudiag rec": "gpudiag record ",
        "gpudiag record --int": "gpudiag record --interval ",
        "gpudiag report --format h": "gpudiag report --format html ",
        "gpudiag report --format=h": "gpudiag report --format=html ",
        "gpudiag report r": "gpudiag report run.csv ",
        "gpudiag report pic": "gpudiag report picture.png ",
        "gpudiag check --thresholds l": "gpudiag check --thresholds limits.toml ",
        "gpudiag rules sh": "gpudiag rules show ",
        "gpudiag record -- cat pic": "gpudiag record -- cat picture.png ",
        "gpudiag record --interval 1s cat pic": "gpudiag record --interval 1s cat picture.png ",
    }
    made = shells.zsh(script, folder, *lines)
    assert [line.rstrip() for line in made] == [line.rstrip() for line in lines.values()]


def test_zsh_without_completion_sources_it(tmp_path: Path, folder: Path, capsys: Capture) -> None:
    """GIVEN the script WHEN sourced by a zsh that has not set up completion THEN no error."""
    script = shells.script("zsh", tmp_path, capsys)
    assert shells.lines(["zsh", "-f", "-c", f"source {script} && echo fine"], folder) == ["fine"]
