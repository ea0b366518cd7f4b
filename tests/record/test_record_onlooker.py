"""Recording without a command: a running process, the machine; and for a while only."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from recordkit import PATIENCE_S, ROOT, Recorded, alive, environment, hold, rows, start, wait_for

from gpudiag.commands.record import duration, gpus, process
from gpudiag.demo.nvidia_smi import install
from gpudiag.errors import UsageError
from gpudiag.record.launch import Exit
from gpudiag.record.onlooker import Attached, PlainOnlooker, choose

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc")


def look_on(*options: str, cwd: Path, **more: str) -> subprocess.Popen[bytes]:
    """Start a recording without a command."""
    words = [sys.executable, "-m", "gpudiag", "record", "--interval", "0.2", *options]
    return subprocess.Popen(words, cwd=cwd, env=environment(**more), stderr=subprocess.PIPE)


def ended(recorder: subprocess.Popen[bytes]) -> tuple[int, str]:
    said = recorder.communicate(timeout=PATIENCE_S)[1].decode()
    return recorder.returncode, said


@linux
def test_a_running_process_with_its_descendants(tmp_path: Path) -> None:
    """GIVEN a shell with a child, running already WHEN attached to THEN both are in the rows, and
    the recording ends when the shell does, with exit code 0 whatever the shell's was."""
    command = f"sleep 60 & {hold(tmp_path)[2]}"
    victim = subprocess.Popen(
        ["sh", "-c", command], cwd=tmp_path, env={"CUDA_VISIBLE_DEVICES": "1"}
    )
    try:
        recorder = look_on("--pid", str(victim.pid), cwd=tmp_path)
        rows(tmp_path, 3, "others")
        (tmp_path / "stop").touch()
        assert victim.wait(PATIENCE_S) == 6
        code, said = ended(recorder)
    finally:
        victim.kill()
    recorded = Recorded(tmp_path / "run.csv")
    assert code == 0
    assert f"recording process {victim.pid} until it ends" in said
    assert max(recorded.column("others")) >= 2
    assert recorded.start["mode"] == "process"
    assert recorded.start["pid"] == victim.pid
    assert recorded.start["command"][:2] == ["sh", "-c"]
    assert recorded.start["cwd"] == str(tmp_path)
    assert recorded.start["env"] == {"CUDA_VISIBLE_DEVICES": "1"}
    assert recorded.end is not None
    assert recorded.end["ended"] == "process"
    assert "exit_code" not in recorded.end


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_recording_alone(tmp_path: Path, number: int) -> None:
    """GIVEN a recording of a running process WHEN the recorder gets a signal THEN the recording
    ends, whole and with exit code 0, and the process does not notice."""
    victim = subprocess.Popen(["sleep", "120"])
    try:
        recorder = look_on("--pid", str(victim.pid), cwd=tmp_path)
        rows(tmp_path)
        recorder.send_signal(number)
        code, _ = ended(recorder)
        assert alive(victim.pid)
    finally:
        victim.kill()
        victim.wait()
    recorded = Recorded(tmp_path / "run.csv")
    assert code == 0
    assert recorded.end is not None
    assert recorded.end["ended"] == "asked"


@linux
def test_the_recorder_is_no_part_of_what_it_looks_at(tmp_path: Path) -> None:
    """GIVEN a shell that records itself THEN neither the recorder nor nvidia-smi is counted."""
    install(tmp_path)
    env = environment(GPUDIAG_SIM_DIR=str(tmp_path), PYTHONPATH=str(ROOT))
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    record = f"{sys.executable} -m gpudiag record --interval 0.2 --duration 2s --pid $$"
    script = f"{record}; exit 4"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=env, timeout=PATIENCE_S)
    recorded = Recorded(tmp_path / "run.csv")
    assert done.returncode == 4
    assert set(recorded.column("others")) | set(recorded.column("main_threads")) == {1.0}
    assert recorded.end is not None
    assert recorded.end["ended"] == "duration"


def test_the_machine_for_a_while(tmp_path: Path) -> None:
    """GIVEN neither a command nor a process THEN the machine is recorded; no process columns."""
    code, said = ended(look_on("--duration", "1s", cwd=tmp_path))
    recorded = Recorded(tmp_path / "run.csv")
    assert code == 0
    assert "recording this machine for 1.0 s" in said
    assert recorded.start["mode"] == "machine"
    assert recorded.start["command"] == []
    assert recorded.column("host_mem_used_mib")
    assert not any(row["others"] or row["workers"] or row["main_cpu_pct"] for row in recorded.rows)
    assert recorded.end is not None
    assert recorded.end["ended"] == "duration"


def test_the_machine_without_a_place_to_write(tmp_path: Path) -> None:
    """GIVEN nothing to run and nowhere to write THEN it is an error, for nothing would be left."""
    code, said = ended(look_on("-o", "nowhere/run.csv", cwd=tmp_path))
    assert code == 2
    assert "there is no folder" in said


@linux
def test_a_command_is_not_ended_by_the_duration(tmp_path: Path) -> None:
    """GIVEN a command that runs longer THEN the recording ends, the command goes on, its exit code
    is passed on, and no helper lives on meanwhile."""
    install(tmp_path)
    env = environment(GPUDIAG_SIM_DIR=str(tmp_path))
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    words = ["--quiet", "--interval", "0.2", "--duration", "5s", "--", *hold(tmp_path)]
    recorder = subprocess.Popen(
        [sys.executable, "-m", "gpudiag", "record", *words], cwd=tmp_path, env=env
    )
    wait_for(lambda: (tmp_path / "calls.log").exists())
    wait_for(lambda: Recorded(tmp_path / "run.csv").end)
    assert recorder.poll() is None
    calls = [json.loads(line) for line in (tmp_path / "calls.log").read_text().splitlines()]
    wait_for(lambda: not any(alive(call["pid"]) for call in calls))
    (tmp_path / "stop").touch()
    assert recorder.wait(PATIENCE_S) == 6
    recorded = Recorded(tmp_path / "run.csv")
    assert recorded.end is not None
    assert recorded.end["ended"] == "duration"
    assert recorded.end["t_s"] < 30


@linux
def test_signals_reach_the_command_after_the_duration(tmp_path: Path) -> None:
    """GIVEN a recording that is over and a command that is not THEN signals are still passed on."""
    script = "trap 'exit 9' TERM; while :; do sleep 0.05; done"
    words = ["--quiet", "--interval", "0.2", "--duration", "0.4s", "--", "sh", "-c", script]
    recorder = subprocess.Popen(
        [sys.executable, "-m", "gpudiag", "record", *words], cwd=tmp_path, env=environment()
    )
    wait_for(lambda: Recorded(tmp_path / "run.csv").end)
    recorder.terminate()
    assert recorder.wait(PATIENCE_S) == 9


@linux
def test_some_gpus_only(tmp_path: Path) -> None:
    """GIVEN four GPUs and --gpus 1,3 THEN these two are recorded, and the file says why."""
    install(tmp_path)
    (tmp_path / "sim.json").write_text(json.dumps({"gpus": [{}] * 4}))
    env = environment(GPUDIAG_SIM_DIR=str(tmp_path))
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    options = ("--quiet", "--interval", "0.2", "--gpus", "1,3")
    recorder = start(*hold(tmp_path), cwd=tmp_path, env=env, options=options)
    rows(tmp_path, 2, "gpu3_util_pct")
    wait_for(lambda: Recorded(tmp_path / "run.csv").start["gpus"])
    (tmp_path / "stop").touch()
    assert recorder.wait(PATIENCE_S) == 6
    recorded = Recorded(tmp_path / "run.csv")
    numbers = {name.split("_")[0] for name in recorded.columns if name.endswith("_util_pct")}
    assert numbers == {"gpu1", "gpu3"}
    assert [gpu["index"] for gpu in recorded.start["gpus"]] == [1, 3]
    assert recorded.start["gpus_asked"] == ["1", "3"]


@pytest.mark.parametrize(
    "words",
    [
        ["--pid", "0"],
        ["--pid", "-4"],
        ["--pid", "abc"],
        ["--pid", "99999999999999999999"],
        ["--pid", "4000000000"],
        ["--pid", "1", "--", "true"],
        ["--duration", "soon", "--", "true"],
        ["--duration", "0.1s", "--", "true"],
        ["--gpus", "", "--", "true"],
        ["--gpus", "0,;rm", "--", "true"],
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, words: list[str]) -> None:
    """GIVEN a mistake THEN one line and a hint, exit code 2, and nothing is run or written."""
    done = subprocess.run(
        [sys.executable, "-m", "gpudiag", "record", *words],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_values() -> None:
    """GIVEN values that make sense THEN they are taken."""
    assert duration("1h30m", 1.0) == 5400
    assert gpus("0, 1,0") == ["0", "1"]
    assert gpus("GPU-2af0e10b") == ["GPU-2af0e10b"]
    assert process("12") == 12
    with pytest.raises(UsageError, match="shorter than one interval"):
        duration("4s", 5.0)


def test_a_process_that_has_ended() -> None:
    """GIVEN a number that nobody has, or a zombie THEN there is nothing to look at."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    wait_for(lambda: Attached(child.pid).ended())
    with pytest.raises(UsageError, match="no such process"):
        choose(child.pid)
    child.wait()
    assert Attached(child.pid).ended()
    assert Attached(child.pid).command() == []
    assert Attached(child.pid).environ() == {}


def test_looking_on_without_linux() -> None:
    """GIVEN any system THEN a process's end and the end of the recording both end the waiting."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    onlooker = PlainOnlooker(Attached(child.pid))
    onlooker.start([])
    child.communicate(b"\n")
    assert onlooker.wait() == Exit(None, None, "process")
    idle = PlainOnlooker(None)
    idle.release()
    assert idle.wait() == Exit(None, None, "duration")
    assert idle.leave(Exit(None, None, "duration")) == 0
