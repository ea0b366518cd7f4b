"""Waiting for a core, pressure of the machine, memory without shared pages counted twice."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from gpudiag.record.linux.pressure import Pressure
from gpudiag.record.reading import Reading, ThreadTimes
from gpudiag.record.shared import SharedMemory
from gpudiag.record.threads import Threads
from gpudiag.record.tree import Member

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc")


class Reader:
    """Threads and memory as tables."""

    def __init__(self) -> None:
        self.times: dict[int, ThreadTimes] = {}
        self.pss: dict[int, int | None] = {}
        self.asked: list[int] = []

    def thread_times(self, pid: int, threads: int) -> dict[int, ThreadTimes]:
        return dict(self.times)

    def pss_bytes(self, pid: int) -> int | None:
        self.asked.append(pid)
        return self.pss[pid]


def member(threads: int, pid: int = 10) -> Member:
    made = Member(pid, Reading(1, 5.0, "python", "R", 1.0, threads, 0), ("python",), 0.0)
    made.rates = made.rates._replace(cpu_pct=42.0)
    return made


def test_threads_that_wait_are_added_up() -> None:
    """GIVEN two threads that wait half the time and a new one THEN the sum; the busiest alone."""
    reader = Reader()
    threads = Threads(reader)  # type: ignore[arg-type]
    reader.times = {10: ThreadTimes(1.0, 7.0), 11: ThreadTimes(5.0, 0.0)}
    assert threads.look(member(2), 1.0) == (None, None)
    reader.times = {
        10: ThreadTimes(1.2, 8.0),
        11: ThreadTimes(6.6, 1.0),
        12: ThreadTimes(0.1, 0.2),  # born since
    }
    rates = threads.look(member(3), 3.0)
    assert rates.busiest_pct == pytest.approx(80.0)
    assert rates.wait_pct == pytest.approx(110.0)


def test_a_kernel_without_waits() -> None:
    """GIVEN a system that does not tell waits THEN they are not known, and the CPU is."""
    reader = Reader()
    threads = Threads(reader)  # type: ignore[arg-type]
    reader.times = {10: ThreadTimes(1.0, None), 11: ThreadTimes(1.0, None)}
    threads.look(member(2), 1.0)
    reader.times[11] = ThreadTimes(1.5, None)
    assert threads.look(member(2), 2.0) == (pytest.approx(50.0), None)


def test_forgotten_processes_start_anew() -> None:
    """GIVEN a process that went and a later one of its number THEN their times do not mix."""
    reader = Reader()
    threads = Threads(reader)  # type: ignore[arg-type]
    reader.times = {10: ThreadTimes(9.0, 9.0)}
    threads.look(member(1), 1.0)
    threads.keep(set())
    assert threads.look(member(1), 2.0) == (42.0, None)


@linux
def test_waiting_really() -> None:
    """GIVEN two processes that share one core WHEN both are busy THEN each is seen to wait."""
    from gpudiag.record.linux.procfs import ProcFs

    reader = ProcFs()
    core = min(os.sched_getaffinity(0))
    rivals = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            os.sched_setaffinity(0, {core})
            end = time.monotonic() + 30
            while time.monotonic() < end and os.getppid() > 1:
                pass
            os._exit(0)
        rivals.append(pid)
    try:
        begin = reader.thread_times(rivals[0], 1)[rivals[0]]
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.05)
            now = reader.thread_times(rivals[0], 1)[rivals[0]]
            if now.cpu_s - begin.cpu_s > 0.05 and (now.wait_s or 0) - (begin.wait_s or 0) > 0.05:
                break
        else:
            raise AssertionError((begin, now))
    finally:
        for pid in rivals:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def test_files_of_threads(tmp_path: Path) -> None:
    """GIVEN a made-up /proc THEN nanoseconds become seconds; without schedstat, stat is read."""
    if sys.platform != "linux":
        pytest.skip("/proc")
    from gpudiag.record.linux.procfs import ProcFs

    for thread, text in ((7, "1500000000 250000000 12\n"), (8, "")):
        folder = tmp_path / "7" / "task" / str(thread)
        folder.mkdir(parents=True)
        fields = " ".join(["S", *["0"] * 10, "200", "100", *["0"] * 20])
        (folder / "stat").write_text(f"{thread} (a) b) {fields}\n")
        if text:
            (folder / "schedstat").write_text(text)
    (tmp_path / "7" / "smaps_rollup").write_text(
        "00400000-7ffc ---p 00000000 00:00 0    [rollup]\nRss:   900 kB\nPss:   300 kB\n"
    )
    reader = ProcFs(str(tmp_path))
    times = reader.thread_times(7, 2)
    assert times[7] == pytest.approx((1.5, 0.25))
    assert times[8] == (pytest.approx(3.0), None)
    assert reader.thread_times(9, 2) == {}
    assert reader.thread_times(9, 1) == {}
    assert reader.pss_bytes(7) == 300 * 1024
    assert reader.pss_bytes(9) is None


def pressure(folder: Path, **totals: int) -> None:
    for kind, total in totals.items():
        (folder / kind).write_text(
            f"some avg10=1.00 avg60=0.10 avg300=0.00 total={total}\n"
            f"full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
        )


def test_pressure(tmp_path: Path) -> None:
    """GIVEN totals that grow THEN the share of the time; what the kernel leaves out is absent."""
    pressure(tmp_path, cpu=1_000_000, memory=5)
    sampler = Pressure(str(tmp_path))
    pressure(tmp_path, cpu=1_500_000, memory=5)
    assert sampler.sample(2.0) == {
        "host_cpu_pressure_pct": pytest.approx(25.0),
        "host_mem_pressure_pct": 0.0,
    }
    (tmp_path / "cpu").write_text("nonsense\n")
    assert sampler.sample(2.0) == {"host_mem_pressure_pct": 0.0}
    assert Pressure(str(tmp_path / "nowhere")).sample(1.0) == {}


def until_done() -> None:
    for thread in threading.enumerate():
        if thread.name == "shared":
            thread.join(30)


def test_shared_memory_is_read_rarely() -> None:
    """GIVEN workers THEN their memory is read once in 30 s, and stands in one row."""
    reader = Reader()
    reader.pss = {1: 100, 2: 200}
    shared = SharedMemory(reader, 0.0)  # type: ignore[arg-type]
    found = {}
    for second in range(1, 100):
        value = shared.look([1, 2], float(second))
        if value is not None:
            found[second] = value
        until_done()
    assert found == {6: 300, 37: 300, 68: 300, 99: 300}
    assert reader.asked == [1, 2] * 4


def test_memory_that_is_known_in_part_only() -> None:
    """GIVEN a worker that ended or is not ours to read THEN there is no figure at all."""
    reader = Reader()
    reader.pss = {1: 100, 2: None}
    shared = SharedMemory(reader, 0.0)  # type: ignore[arg-type]
    for second in range(1, 9):
        assert shared.look([1, 2], float(second)) is None
        until_done()
    assert reader.asked == [1, 2]


def test_slow_memory_is_read_more_rarely() -> None:
    """GIVEN a look that took half a second THEN the next comes after 250 s, not 30."""
    reader = Reader()
    reader.pss = {1: 100}
    ticks = iter([0.0, 0.5, 600.0, 600.0])
    shared = SharedMemory(reader, 0.0, ticks.__next__)  # type: ignore[arg-type]
    found = []
    for second in range(1, 280):
        if shared.look([1], float(second)) is not None:
            found.append(second)
        until_done()
    assert found == [6, 257]
