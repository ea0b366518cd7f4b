"""Whatever the driver, the disk and the clock do, the command does not notice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from recordkit import (
    Recorded,
    alive,
    children_of,
    environment,
    hold,
    lines,
    program,
    recorder,
    rows,
    run,
    start,
    wait_for,
)

from gpudiag.demo.nvidia_smi import install

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the transparent launcher")

NO_GPU = {"status": "missing", "tool": "nvidia-smi", "text": "nvidia-smi was not found on the PATH"}


class Simulated:
    """A folder with a simulated nvidia-smi and its scenario."""

    def __init__(self, folder: Path, *faults: dict[str, Any], **scenario: Any) -> None:
        self.folder = folder / "sim"
        self.folder.mkdir()
        install(self.folder)
        facts = {"faults": list(faults), **scenario}
        (self.folder / "sim.json").write_text(json.dumps(facts))
        self.env = environment(GPUDIAG_SIM_DIR=str(self.folder))
        self.env["PATH"] = f"{self.folder}:{self.env['PATH']}"

    def calls(self, event: str = "start") -> list[dict[str, Any]]:
        """The log of the tool: its starts, or its ends."""
        entries = [json.loads(line) for line in lines(self.folder / "calls.log")]
        return [entry for entry in entries if entry["event"] == event]


def finish(process: subprocess.Popen[bytes], folder: Path) -> Recorded:
    """Let the held command end; the recording."""
    (folder / "stop").touch()
    assert process.wait(30) == 6
    return Recorded(folder / "run.csv")


def test_without_nvidia_smi(tmp_path: Path) -> None:
    """Case 19. GIVEN no nvidia-smi THEN the host is recorded, and the file and one line say why."""
    process = start(
        *hold(tmp_path), cwd=tmp_path, options=("--interval", "0.2"), stderr=subprocess.PIPE
    )
    rows(tmp_path, 2, "host_cpu_pct")
    recorded = finish(process, tmp_path)
    assert recorded.start["gpu_source"] == NO_GPU
    assert recorded.start["gpus"] == []
    assert not any(name.startswith("gpu0") for name in recorded.columns)
    said = process.communicate()[1]
    assert said.count(b"no GPU was recorded: nvidia-smi was not found on the PATH\n") == 1


@pytest.mark.parametrize(
    ("error", "code"), [("driver-not-loaded", 9), ("version-mismatch", 18), ("no-devices", 6)]
)
def test_driver_error(tmp_path: Path, error: str, code: int) -> None:
    """Case 19. GIVEN an nvidia-smi that fails THEN the file has its words, and host rows go on."""
    tool = Simulated(tmp_path, {"kind": "start-error", "name": error})
    process = start(*hold(tmp_path), cwd=tmp_path, env=tool.env)
    words = f"(exit code {code}): "
    wait_for(lambda: words in Recorded(tmp_path / "run.csv").start["gpu_source"]["text"], words)
    rows(tmp_path, 2, "host_cpu_pct")
    assert finish(process, tmp_path).start["gpu_source"]["status"] == "failed"


def test_hung_at_the_start(tmp_path: Path) -> None:
    """Cases 19, 20. GIVEN an nvidia-smi that hangs and cannot even be asked to end THEN host rows
    go on, the exit is not held up, and nothing is left."""
    tool = Simulated(
        tmp_path, {"kind": "hang", "where": "start", "ignore_sigterm": True, "stopped": True}
    )
    process = start(*hold(tmp_path), cwd=tmp_path, env=tool.env)
    wait_for(lambda: list(tool.folder.glob("hanging-*")), "the hang")
    wait_for(lambda: len(Recorded(tmp_path / "run.csv").rows) >= 2, "two rows")
    (tmp_path / "stop").touch()
    assert process.wait(5) == 6
    wait_for(lambda: not any(alive(call["pid"]) for call in tool.calls()), "nothing left")
    recorded = Recorded(tmp_path / "run.csv")
    assert recorded.end is not None
    assert recorded.start["gpu_source"]["status"] == "failed"


def test_hung_in_mid_run(tmp_path: Path) -> None:
    """Case 20. GIVEN a stream that stops in mid-row THEN its readings are not repeated, and it is
    started anew."""
    tool = Simulated(
        tmp_path,
        {"kind": "hang", "where": "mid-row", "at_tick": 4, "to": "loop", "calls": [1]},
    )
    process = start(*hold(tmp_path), cwd=tmp_path, env=tool.env)
    wait_for(lambda: "gpu-stream-silent" in Recorded(tmp_path / "run.csv").kinds(), "silence")
    wait_for(lambda: Recorded(tmp_path / "run.csv").kinds().count("gpu-stream-started") == 2)
    (tmp_path / "stop").touch()
    assert process.wait(10) == 6
    recorded = Recorded(tmp_path / "run.csv")
    silent = next(e["t_s"] for e in recorded.events if e["kind"] == "gpu-stream-silent")
    waited = next(
        e["data"]["waited_s"] for e in recorded.events if e["kind"] == "gpu-stream-silent"
    )
    quiet = [
        row["gpu0_util_pct"]
        for row in recorded.rows
        if silent - waited + 0.4 < float(row["t_s"]) < silent
    ]
    assert len(quiet) > 5
    assert set(quiet) == {""}


def test_stream_that_dies(tmp_path: Path) -> None:
    """Case 20. GIVEN a stream that ends by itself THEN that is an event and it is started anew."""
    tool = Simulated(
        tmp_path, {"kind": "death", "at_tick": 3, "code": 255, "to": "loop", "calls": [1]}
    )
    process = start(*hold(tmp_path), cwd=tmp_path, env=tool.env)
    wait_for(lambda: len([c for c in tool.calls() if c["sort"] == "loop"]) == 2, "a new start")
    wait_for(lambda: Recorded(tmp_path / "run.csv").kinds().count("gpu-stream-started") == 2)
    (tmp_path / "stop").touch()
    assert process.wait(10) == 6
    recorded = Recorded(tmp_path / "run.csv")
    ended = [event for event in recorded.events if event["kind"] == "gpu-stream-ended"]
    assert [event["data"] for event in ended] == [{"exit_code": 255}]
    assert [gpu["index"] for gpu in recorded.start["gpus"]] == [0]


def test_lost_gpu_and_messages(tmp_path: Path) -> None:
    """Case 20. GIVEN a GPU that falls off the bus and a line about it THEN both are events, and
    the GPU's cells are empty from then on while the other's are not."""
    tool = Simulated(
        tmp_path,
        {"kind": "text", "text": "NVRM: Xid (PCI:0000:17:00): 79", "at_tick": 3, "to": "loop"},
        {"kind": "gpu-lost", "gpu": 0, "at_tick": 4, "to": "loop"},
        gpus=[{}, {}],
    )
    process = start(*hold(tmp_path), cwd=tmp_path, env=tool.env)
    wait_for(lambda: (tmp_path / "run.csv").exists())
    wait_for(lambda: "gpu-lost" in Recorded(tmp_path / "run.csv").kinds(), "the loss")
    time.sleep(1.0)
    (tmp_path / "stop").touch()
    assert process.wait(10) == 6
    recorded = Recorded(tmp_path / "run.csv")
    assert recorded.kinds().count("gpu-lost") == 1
    texts = [event["text"] for event in recorded.events if event["kind"] == "gpu-text"]
    assert texts == ["NVRM: Xid (PCI:0000:17:00): 79"]
    assert len(recorded.column("gpu0_util_pct")) < len(recorded.column("gpu1_util_pct"))
    assert recorded.rows[-2]["gpu0_mem_used_mib"] == ""


def test_impostor(tmp_path: Path) -> None:
    """Case 19. GIVEN something else named nvidia-smi THEN it is told apart, no GPU is made up."""
    tool = Simulated(tmp_path, {"kind": "impostor"})
    process = start(*hold(tmp_path), cwd=tmp_path, env=tool.env)
    words = "does not answer a query"
    wait_for(lambda: words in Recorded(tmp_path / "run.csv").start["gpu_source"]["text"], words)
    recorded = finish(process, tmp_path)
    assert recorded.start["gpu_source"]["status"] == "failed"
    assert not any(name.startswith("gpu0") for name in recorded.columns)


def test_the_command_starts_before_the_gpu_is_asked(tmp_path: Path) -> None:
    """Case 23. GIVEN an nvidia-smi THEN its first call comes after the command has been started."""
    tool = Simulated(tmp_path)
    begun = "exec >&-; date +%s.%N > begun; "
    shell, option, script = hold(tmp_path)
    process = start(shell, option, begun + script, cwd=tmp_path, env=tool.env)
    wait_for(tool.calls, "a call")
    finish(process, tmp_path)
    assert float((tmp_path / "begun").read_text()) < tool.calls()[0]["t"]


def test_clock_step(tmp_path: Path) -> None:
    """Case 24. GIVEN a wall clock that jumps by an hour THEN the time column does not."""
    tool = Simulated(tmp_path, {"kind": "clock-step", "at_tick": 3, "seconds": 3600})
    begun = time.monotonic()
    process = start(*hold(tmp_path), cwd=tmp_path, env=tool.env)
    rows(tmp_path, 6, "gpu0_util_pct")
    times = finish(process, tmp_path).column("t_s")
    assert times == sorted(set(times))
    assert times[-1] < time.monotonic() - begun


def small_disk() -> bool:
    """Whether a file system of our own can be mounted."""
    probe = "mount -t tmpfs -o size=1m none /mnt"
    wrap = ["unshare", "--mount", "sh", "-c", probe]
    return (
        bool(shutil.which("unshare"))
        and not subprocess.run(wrap, capture_output=True, check=False).returncode
    )


@pytest.mark.skipif(not small_disk(), reason="needs a file system to fill")
def test_full_disk(tmp_path: Path) -> None:
    """Case 21. GIVEN a disk that is full THEN the command's code is passed on, one line warns, and
    what was written is readable."""
    disk = tmp_path / "disk"
    disk.mkdir()
    fill = f"dd if=/dev/zero of={disk}/fill bs=1k count=100 2>/dev/null"
    two_rows = "until [ $(grep -c ^[0-9] run.csv) -ge 2 ]; do sleep 0.05; done 2>/dev/null"
    # the padding brings the file near the end of its last page, which no full disk can take away
    command = recorder("sh", "-c", f"{two_rows}; {fill}; sleep 3; exit 8", *["x" * 450] * 4)
    script = (
        f'mount -t tmpfs -o size=64k none {disk} && cd {disk} && "$@"; '
        f"code=$?; cp {disk}/run.csv {tmp_path}/kept.csv; exit $code"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *command],
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 8, done.stderr
    assert done.stderr.count(b"\n") == 1, done.stderr
    assert b"No space left on device" in done.stderr
    assert b"rows are lost" in done.stderr
    recorded = Recorded(tmp_path / "kept.csv")
    assert recorded.rows
    assert all(None not in row.values() for row in recorded.rows)


def test_no_folder(tmp_path: Path) -> None:
    """Case 21. GIVEN a folder that does not exist THEN the command runs all the same, unrecorded,
    and that is said before it starts."""
    done = run("sh", "-c", "echo ran; exit 2", cwd=tmp_path, options=("-o", "nowhere/run.csv"))
    assert (done.returncode, done.stdout) == (2, b"ran\n")
    assert b"no recording will be written: there is no folder" in done.stderr.splitlines()[0]


def test_folder_removed(tmp_path: Path) -> None:
    """Case 21. GIVEN a folder that is removed in mid-run THEN only a line at the end tells."""
    out = tmp_path / "out"
    out.mkdir()
    options = ("--interval", "0.2", "--quiet", "-o", "out/run.csv")
    process = start(*hold(tmp_path), cwd=tmp_path, options=options, stderr=subprocess.PIPE)
    rows(out)
    shutil.rmtree(out)
    (tmp_path / "stop").touch()
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 6
    assert said.count(b"\n") == 1, said
    assert b"was removed while it was written" in said


def test_stalled_disk(tmp_path: Path) -> None:
    """Case 21. GIVEN a disk that does not answer THEN signals are relayed all the same."""
    log, stop = tmp_path / "signals", tmp_path / "stop"
    wedge = (
        "import os, time, sys\n"
        "import gpudiag.timeline.writer as writer\n"
        "writer.RunFile.row = lambda *_: time.sleep(1000)\n"
        "from gpudiag.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", wedge, *recorder(*program("witness", log, stop))[3:]]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE)
    wait_for(lambda: "ready" in lines(log))
    wait_for(lambda: len(children_of(process.pid)) >= 2)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGUSR1)
    wait_for(lambda: "SIGUSR1" in lines(log))
    stop.touch()
    assert process.wait(5) == 3
    process.communicate()


def test_killed_recorder_leaves_no_stream(tmp_path: Path) -> None:
    """Case 14. GIVEN a recorder killed outright while GPUs are read THEN nvidia-smi ends too, the
    command goes on, and the recording is readable up to its last row."""
    tool = Simulated(tmp_path)
    process = start(*hold(tmp_path), cwd=tmp_path, env=tool.env)
    wait_for(lambda: len(Recorded(tmp_path / "run.csv").column("gpu0_util_pct")) >= 2)
    (command,) = [
        pid
        for pid in children_of(process.pid)
        if b"stop" in Path(f"/proc/{pid}/cmdline").read_bytes()
        and b"gpudiag" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    process.kill()
    process.wait()
    wait_for(lambda: not any(alive(call["pid"]) for call in tool.calls()), "nvidia-smi to end")
    assert alive(command)
    assert Recorded(tmp_path / "run.csv").end is None
    (tmp_path / "stop").touch()
    wait_for(lambda: not alive(command), "the command to end")
