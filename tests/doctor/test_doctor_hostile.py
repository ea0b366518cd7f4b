"""`gpudiag doctor` before an nvidia-smi that hangs, floods, or is another program."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

from gpudiag import cli
from gpudiag.commands.doctor import timeout
from gpudiag.errors import UsageError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shell scripts stand for nvidia-smi")
Capture = pytest.CaptureFixture[str]


def test_one_that_hangs(healthy: Any, capsys: Capture) -> None:
    """GIVEN an nvidia-smi that never answers WHEN the time is over THEN it is said to hang."""
    healthy.simulate(faults=[{"kind": "hang", "where": "start", "ignore_sigterm": True}])
    code, checks = healthy.ask(capsys, "--timeout", "0.5s")
    assert code == 1
    assert "it hangs" in checks["nvidia-smi"]["fact"]


def test_one_that_leaves_a_child_with_its_output(healthy: Any, capsys: Capture) -> None:
    """GIVEN a program whose child keeps the pipe open WHEN asked THEN the deadline holds."""
    healthy.script("sleep 5 &\nexit 0")
    code, _ = healthy.ask(capsys, "--timeout", "0.5s")
    assert code == 1


def test_an_impostor(healthy: Any, capsys: Capture) -> None:
    """GIVEN a program that prints a table whatever is asked WHEN asked THEN it is not believed."""
    healthy.simulate(faults=[{"kind": "impostor"}])
    code, checks = healthy.ask(capsys)
    assert code == 1
    assert "does not answer as nvidia-smi does" in checks["nvidia-smi"]["fact"]


@pytest.mark.parametrize(
    "text",
    [
        r"printf '\033[31mred\033[0m\033]0;title\007\n'",
        "head -c 10000000 /dev/zero | tr '\\0' 'x'",
        "head -c 300000 /dev/urandom",
        "yes 0,GPU-1,x",
        "exit 0",
        "echo 'sh: nvidia-smi: command not found'; exit 127",
        r"printf '0, GPU-1, \033[31mX, a, 590, v, 1, 1, 1, 1, 1, 1, 1, 1, \033[2J, x, x, x\n'",
    ],
)
def test_hostile_output_is_harmless(healthy: Any, capsys: Capture, text: str) -> None:
    """GIVEN control characters, floods and noise WHEN shown THEN short plain lines."""
    healthy.script(text)
    assert cli.main(["doctor", "--timeout", "5s"]) in (0, 1)
    out, err = capsys.readouterr()
    assert err == ""
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", out)
    assert all(len(line) < 600 for line in out.splitlines())


def test_a_file_that_is_no_program(healthy: Any, capsys: Capture) -> None:
    """GIVEN an nvidia-smi that the system cannot execute WHEN asked THEN a fault, no traceback."""
    path = healthy.bin / "nvidia-smi"
    path.write_bytes(b"\x00\x01\x02 no program")
    code, checks = healthy.ask(capsys)
    assert code == 1
    assert "cannot be started" in checks["nvidia-smi"]["fact"]


def test_a_machine_without_proc(patient: Any, capsys: Capture) -> None:
    """GIVEN a root with nothing in it WHEN asked THEN what cannot be told is said so."""
    patient.simulate()
    code, checks = patient.ask(capsys)
    assert code == 0
    unknown = {name for name, check in checks.items() if check["level"] == "unknown"}
    assert {"GPU access", "PID namespace", "/dev/shm", "CPU"} <= unknown


@pytest.mark.parametrize("text", ["0", "x", "", "9h"])
def test_a_timeout_that_is_none(text: str) -> None:
    """GIVEN no usable time WHEN read THEN a usage error."""
    with pytest.raises(UsageError):
        timeout(text)
