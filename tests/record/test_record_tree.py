"""The run's processes from a made-up /proc."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiag.record import tree as tree_module
from gpudiag.record.reading import Io, Reading, ThreadTimes
from gpudiag.record.tree import Tree

ROOT_PID = 5
MIB = 1 << 20


class FakeReader:
    """Processes as a table; counts what is read."""

    def __init__(self) -> None:
        self.table: dict[int, Reading] = {}
        self.ios: dict[int, Io] = {}
        self.reads: list[int] = []
        self.now = 100.0

    def put(
        self, pid: int, parent: int, cpu_s: float = 0.0, name: str = "p", started: float = 100.0
    ) -> None:
        self.table[pid] = Reading(parent, started, name, "S", cpu_s, 1, MIB)

    def pids(self) -> set[int]:
        return set(self.table)

    def reading(self, pid: int) -> Reading | None:
        self.reads.append(pid)
        return self.table.get(pid)

    def io(self, pid: int) -> Io | None:
        return self.ios.get(pid)

    def command(self, pid: int) -> tuple[str, ...]:
        return ("p", str(pid))

    def uptime_s(self) -> float | None:
        return self.now

    def voluntary_switches(self, pid: int) -> int | None:
        return None

    def thread_times(self, pid: int, threads: int) -> dict[int, ThreadTimes]:
        return {}

    def pss_bytes(self, pid: int) -> int | None:
        return None

    def loaded(self, pid: int) -> str:
        return ""

    def variable(self, pid: int, name: str) -> str | None:
        return None


@pytest.fixture
def reader() -> FakeReader:
    fake = FakeReader()
    fake.put(ROOT_PID, 1)
    for stranger in range(1000, 1100):
        fake.put(stranger, 1)
    return fake


def made(reader: FakeReader, own: set[int] | None = None) -> Tree:
    return Tree(reader, ROOT_PID, lambda: own or set(), 0.0)


def step(tree: Tree, reader: FakeReader, now: float) -> None:
    reader.now = 100.0 + now
    tree.update(now)


def test_descendants_and_orphans_belong_to_the_run(reader: FakeReader) -> None:
    """GIVEN a tree in any order of numbers THEN all of it is found, and no stranger."""
    reader.put(50, 20)
    reader.put(20, 10)
    reader.put(10, ROOT_PID)
    reader.put(60, ROOT_PID)  # an orphan that came to the recorder
    reader.put(70, 1)
    tree = made(reader)
    step(tree, reader, 1.0)
    assert set(tree.members) == {10, 20, 50, 60}


def test_helpers_are_no_part_of_it(reader: FakeReader) -> None:
    """GIVEN the recorder's own helpers THEN they are left out."""
    reader.put(10, ROOT_PID)
    reader.put(11, ROOT_PID)
    tree = made(reader, own={11})
    step(tree, reader, 1.0)
    assert set(tree.members) == {10}


def test_strangers_are_read_once(reader: FakeReader) -> None:
    """GIVEN 100 other processes THEN a tick after the first reads the run's only."""
    reader.put(10, ROOT_PID)
    tree = made(reader)
    step(tree, reader, 1.0)
    reader.reads.clear()
    step(tree, reader, 2.0)
    assert reader.reads == [10]


def test_a_number_taken_over_from_a_stranger(reader: FakeReader) -> None:
    """GIVEN a stranger's number that the run got THEN the full look finds it within 30 s."""
    reader.put(10, ROOT_PID)
    tree = made(reader)
    step(tree, reader, 1.0)
    reader.put(1000, 10, cpu_s=500.0, started=101.5)
    step(tree, reader, 2.0)
    assert 1000 not in tree.members
    step(tree, reader, 2.0 + tree_module._FULL_LOOK_S)
    assert tree.members[1000].rates.cpu_pct is None  # its past is not this tick's


def test_a_number_reused_within_the_run(reader: FakeReader) -> None:
    """GIVEN a member that ended and a new one of the same number THEN they are two processes."""
    reader.put(10, ROOT_PID, cpu_s=100.0)
    tree = made(reader)
    step(tree, reader, 1.0)
    reader.put(10, ROOT_PID, cpu_s=0.3, started=101.5)
    step(tree, reader, 2.0)
    assert tree.members[10].rates.cpu_pct == pytest.approx(30.0)


def test_cpu_from_birth_and_from_tick_to_tick(reader: FakeReader) -> None:
    """GIVEN a process born since the last tick THEN what it used counts, and then what it adds."""
    tree = made(reader)
    step(tree, reader, 1.0)
    reader.put(10, ROOT_PID, cpu_s=0.5, started=101.0)
    step(tree, reader, 2.0)
    assert tree.members[10].rates.cpu_pct == pytest.approx(50.0)
    reader.put(10, ROOT_PID, cpu_s=2.5, started=101.0)
    step(tree, reader, 4.0)
    assert tree.members[10].rates.cpu_pct == pytest.approx(100.0)


def test_reaped_child_is_taken_off_its_parent(reader: FakeReader) -> None:
    """GIVEN a child that had read 100 MiB WHEN its parent reaps it THEN the parent, to which the
    kernel adds that, does not seem to have read it; what it read itself does count."""
    reader.put(10, ROOT_PID)
    reader.put(11, 10)
    reader.ios = {10: Io(0, 0, 0, 0), 11: Io(100 * MIB, 7 * MIB, 50 * MIB, 0)}
    tree = made(reader)
    step(tree, reader, 1.0)
    del reader.table[11], reader.ios[11]
    reader.ios[10] = Io(101 * MIB, 7 * MIB, 50 * MIB, 0)
    step(tree, reader, 2.0)
    rates = tree.members[10].rates
    assert rates.read == pytest.approx(MIB)
    assert (rates.written, rates.disk_read) == (0.0, 0.0)


def test_a_child_that_was_not_reaped_by_its_parent(reader: FakeReader) -> None:
    """GIVEN a child whose I/O the kernel did not add THEN the parent's rate is not negative."""
    reader.put(10, ROOT_PID)
    reader.put(11, 10)
    reader.ios = {10: Io(), 11: Io(100 * MIB)}
    tree = made(reader)
    step(tree, reader, 1.0)
    del reader.table[11]
    step(tree, reader, 2.0)
    assert tree.members[10].rates.read == 0.0


def test_unreadable_io_is_not_zero(reader: FakeReader) -> None:
    """GIVEN a process whose I/O cannot be read THEN its rates are not known, its CPU is."""
    reader.put(10, ROOT_PID, cpu_s=0.1)
    tree = made(reader)
    step(tree, reader, 1.0)
    assert tree.members[10].rates.read is None
    assert tree.members[10].rates.cpu_pct is not None


def test_exec_gives_a_new_command(reader: FakeReader) -> None:
    """GIVEN a shell that becomes the training THEN its command is read anew."""
    reader.put(10, ROOT_PID, name="sh")
    tree = made(reader)
    step(tree, reader, 1.0)
    tree.members[10].command = ("old",)
    before = tree.changes
    reader.put(10, ROOT_PID, name="python")
    step(tree, reader, 1.2)
    assert tree.members[10].command == ("p", "10")
    assert tree.changes > before


def test_proc_files(tmp_path: Path) -> None:
    """GIVEN files of /proc with a hostile name THEN the figures are read from the right places."""
    from gpudiag.record.linux.procfs import ProcFs

    folder = tmp_path / "77"
    folder.mkdir()
    numbers = list(range(4, 53))
    fields = ["S", "5", "1", "1", "0", "-1", *map(str, numbers)]
    (folder / "stat").write_text(f"77 (a) R 1 (b)) {' '.join(fields)}\n")
    (folder / "io").write_text(
        "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
        "cancelled_write_bytes: 7\n"
    )
    (folder / "status").write_text(
        "Name:\tx\nvoluntary_ctxt_switches:\t42\nnonvoluntary_ctxt_switches:\t9\n"
    )
    (folder / "cmdline").write_bytes(b"python\0-c\0\xff\0")
    (folder / "environ").write_bytes(b"A=1\0RANK=3\0")
    reader = ProcFs(str(tmp_path))
    reading = reader.reading(77)
    assert reading is not None
    assert (reading.name, reading.parent, reading.state) == ("a) R 1 (b)", 5, "S")
    assert reader.io(77) == Io(1, 2, 5, 6)
    assert reader.voluntary_switches(77) == 42
    assert reader.command(77) == ("python", "-c", "\ufffd")
    assert reader.variable(77, "RANK") == "3"
    assert reader.variable(77, "NONE") is None
    assert reader.pids() == {77}
    for nothing in (reader.reading(78), reader.io(78), reader.voluntary_switches(78)):
        assert nothing is None


def test_both_readers_agree_on_this_process() -> None:
    """GIVEN this very process THEN /proc and psutil tell the same of it."""
    import os
    import sys

    if sys.platform != "linux":
        pytest.skip("needs both readers")
    from gpudiag.record.linux.procfs import ProcFs
    from gpudiag.record.portable import PsutilReader

    one, two = ProcFs(), PsutilReader()
    a, b = one.reading(os.getpid()), two.reading(os.getpid())
    assert a is not None
    assert b is not None
    assert (a.parent, a.threads, a.name) == (b.parent, b.threads, b.name)
    assert a.cpu_s == pytest.approx(b.cpu_s, abs=0.05)
    assert a.rss_bytes == pytest.approx(b.rss_bytes, rel=0.2)
    assert one.command(os.getpid()) == two.command(os.getpid())
    io_a, io_b = one.io(os.getpid()), two.io(os.getpid())
    assert io_a is not None
    assert io_b is not None
    assert io_a.disk_written == io_b.disk_written
    assert set(one.thread_times(os.getpid(), 2)) == set(two.thread_times(os.getpid(), 2))
