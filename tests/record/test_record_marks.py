"""`gpudiag mark` and gpudiag.mark: events from inside the run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recordkit import PATIENCE_S, Recorded, environment, hold, rows, run, start, wait_for

import gpudiag
from gpudiag.record import marking
from gpudiag.record.marking import address, lineage, mark, send

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets, /proc")

MARK = [sys.executable, "-m", "gpudiag", "mark"]


class Heard:
    """A listener for marks of this very process."""

    def __init__(self) -> None:
        from gpudiag.record.linux.marks import Marks

        self.events: list[tuple[str, str, dict[str, Any], float]] = []
        self.marks = Marks(os.getpid(), lambda *event: self.events.append(event))

    def texts(self) -> list[str]:
        return [text for _, text, _, _ in self.events]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    monkeypatch.setattr(marking, "_found", None)
    monkeypatch.setattr(marking, "_none_until", float("-inf"))
    listener = Heard()
    yield listener
    if listener.marks._thread.is_alive():
        listener.marks.close()


def test_from_a_shell(tmp_path: Path) -> None:
    """GIVEN a script that marks, directly and from a process in a session of its own THEN both
    stand in the recording, in order and between its rows."""
    quoted = " ".join(MARK)
    # on a busy machine the recorder may take its time until it listens
    first = f"until {quoted} epoch 3 2>/dev/null; do sleep 0.1; done"
    script = f"{first}; setsid {quoted} 'last, \"one\"'; sleep 0.3"
    assert run("sh", "-c", script, cwd=tmp_path).returncode == 0
    recorded = Recorded(tmp_path / "run.csv")
    marks = [event for event in recorded.events if event["kind"] == "mark"]
    assert [event["text"] for event in marks] == ["epoch 3", 'last, "one"']
    assert recorded.end is not None
    assert 0 < marks[0]["t_s"] < marks[1]["t_s"] <= recorded.end["t_s"]


def test_from_python_until_the_very_end(tmp_path: Path) -> None:
    """GIVEN a training that marks and ends at once THEN not even its last mark is lost."""
    script = (
        "import gpudiag, os, time\n"
        "end = time.monotonic() + 60\n"
        "while not gpudiag.mark('begin') and time.monotonic() < end: time.sleep(0.1)\n"
        "if os.fork() == 0:\n"
        "    gpudiag.mark('child'); os._exit(0)\n"
        "os.wait()\n"
        "gpudiag.mark('end'); os._exit(3)\n"
    )
    assert (
        run(sys.executable, "-c", f"import time; time.sleep(1)\n{script}", cwd=tmp_path).returncode
        == 3
    )
    events = Recorded(tmp_path / "run.csv").events
    assert [e["text"] for e in events if e["kind"] == "mark"] == ["begin", "child", "end"]


def test_from_a_process_that_is_attached_to(tmp_path: Path) -> None:
    """GIVEN a recorder that looks on at a running process THEN that can mark all the same."""
    script = (
        "import gpudiag, time\n"
        "end = time.monotonic() + 60\n"
        "while not gpudiag.mark('here') and time.monotonic() < end: time.sleep(0.3)\n"
        "time.sleep(0.5)"
    )
    victim = subprocess.Popen([sys.executable, "-c", script], env=environment())
    try:
        words = ["record", "--quiet", "--interval", "0.2", "--pid", str(victim.pid)]
        done = subprocess.run(
            [sys.executable, "-m", "gpudiag", *words],
            cwd=tmp_path,
            env=environment(),
            timeout=2 * PATIENCE_S,
        )
    finally:
        victim.kill()
        victim.wait()
    assert done.returncode == 0
    assert "here" in [event["text"] for event in Recorded(tmp_path / "run.csv").events]


def test_without_a_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN no recording THEN the command says so in one line, and the function returns False."""
    done = subprocess.run(
        [*MARK, "lost"], env=environment(), capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("gpudiag: no recording encloses this command")
    assert done.stdout == ""
    monkeypatch.setattr(marking, "_found", None)
    assert gpudiag.mark("lost") is False


def test_nothing_is_looked_for_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN no recording WHEN every step marks THEN the parents are walked once in a while only."""
    walks: list[int] = []
    monkeypatch.setattr(marking, "_found", None)
    monkeypatch.setattr(marking, "_none_until", float("-inf"))
    monkeypatch.setattr(marking, "_pause", 0.1)
    monkeypatch.setattr(marking, "lineage", lambda pid: walks.append(pid) or iter(()))
    clock = [100.0]
    monkeypatch.setattr(marking.time, "monotonic", lambda: clock[0])
    for step in range(2000):
        assert mark(step) is False
        clock[0] += 0.01
    # after 0.1, 0.3, 0.7, 1.5, 3.1, 6.3 s, and then every 5 s
    assert len(walks) == 9


def test_it_never_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN whatever goes wrong THEN a training gets False, and no exception."""

    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError("no")

    def broken(*_: object) -> Iterator[int]:
        raise MemoryError

    assert mark(Hostile()) is False
    monkeypatch.setattr(marking, "_none_until", float("-inf"))
    monkeypatch.setattr(marking, "lineage", broken)
    assert mark("x") is False


def test_what_is_taken(heard: Heard) -> None:
    """GIVEN marks of all sorts THEN text is cut and kept as it is, with the sender and the time."""
    begin = time.monotonic()
    assert mark("epoch 3\n\x1b[31m")
    assert mark("ü" * 10_000)
    assert mark(17)
    heard.marks.close()
    assert heard.texts() == ["epoch 3\n\x1b[31m", "ü" * 500, "17"]
    assert {kind for kind, _, _, _ in heard.events} == {"mark"}
    assert all(data == {"pid": os.getpid()} for _, _, data, _ in heard.events)
    assert all(begin <= when <= time.monotonic() for _, _, _, when in heard.events)
    assert mark("too late") is False


def test_what_is_not_taken(heard: Heard) -> None:
    """GIVEN nonsense, silence and a sender that goes away THEN the next mark is taken all the same,
    and a clock that is not ours is not believed."""
    for data in (
        b"",
        b"\xff\xfe",
        b"[1]",
        b"{}" * 9000,
        b'"text"',
        b'{"text": {"a": 1}, "time": 1e300}',
    ):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(address(os.getpid()))
            if data:
                connection.send(data)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        silent.connect(address(os.getpid()))
        assert send("after all", os.getpid(), wait=True)
    assert heard.texts() == ["{'a': 1}", "after all"]
    assert all(when <= time.monotonic() for _, _, _, when in heard.events)


def test_a_secret_is_not_recorded(heard: Heard) -> None:
    """GIVEN a mark that holds a secret, THEN it is masked, and the rest is recorded as it is."""
    assert send("resume https://mara:pw12345@git.example with --api-key=s3cr3tvalue", os.getpid())
    heard.marks.close()
    assert heard.texts() == ["resume https://***@git.example with --api-key=***"]


def test_too_many(heard: Heard) -> None:
    """GIVEN a thousand marks at once THEN the file does not grow by them all, and one line says
    so; the sender is not held up."""
    for step in range(1000):
        mark(step)
    heard.marks.close()
    assert 0 < len(heard.events) <= 260
    if len(heard.events) > 200:
        assert heard.texts().count("marks came too fast, or too many: some were left out") == 1


def test_two_listeners_for_one_process(heard: Heard) -> None:
    """GIVEN a second recorder that looks on at the same process THEN it is told that it cannot."""
    from gpudiag.record.linux.marks import Marks

    with pytest.raises(OSError, match="in use"):
        Marks(os.getpid(), lambda *event: None)


def test_a_listener_that_is_stuck_holds_nobody_up(heard: Heard) -> None:
    """GIVEN a recorder that takes nothing any more THEN a training goes on: the call returns."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as full:
        full.bind(address(2**22 + 7))
        full.listen(1)
        results = [send("x", 2**22 + 7) for _ in range(20)]
    assert results[0] is True
    assert results[-1] is False


def test_a_name_that_somebody_else_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN another user's socket under a parent's name THEN it does not get our words."""
    stranger = 2**22 + 8
    got: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as trap:
        trap.bind(address(stranger))
        trap.listen(4)
        trap.settimeout(PATIENCE_S)

        def serve() -> None:
            connection, _ = trap.accept()
            with connection:
                got.append(connection.recv(100))

        thread = threading.Thread(target=serve)
        thread.start()
        monkeypatch.setattr(marking, "credentials", lambda connection: (os.getpid(), 54321))
        assert send("secret", stranger) is False
        thread.join(PATIENCE_S)
    assert got == [b""]


def test_another_user_is_not_listened_to(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a process of another user that is not of the run THEN its words are not taken."""
    from gpudiag.record.linux import marks

    monkeypatch.setattr(marks, "credentials", lambda connection: (1, 54321))
    assert send("vandal", os.getpid(), wait=True) is False
    monkeypatch.setattr(marks, "credentials", lambda connection: (os.getpid(), 54321))
    assert send("su in the run", os.getpid(), wait=True) is True
    assert heard.texts() == ["su in the run"]


def test_lineage() -> None:
    """GIVEN this process THEN its parents, nearest first, up to the first."""
    above = list(lineage(os.getpid()))
    assert above[:2] == [os.getpid(), os.getppid()]
    assert above[-1] == 1
    assert list(lineage(2**22 + 9)) == [2**22 + 9]


def test_a_killed_recorder_leaves_nothing(tmp_path: Path) -> None:
    """GIVEN a recorder that was killed outright THEN its name is free, and marks return False."""
    recorder = start(*hold(tmp_path), cwd=tmp_path)
    try:
        rows(tmp_path)
        assert wait_for(lambda: send("x", recorder.pid), "the socket")
        recorder.send_signal(signal.SIGKILL)
        recorder.wait(PATIENCE_S)
        assert send("x", recorder.pid) is False
    finally:
        (tmp_path / "stop").touch()
