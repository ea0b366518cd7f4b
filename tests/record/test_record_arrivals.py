"""New processes found by the numbers given out since the last tick, and by the list."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("/proc", allow_module_level=True)

from gpudiag.record.linux.arrivals import Arrivals
from gpudiag.record.linux.procfs import ProcFs


class Machine:
    """A made-up /proc whose kernel says which number was given out last."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.last: int | None = 100
        self.now = 0.0
        for pid in range(1, 101):
            self.add(pid)
        self.arrivals = Arrivals(str(root), lambda: self.last, lambda: self.now)

    def add(self, pid: int, tgid: int | None = None) -> None:
        folder = self.root / str(pid)
        folder.mkdir()
        (folder / "status").write_text(f"Name:\tx\nTgid:\t{tgid or pid}\nPid:\t{pid}\n")

    def end(self, pid: int) -> None:
        shutil.rmtree(self.root / str(pid))

    def look(self, seconds: float = 1.0) -> set[int]:
        self.now += seconds
        return self.arrivals.look()[0]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    found = Machine(tmp_path)
    assert found.look() == set(range(1, 101))
    return found


def test_a_new_process_is_found_at_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a few numbers given out THEN those alone are looked at, and a thread is no process."""
    monkeypatch.setattr(os, "listdir", lambda _: pytest.fail("the list was taken"))
    machine.add(103)
    machine.add(104, tgid=103)
    machine.last = 105
    assert machine.look() == {*range(1, 101), 103}
    assert machine.look() == {*range(1, 101), 103}


def test_what_ended_is_forgotten_in_the_end(machine: Machine) -> None:
    """GIVEN a process that ends THEN the next full list has it no more."""
    machine.end(50)
    machine.look()
    assert 50 not in machine.look(20)


def test_many_new_numbers_are_listed(machine: Machine) -> None:
    """GIVEN more numbers than it pays to look at, or a count that began anew THEN it is listed."""
    machine.end(2)
    machine.add(150)
    machine.last = 200
    assert machine.look() == {1, *range(3, 101), 150}
    machine.add(2)
    machine.last = 2
    assert machine.look() == {*range(1, 101), 150}


def test_what_came_while_the_list_was_taken_stays(machine: Machine) -> None:
    """GIVEN a process that starts between the kernel's word and the list THEN it stays."""
    given = iter([100, 101, 102])
    arrivals = Arrivals(str(machine.root), lambda: next(given), lambda: 0.0)
    machine.add(101)
    for _ in range(3):
        assert arrivals.look() == (set(range(1, 102)), set())


def test_without_the_last_number_it_is_listed(machine: Machine) -> None:
    """GIVEN a kernel that does not say THEN every look takes the list."""
    machine.last = None
    machine.add(103)
    assert 103 in machine.look()
    machine.end(103)
    assert 103 not in machine.look()


def test_really() -> None:
    """GIVEN this machine WHEN a process and a thread start THEN the process alone is found."""
    reader = ProcFs()
    reader.pids()
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    pid = os.fork()
    if pid == 0:
        os.read(os.pipe()[0], 1)
    thread.start()
    try:
        found = reader.pids()
        assert {pid, os.getpid()} <= found
        assert thread.native_id not in found
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        release.set()
        thread.join()
    assert reader.reading(pid) is None
