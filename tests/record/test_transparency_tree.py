"""Everything that the command starts is seen, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from recordkit import (
    Recorded,
    alive,
    children_of,
    environment,
    lines,
    program,
    recorder,
    run,
    start,
    wait_for,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans come to the recorder")


def test_a_daemon_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """Case 15. GIVEN a command that leaves a daemon with its stdout THEN the recorder returns with
    the command, and the daemon was counted while it lived."""
    pid_file = tmp_path / "pid"
    process = subprocess.Popen(
        recorder(*program("daemon", 60, pid_file)),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
    )
    assert process.wait(20) == 0
    daemon = int(pid_file.read_text())
    assert alive(daemon)
    os.kill(daemon, signal.SIGKILL)
    assert process.stdout is not None
    process.stdout.close()
    recorded = Recorded(tmp_path / "run.csv")
    # the command itself is the training process; the daemon is the one beside it
    assert 1 in recorded.column("others")


def test_no_zombies(tmp_path: Path) -> None:
    """Case 16. GIVEN 100 orphaned grandchildren THEN none stays as a zombie."""
    process = start(*program("orphans", 100, "stop"), cwd=tmp_path)
    wait_for(lambda: (tmp_path / "made").exists(), "the orphans")

    def states() -> list[str]:
        stats = [Path(f"/proc/{pid}/stat").read_text() for pid in children_of(process.pid)]
        return [stat[stat.rfind(")") + 2] for stat in stats]

    wait_for(lambda: len(found := states()) == 2 and "Z" not in found, "only command and canary")
    (tmp_path / "stop").touch()
    assert process.wait(30) == 0


def test_ranks_in_sessions_of_their_own(tmp_path: Path) -> None:
    """Case 17. GIVEN ranks started as torchrun does THEN their CPU is in the recording."""
    assert run(*program("ranks", 2, 1.5), cwd=tmp_path).returncode == 0
    recorded = Recorded(tmp_path / "run.csv")
    assert max(recorded.column("others")) == 2  # the launching program, and the other rank
    busy = max(
        float(row["main_cpu_pct"]) + float(row["others_cpu_pct"])
        for row in recorded.rows
        if row["main_cpu_pct"]
    )
    assert busy > 50


def test_rank_is_recorded(tmp_path: Path) -> None:
    """Case 26. GIVEN a rank of a job THEN its place in the job stands in the file."""
    place = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "SLURM_PROCID": "3"}
    run("true", cwd=tmp_path, env=environment(**place))
    assert Recorded(tmp_path / "run.csv").start["rank"] == place


def test_two_recorders_in_one_folder(tmp_path: Path) -> None:
    """Case 25. GIVEN several recorders that start at once THEN each has its own file."""
    processes = [
        subprocess.Popen(
            recorder("sleep", "0.5"), cwd=tmp_path, env=environment(), stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    said = b"".join(process.communicate(timeout=30)[1] for process in processes)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["run-2.csv", "run-3.csv", "run.csv"]
    assert said.count(b"run.csv exists already; wrote run-") == 2
    assert all(Recorded(tmp_path / name).end for name in names)


def test_an_earlier_recording_is_kept(tmp_path: Path) -> None:
    """Case 25. GIVEN -o with the name of a recording THEN that recording stays as it is."""
    options = ("--interval", "0.2", "--quiet", "-o", "mine.csv")
    run("true", cwd=tmp_path, options=options)
    before = (tmp_path / "mine.csv").read_bytes()
    done = run("true", cwd=tmp_path, options=options)
    assert done.stderr == b"gpudiag: mine.csv exists already; wrote mine-2.csv\n"
    assert (tmp_path / "mine.csv").read_bytes() == before
    assert Recorded(tmp_path / "mine-2.csv").end


def test_another_file_is_refused(tmp_path: Path) -> None:
    """Case 25. GIVEN -o with the name of another file THEN nothing is run and nothing is lost."""
    (tmp_path / "train.py").write_text("print(1)\n")
    done = run("touch", "ran", cwd=tmp_path, options=("-o", "train.py"))
    assert done.returncode == 2
    assert b"exists and is no recording" in done.stderr
    assert not (tmp_path / "ran").exists()
    assert lines(tmp_path / "train.py") == ["print(1)"]


def test_an_empty_file_is_used(tmp_path: Path) -> None:
    """GIVEN -o with an empty file, as mktemp makes it THEN the recording is in that very file."""
    (tmp_path / "x").touch()
    run("true", cwd=tmp_path, options=("-o", "x"))
    assert Recorded(tmp_path / "x").end
