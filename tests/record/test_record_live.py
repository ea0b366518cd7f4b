"""`--live`: what the line says, and that it spares what the command prints."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from recordkit import PATIENCE_S, environment, recorder, run

from gpudiag.language import speaking
from gpudiag.record.live import StatusLine, joined, parts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")

ROW = {
    "t_s": 125.0,
    "gpu0_util_pct": 31,
    "gpu0_mem_util_pct": 7,
    "gpu0_mem_used_mib": 4500,
    "main_cpu_pct": 101.4,
    "workers": 4,
    "workers_cpu_pct": 380,
    "host_cpu_pct": 55.5,
}
GPUS = [{"index": 0, "mem_total_mib": 40960}]


def test_what_it_says() -> None:
    """GIVEN a row THEN its main figures, and none that was not measured."""
    assert parts(ROW, GPUS) == [
        "[gpudiag 2 min 5 s]",
        "GPU 31 %",
        "memory 4.4/40 GiB",
        "main 101 % CPU",
        "4 workers 380 % CPU",
        "host 56 % CPU",
    ]
    assert parts({"t_s": 1.0, "workers": 0, "main_cpu_pct": None}, []) == ["[gpudiag 1.0 s]"]
    assert parts({"t_s": 1.0}, GPUS)[1:] == ["GPU: no reading"]
    assert parts({"t_s": 1.0, "gpu0_mem_used_mib": 1024.0}, [])[1:] == ["memory 1.0 GiB"]


def test_several_gpus() -> None:
    """GIVEN eight GPUs THEN mean, lowest and highest, and the fullest one's memory."""
    row = {f"gpu{n}_util_pct": 10.0 * n for n in range(8)} | {"t_s": 1.0}
    row |= {f"gpu{n}_mem_used_mib": 1024.0 * (n + 1) for n in range(8)}
    facts = [{"index": n, "mem_total_mib": 81920 if n else 1024} for n in range(8)]
    assert parts(row, facts)[1:] == ["8 GPUs 35 % (0-70)", "memory 1.0/1 GiB (GPU 0)"]


def test_it_fits_the_width() -> None:
    """GIVEN any width THEN the line is shorter, made of whole parts as long as one fits."""
    told = parts(ROW, GPUS)
    for width in range(200):
        text = joined(told, width)
        assert len(text) < max(width, 1)
        if width > len(told[0]):
            assert text == " | ".join(told[: text.count(" | ") + 1])


class Screen:
    """As much of a terminal as the line uses, ten columns wide."""

    WIDTH = 10

    def __init__(self) -> None:
        self.rows = [[" "] * self.WIDTH for _ in range(6)]
        self.row = self.column = 0
        self.saved = (0, 0)
        self.wraps = True

    def feed(self, text: str) -> None:
        for token in re.findall(r"\x1b7|\x1b8|\x1b\[K|\x1b\[\?7[lh]|[^\x1b]", text):
            match token:
                case "\x1b7":
                    self.saved = (self.row, self.column)
                case "\x1b8":
                    self.row, self.column = self.saved
                case "\x1b[K":
                    column = min(self.column, self.WIDTH - 1)
                    self.rows[self.row][column:] = [" "] * (self.WIDTH - column)
                case "\x1b[?7l" | "\x1b[?7h":
                    self.wraps = token.endswith("h")
                case "\n":
                    self.row, self.column = self.row + 1, 0
                case _:
                    if self.column == self.WIDTH:
                        if self.wraps:
                            self.row, self.column = self.row + 1, 0
                        else:
                            self.column -= 1
                    self.rows[self.row][self.column] = token
                    self.column += 1

    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.rows]


@pytest.fixture
def terminal() -> object:
    """A terminal of 10 columns: its other end, and the line on it."""
    master, slave = pty.openpty()
    # wide, so that the line is not cut before the screen cuts it
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    line = StatusLine(os.ttyname(slave))
    yield master, line
    os.close(master)
    os.close(slave)


def arrived(master: int) -> str:
    """What a terminal has got, which may come in pieces."""
    data = os.read(master, 4096)
    while select.select([master], [], [], 0.3)[0]:
        data += os.read(master, 4096)
    return data.decode()


def test_nothing_of_the_command_is_erased(terminal: tuple[int, StatusLine]) -> None:
    """GIVEN a prompt without a line feed WHEN the line is shown, renewed and removed THEN the
    prompt, what comes after it and the place of the cursor are as they would be without it."""
    master, line = terminal
    screen = Screen()
    screen.feed("one\nask> ")
    line.show(ROW, GPUS)
    screen.feed(arrived(master))
    assert screen.lines()[1].startswith("ask> [gpu")
    assert (screen.row, screen.column) == (1, 5)
    screen.feed("yes\ntwo\n")
    line.show(ROW, GPUS)
    line.close()
    screen.feed(arrived(master))
    assert screen.lines()[0] == "one"
    assert screen.lines()[1].startswith("ask> yes")
    assert screen.lines()[2:4] == ["two", ""]
    assert (screen.row, screen.column) == (3, 0)


def test_a_terminal_that_takes_nothing(terminal: tuple[int, StatusLine]) -> None:
    """GIVEN a terminal that is held (Ctrl-S) THEN the recorder does not wait for it."""
    _, line = terminal
    for _ in range(3000):  # far more than a terminal buffers
        line.show(ROW, GPUS)


def on_a_terminal(*words: str, cwd: Path) -> str:
    """What a terminal gets to see of a command."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        words, cwd=cwd, env=environment(), stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    seen = b""
    with contextlib.suppress(OSError):
        while data := os.read(master, 65536):
            seen += data
    os.close(master)
    assert process.wait(PATIENCE_S) == 0
    return seen.decode()


COMMAND = ("sh", "-c", "printf 'ask> '; sleep 1.5; printf 'yes\\n'")


def test_on_a_terminal(tmp_path: Path) -> None:
    """GIVEN --live on a terminal THEN the line comes, and what the command prints comes whole."""
    options = ("--quiet", "--interval", "0.2", "--live")
    seen = on_a_terminal(*recorder(*COMMAND, options=options), cwd=tmp_path)
    shown = re.findall(r"\x1b7\x1b\[\?7l(.*?)\x1b\[K\x1b\[\?7h\x1b8", seen)
    assert shown
    assert all(text.startswith("[gpudiag ") for text in shown)
    rest = re.sub(r"\x1b7.*?\x1b8|\x1b\[K", "", seen)
    assert rest == "ask> yes\r\n"


def test_nothing_by_default(tmp_path: Path) -> None:
    """GIVEN no --live THEN a terminal sees what the command prints, and not a byte more."""
    assert on_a_terminal(*recorder(*COMMAND), cwd=tmp_path) == "ask> yes\r\n"


def test_not_on_a_file(tmp_path: Path) -> None:
    """GIVEN --live with stderr in a pipe THEN nothing goes there."""
    done = run(*COMMAND, cwd=tmp_path, options=("--quiet", "--interval", "0.2", "--live"))
    assert (done.stdout, done.stderr) == (b"ask> yes\n", b"")


def test_it_speaks_chinese() -> None:
    """GIVEN the language zh THEN the parts are Chinese, and a character counts two columns."""
    with speaking("zh"):
        told = parts(ROW, GPUS)
    assert told[2:] == [
        "显存 4.4/40 GiB",
        "主进程 CPU 101 %",
        "4 个 worker CPU 380 %",
        "主机 CPU 56 %",
    ]
    for width in range(2, 120):
        text = joined(told, width)
        assert sum(2 if ord(char) > 0x2E7F else 1 for char in text) < width
