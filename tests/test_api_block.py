"""`with gpudiag.record(…)`: the recording of this process, and that nothing of it is disturbed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gpudiag
from gpudiag.api.block import Block
from gpudiag.errors import UsageError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="marks, and /proc")

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 120


def program(
    folder: Path, text: str, before: str = "", path: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program of its own in `folder`; `before` stands before the import of gpudiag."""
    code = f"import os, signal, sys, time\n{before}\nimport gpudiag\n{textwrap.dedent(text)}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if path:
        environment["PATH"] = path
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def marks(path: Path) -> list[str]:
    """The texts of the marks of a recording."""
    events = (json.loads(x.split(" ", 2)[2]) for x in lines(path) if x.startswith("# event "))
    return [event["text"] for event in events if event["kind"] == "mark"]


def test_a_block_is_recorded_and_reported(tmp_path: Path) -> None:
    """GIVEN a script with a block THEN its recording is whole, marks of this process and of a
    child included, and the report is there; before it, nothing heavy was loaded."""
    done = program(
        tmp_path,
        """
        assert gpudiag.mark("too early") is False  # and yet the block's marks are taken at once
        with gpudiag.record("run.csv", interval=0.2, gpus=[0, 1]) as recording:
            assert gpudiag.mark("epoch 1")
            if os.fork() == 0:
                gpudiag.mark("of a child")
                os._exit(0)
            os.wait()
            time.sleep(0.5)
            assert "recording into" in repr(recording)
            assert recording._repr_html_() is None
            print("inside", recording.path.name)
        assert not {"pandas", "numpy", "matplotlib", "rich"} & set(sys.modules)
        report = recording.report()
        assert report is recording.report()
        assert recording.findings is report.findings
        print(repr(report))
        print(report)
        page = recording._repr_html_()
        assert page.startswith("<p><strong>") and "<iframe" in page and "sandbox=" in page
        assert "Could not be checked" in recording._repr_markdown_()
        for name in ("r.html", "r.json", "r.md", "r.txt"):
            assert recording.save(name).exists()
        """,
    )
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run.csv"
    assert marks(run) == ["epoch 1", "of a child"]
    assert json.loads(lines(run)[-1].removeprefix("# end "))["ended"] == "asked"
    assert json.loads(lines(run)[1].removeprefix("# start "))["gpus_asked"] == ["0", "1"]
    assert "inside run.csv" in done.stdout
    assert "gpudiag: run.csv: " in done.stderr
    assert json.loads((tmp_path / "r.json").read_text())["schema_version"] == 1
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_an_exception_passes_and_the_file_ends_well(tmp_path: Path) -> None:
    """GIVEN an error, an exit and a Ctrl-C in the block THEN each passes, and is said."""
    done = program(
        tmp_path,
        """
        def stop():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        def fail():
            raise ValueError("mine")
        for number, (work, expected) in enumerate(
            [(fail, ValueError), (stop, KeyboardInterrupt), (sys.exit, SystemExit)]
        ):
            try:
                with gpudiag.record(f"{number}.csv", quiet=True):
                    work()
            except BaseException as error:
                assert type(error) is expected, error
            else:
                raise AssertionError
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for number, name in enumerate(("ValueError", "KeyboardInterrupt", "SystemExit")):
        assert marks(tmp_path / f"{number}.csv") == [f"the block ended with {name}"]
        assert lines(tmp_path / f"{number}.csv")[-1].startswith("# end ")


def test_the_training_never_notices_the_recorder(tmp_path: Path) -> None:
    """GIVEN programs that wait for all children, give SIGPIPE its default back, or send a signal
    to their group THEN none of that meets the recorder; killed, it costs one line."""
    done = program(
        tmp_path,
        """
        import psutil
        os.setpgid(0, 0)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        with gpudiag.record("run.csv", quiet=True) as recording:
            assert psutil.Process().children() == []
            try:
                os.wait()
            except ChildProcessError:
                print("no child")
            signal.signal(signal.SIGINT, lambda *_: print("told once"))
            os.killpg(0, signal.SIGINT)
            recorders = [
                p
                for p in psutil.process_iter(["cmdline"])
                if f'"pid": {os.getpid()}' in " ".join(p.info["cmdline"] or [])
            ]
            assert len(recorders) == 1
            recorders[0].kill()
            psutil.wait_procs(recorders, 10)
        print("went on")
        print(recording.path.name)
        with gpudiag.record("next.csv", quiet=True):
            pass
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["no child", "told once", "went on", "run.csv"]
    assert done.stderr == "gpudiag: the recording broke off: the recorder has gone\n"
    assert lines(tmp_path / "next.csv")[-1].startswith("# end ")


def test_a_recorder_that_cannot_start_costs_one_line(tmp_path: Path) -> None:
    """GIVEN no Python, no folder, or a program that is none THEN one line, and the block runs."""
    done = program(
        tmp_path,
        """
        real = sys.executable
        for broken in ("/nowhere/python", "", "/bin/false", real):
            sys.executable = broken
            with gpudiag.record("nowhere/run.csv") as recording:
                print("trained")
            assert recording.path is None
            try:
                recording.report()
            except gpudiag.errors.UsageError as error:
                assert error.message == "nothing was recorded"
        """,
        before="import gpudiag.errors",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "trained\n" * 4
    told = done.stderr.splitlines()
    assert len(told) == 4
    assert all(line.startswith("gpudiag: nothing is recorded: ") for line in told)
    assert "there is no folder" in told[3]


def test_one_recording_at_a_time(tmp_path: Path) -> None:
    """GIVEN a block in a block, and a block that is used again THEN a clear line each; a forked
    child that leaves the block ends nothing, and may have one of its own."""
    done = program(
        tmp_path,
        """
        with gpudiag.record("outer.csv", quiet=True) as outer:
            with gpudiag.record("inner.csv") as inner:
                assert gpudiag.mark("inside")
            assert inner.path is None
            child = os.fork()
            if child == 0:
                with gpudiag.record("child.csv", quiet=True):
                    gpudiag.mark("the child's own")
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert gpudiag.mark("still there")
        with outer:
            pass
        """,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "inner.csv").exists()
    assert marks(tmp_path / "outer.csv") == ["inside", "still there"]
    assert marks(tmp_path / "child.csv") == ["the child's own"]
    nested, again = done.stderr.splitlines()
    assert nested.endswith("outer.csv")
    assert "being recorded already" in nested
    assert "this recording is over" in again


def test_in_a_spawned_process(tmp_path: Path) -> None:
    """GIVEN a process that multiprocessing has spawned THEN it can record itself."""
    (tmp_path / "script.py").write_text(
        "import multiprocessing, gpudiag\n"
        "def work():\n"
        "    with gpudiag.record('spawned.csv', quiet=True):\n"
        "        gpudiag.mark('here')\n"
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('spawn').Process(target=work)\n"
        "    process.start()\n"
        "    process.join()\n"
        "    raise SystemExit(process.exitcode)\n"
    )
    done = program(tmp_path, "import runpy; runpy.run_path('script.py', run_name='__main__')")
    assert (done.returncode, done.stderr) == (0, "")
    assert marks(tmp_path / "spawned.csv") == ["here"]


def test_a_program_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    """GIVEN a training that dies of SIGKILL in the block THEN the recorder ends with it."""
    done = program(
        tmp_path,
        """
        with gpudiag.record("run.csv"):
            os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    assert done.returncode == -signal.SIGKILL
    from itertools import count
    from time import sleep

    for turn in count():
        if lines(tmp_path / "run.csv")[-1].startswith("# end "):
            break
        assert turn < 10 * PATIENCE_S
        sleep(0.1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"interval": 0.01}, "interval 0.01s: shorter than 0.2s"),
        ({"interval": "soon"}, "interval soon: not a duration"),
        ({"interval": float("nan")}, "interval nans"),
        ({"gpus": "first"}, "gpus first"),
        ({"path": "/"}, "is a folder"),
        ({"path": __file__}, "no recording of gpudiag"),
    ],
)
def test_a_mistake_in_the_call_raises(arguments: dict[str, object], words: str) -> None:
    """GIVEN options that make no sense THEN UsageError with one line, and the block is not run."""
    with pytest.raises(UsageError, match=words), gpudiag.record(**arguments):  # type: ignore[arg-type]
        pytest.fail("the block was entered")


def test_the_name_is_a_function_and_a_package() -> None:
    """GIVEN `gpudiag.record` THEN it can be called, and its modules are where they were."""
    import gpudiag.record.recorder as recorder

    assert sys.modules["gpudiag.record"].recorder is recorder
    assert isinstance(gpudiag.record("x.csv", gpus="0,1", interval="500ms"), Block)
    assert gpudiag.record(gpus=3)._options.gpus == ["3"]
    assert gpudiag.record(gpus=0)._options.gpus == ["0"]
    assert gpudiag.record(gpus=[])._options.gpus == ()


def test_within_a_recording_of_the_whole_program(tmp_path: Path) -> None:
    """GIVEN `gpudiag record -- python …` with a block in it THEN marks reach the nearest."""
    script = (
        "import gpudiag, time\n"
        "end = time.monotonic() + 60\n"
        "while not gpudiag.mark('outer') and time.monotonic() < end: time.sleep(0.1)\n"
        "with gpudiag.record('inner.csv', quiet=True): gpudiag.mark('inner')\n"
        "gpudiag.mark('outer again')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "gpudiag", "record", "--quiet", "--", sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0
    assert marks(tmp_path / "run.csv") == ["outer", "outer again"]
    assert marks(tmp_path / "inner.csv") == ["inner"]
