"""The command gets what it would get without the recorder, and so does whoever waits for it."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from recordkit import ROOT, Recorded, environment, program, recorder, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the transparent launcher")


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_exit_code(tmp_path: Path, code: int) -> None:
    """Case 1. GIVEN a command that ends with a code THEN the recorder ends with it."""
    assert run("sh", "-c", f"exit {code}", cwd=tmp_path).returncode == code
    end = Recorded(tmp_path / "run.csv").end
    assert end is not None
    assert end["exit_code"] == code


@pytest.mark.parametrize("name", ["SEGV", "KILL", "TERM", "PIPE", "INT"])
def test_death_by_signal(tmp_path: Path, name: str) -> None:
    """Case 2. GIVEN a command killed by a signal THEN whoever waits sees the same, and no core."""
    done = run("sh", "-c", f"ulimit -c 0; kill -{name} $$", cwd=tmp_path)
    assert done.returncode == -signal.Signals[f"SIG{name}"]
    assert not list(tmp_path.glob("core*"))
    end = Recorded(tmp_path / "run.csv").end
    assert end is not None
    assert end["signal"] == signal.Signals[f"SIG{name}"]


def test_not_found(tmp_path: Path) -> None:
    """Case 3. GIVEN a command that does not exist THEN 127, one clear line, and no recording."""
    done = run("no-such-program", cwd=tmp_path)
    assert done.returncode == 127
    assert done.stdout == b""
    assert done.stderr == b"gpudiag: no-such-program: command not found\n"
    assert not list(tmp_path.iterdir())


def test_not_executable(tmp_path: Path) -> None:
    """Case 3. GIVEN a file that cannot be executed, or a folder THEN 126 as from a shell."""
    (tmp_path / "plain").write_text("text")
    (tmp_path / "folder").mkdir()
    for name in ("./plain", "./folder"):
        done = run(name, cwd=tmp_path)
        assert done.returncode == 126
        assert done.stderr.count(b"\n") == 1
    assert not list(tmp_path.glob("*.csv"))


def test_a_script_without_interpreter_line_runs(tmp_path: Path) -> None:
    """Case 3. GIVEN a script that a shell would run itself THEN it runs."""
    script = tmp_path / "train"
    script.write_text("echo $1\nexit 4\n")
    script.chmod(0o755)
    done = run("./train", "hello", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, b"hello\n")


def test_output_is_the_same_to_the_byte(tmp_path: Path) -> None:
    """Case 4. GIVEN a command with binary output THEN both streams are untouched."""
    command = ("sh", "-c", r"printf 'a\000\377b\r\nc'; printf 'no line feed' >&2")
    direct = subprocess.run(command, capture_output=True, check=True)
    done = run(*command, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (direct.stdout, direct.stderr)


def test_the_summary_follows_the_command(tmp_path: Path) -> None:
    """Case 4. GIVEN no --quiet THEN the recorder writes to stderr, after the command has ended."""
    both = run("sh", "-c", "printf out; printf 'err\n' >&2", cwd=tmp_path, options=())
    assert both.stdout == b"out"
    assert both.stderr.startswith(b"err\ngpudiag: run.csv: ")
    assert both.stderr.endswith(b"gpudiag: next: gpudiag report run.csv\n")


def test_stdin_belongs_to_the_command(tmp_path: Path) -> None:
    """Case 6. GIVEN data on stdin THEN the command reads all of it."""
    assert run("cat", cwd=tmp_path, input=b"x" * 200_000).stdout == b"x" * 200_000


ARGUMENTS = [
    ["a b", "", "--", "-x", "--quiet"],
    ["-o", "x.csv", "--interval", "9s"],
    ["--", "--"],
    ["*", "$HOME", "'", '"', "\\", "ä€", "\n"],
    ["-h"],
    ["--version"],
]


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_arguments_are_exact(tmp_path: Path, arguments: list[str]) -> None:
    """Case 7. GIVEN arguments that invite parsing THEN the command gets them word by word."""
    show = "import sys, json; print(json.dumps(sys.argv[1:]))"
    done = run(sys.executable, "-c", show, *arguments, cwd=tmp_path)
    assert json.loads(done.stdout) == arguments


@pytest.mark.parametrize("before", [[], ["--"]])
def test_separators_of_the_command_are_its_own(tmp_path: Path, before: list[str]) -> None:
    """Case 7. GIVEN a command whose first argument is -- THEN it gets that, whether or not there
    is one of the recorder's before the command."""
    show = tmp_path / "show"
    show.write_text(f"#!{sys.executable}\nimport sys, json; print(json.dumps(sys.argv[1:]))\n")
    show.chmod(0o755)
    words = [sys.executable, "-m", "gpudiag", "record", "--quiet", *before, str(show)]
    arguments = ["--", "--quiet", "-o", "x", "--", "--duration=1s"]
    done = subprocess.run(
        [*words, *arguments], cwd=tmp_path, env=environment(), capture_output=True, check=True
    )
    assert json.loads(done.stdout) == arguments


def test_arguments_may_be_any_bytes(tmp_path: Path) -> None:
    """Case 7. GIVEN an argument that is no UTF-8 THEN it arrives, and the recording is readable."""
    done = subprocess.run(
        [os.fsencode(word) for word in recorder("printf", "%s")] + [b"\xff\xfe"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"\xff\xfe"
    assert Recorded(tmp_path / "run.csv").start["command"][0] == "printf"


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "", "LC_CTYPE": "", "LANG": "C"}])
def test_the_process_state_is_the_same(tmp_path: Path, locale: dict[str, str]) -> None:
    """Case 7. GIVEN unusual settings THEN the command sees them as if started directly."""
    settings = "umask 027; ulimit -n 333; ulimit -s 4096; trap '' USR2 HUP; exec 7</dev/null;"
    found = []
    for name, wrap in (("direct", []), ("recorded", recorder("x")[:-1])):
        report = tmp_path / f"{name}.json"
        command = shlex.join([*wrap, *program("state", report)])
        env = {k: v for k, v in environment(**locale).items() if v}
        env.pop("_", None)
        line = f"{settings} exec nice -n 3 {command}"
        subprocess.run(["sh", "-c", line], cwd=tmp_path, env=env, check=True, timeout=60)
        facts = json.loads(report.read_text())
        facts["argv"] = facts["argv"][:-1]
        found.append(facts)
    assert found[0] == found[1]


def test_inherited_descriptors_stay_open(tmp_path: Path) -> None:
    """Case 8. GIVEN a process substitution THEN the command can read it."""
    line = shlex.join(recorder("cat")) + " <(echo hi)"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, check=True
    )
    assert done.stdout == b"hi\n"


def test_the_recorder_holds_no_descriptor_of_the_command(tmp_path: Path) -> None:
    """Case 8. GIVEN a pipe that the command closes early THEN its reader sees the end at once."""
    read_end, write_end = os.pipe()
    stop = tmp_path / "stop"
    script = f"exec {write_end}>&-; while [ ! -e {stop} ]; do sleep 0.05; done"
    process = subprocess.Popen(
        recorder("bash", "-c", script), cwd=tmp_path, env=environment(), pass_fds=(write_end,)
    )
    os.close(write_end)
    assert os.read(read_end, 1) == b""  # would block as long as anybody holds the other end
    os.close(read_end)
    assert process.poll() is None
    stop.touch()
    assert process.wait(30) == 0


def test_the_environment_is_untouched(tmp_path: Path) -> None:
    """Case 7. GIVEN the recorder THEN it sets no variable of its own."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "A": "1"}
    done = run("env", cwd=tmp_path, env=env)
    assert set(done.stdout.decode().splitlines()) == {f"{k}={v}" for k, v in env.items()}


def test_it_stays_small(tmp_path: Path) -> None:
    """Case 22. GIVEN a recording THEN its own file tells that it took at most 25 MiB."""
    run("sleep", "0.5", cwd=tmp_path)
    end = Recorded(tmp_path / "run.csv").end
    assert end is not None
    assert 5 < end["recorder_max_rss_mib"] <= 25
    assert end["recorder_cpu_s"] > 0


def test_file_size_limit_spares_the_command(tmp_path: Path) -> None:
    """Case 21. GIVEN a limit on the size of files THEN the command's code is passed on."""
    limit = (2048, resource.RLIM_INFINITY)
    done = run(
        "sh",
        "-c",
        "sleep 1; exit 6",
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert done.returncode == 6
