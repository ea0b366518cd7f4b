"""Real shells that complete a line: what they would offer, or make of it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from gpudiag import cli

_PATIENCE_S = 60.0
_ZSHRC = """
PS1='' PROMPT_EOL_MARK=''
autoload -Uz compinit && compinit -u -D
source {script} || print -r -- failed > {out}
dump() {{ print -r -- "$BUFFER" >> {out}; BUFFER= }}
zle -N dump
bindkey '^I' complete-word '^X' dump
print -r -- ready >> {out}
"""


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The script for `shell`, as gpudiag prints it; skips where the shell is not installed."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert cli.main(["completion", shell]) == 0
    path = folder / f"completion.{shell}"
    path.write_text(capsys.readouterr().out)
    return path


def bash(path: Path, folder: Path, *words: str) -> list[str]:
    """What bash would offer for the last of `words`."""
    code = (
        'source "$0" || exit 9; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        "_gpudiag 2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    return lines(["bash", "--norc", "-c", code, str(path), *words], folder)


def fish(path: Path, folder: Path, *words: str) -> list[str]:
    """What fish would offer for the last of `words`, without its descriptions."""
    code = f"source {path}; complete -C '{' '.join(words)}'"
    found = lines(["fish", "--no-config", "-c", code], folder)
    return [line.split("\t")[0].rstrip("/") for line in found]


def zsh(path: Path, folder: Path, *lines: str) -> list[str]:
    """What zsh makes of each line when Tab is pressed at its end."""
    out = path.with_name("zsh-out")
    rc = path.with_name("zshrc")
    rc.write_text(_ZSHRC.format(script=path, out=out))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", HOME=str(folder), ZDOTDIR=str(folder))
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        os.write(terminal, f"source {rc}\n".encode())
        _wait(terminal, out, 1)
        for count, line in enumerate(lines, 2):
            os.write(terminal, line.encode() + b"\t\x18")
            _wait(terminal, out, count)
    finally:
        os.write(terminal, b"\x15exit\n")
        os.close(terminal)
        os.waitpid(child, 0)
    return out.read_text().splitlines()[1:]


def _wait(terminal: int, out: Path, count: int) -> None:
    """Read the terminal empty until the file has so many lines."""
    end = time.monotonic() + _PATIENCE_S
    said = b""
    while not out.exists() or len(out.read_text().splitlines()) < count:
        assert time.monotonic() < end, said.decode("utf-8", "replace")
        if select.select([terminal], [], [], 0.05)[0]:
            said += os.read(terminal, 65536)


def lines(argv: list[str], folder: Path) -> list[str]:
    env = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]
