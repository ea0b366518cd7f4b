"""The emulated GPU: its utilisation follows from the kernels that ran, and from nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.demo import device
from gpudiag.demo.activity import DeviceReader, _union
from gpudiag.demo.device import CONTEXT_MIB, EmulatedGPU, EmulatedOutOfMemoryError

SECOND = 1_000_000_000


class FakeTime:
    """A monotonic clock that moves only when told, or slept on."""

    def __init__(self) -> None:
        self.ns = 100 * SECOND

    def monotonic_ns(self) -> int:
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(device, "time", fake)
    return fake


def test_utilisation_is_the_share_of_the_last_whole_period(clock: FakeTime, tmp_path: Path) -> None:
    """GIVEN kernels a third of the time WHEN read within the next period THEN 33 %, repeatedly."""
    gpu = EmulatedGPU(0, tmp_path)
    for _ in range(50):
        gpu.kernel(0.01, wait="sleep")
        clock.sleep(0.02)
    reader = DeviceReader(tmp_path)
    for later in (0.0, 0.4):
        activity = reader.read(0, 101 * SECOND + round(later * SECOND))
        assert activity.busy == pytest.approx(1 / 3, abs=0.01)
    assert gpu.busy_s == pytest.approx(0.5)


def test_a_period_of_a_sixth_of_a_second_sees_its_own_part(clock: FakeTime, tmp_path: Path) -> None:
    """GIVEN one kernel of 0.1 s WHEN the period is 1/6 s THEN it fills 60 % of one period only."""
    clock.ns = 100 * SECOND // 166_666_667 * 166_666_667
    start = clock.ns
    EmulatedGPU(0, tmp_path).kernel(0.1, wait="sleep")
    reader = DeviceReader(tmp_path, 1 / 6)
    assert reader.read(0, start + 170_000_000).busy == pytest.approx(0.6, abs=0.01)
    assert reader.read(0, start + 340_000_000).busy == 0


def test_kernels_of_two_contexts_overlap_and_count_once(clock: FakeTime, tmp_path: Path) -> None:
    """GIVEN two contexts busy at the same time WHEN read THEN the GPU was busy that time, once."""
    first, second = EmulatedGPU(0, tmp_path), EmulatedGPU(0, tmp_path)
    first.launch(0.5)
    second.launch(0.3)
    activity = DeviceReader(tmp_path).read(0, 101 * SECOND)
    assert activity.busy == pytest.approx(0.5)
    assert len(activity.processes) == 2


def test_a_queue_runs_in_order_and_the_future_is_not_counted(
    clock: FakeTime, tmp_path: Path
) -> None:
    """GIVEN 3 s of kernels launched at once WHEN read after 1 s and 4 s THEN 100 %, then 0 %."""
    gpu = EmulatedGPU(0, tmp_path)
    for _ in range(3):
        gpu.launch(1.0)
    reader = DeviceReader(tmp_path)
    assert reader.read(0, 101 * SECOND).busy == 1.0
    assert reader.read(0, 104 * SECOND).busy == 0.0
    gpu.synchronize("sleep")
    assert clock.ns == 103 * SECOND


def test_an_open_interval_counts_while_its_process_lives(clock: FakeTime, tmp_path: Path) -> None:
    """GIVEN a busy block that has not ended WHEN read THEN the GPU is busy up to now."""
    gpu = EmulatedGPU(0, tmp_path)
    with gpu.busy():
        assert DeviceReader(tmp_path).read(0, 102 * SECOND).busy == 1.0
        clock.sleep(0.25)
    assert DeviceReader(tmp_path).read(0, 101 * SECOND).busy == pytest.approx(0.25)


def test_power_and_temperature_follow_the_load(clock: FakeTime, tmp_path: Path) -> None:
    """GIVEN a minute of work, then a minute of rest WHEN read THEN warm with load, then cool."""
    gpu = EmulatedGPU(0, tmp_path)
    for _ in range(60):
        gpu.kernel(1.0, load=0.9, wait="sleep")
    reader = DeviceReader(tmp_path)
    working = reader.read(0, clock.ns)
    resting = reader.read(0, clock.ns + 60 * SECOND)
    assert working.load == pytest.approx(0.9)
    assert 0.7 < working.heat <= 0.9
    assert resting.load == 0
    assert resting.heat < 0.1


def test_memory_is_held_freed_and_finite(tmp_path: Path) -> None:
    """GIVEN a card of 1000 MiB WHEN more is asked for THEN it refuses and keeps what it held."""
    gpu = EmulatedGPU(0, tmp_path, memory_mib=1000)
    gpu.allocate(500)
    with pytest.raises(EmulatedOutOfMemoryError, match=r"500 MiB asked for, 80 of 1000 MiB free"):
        gpu.allocate(500)
    reader = DeviceReader(tmp_path)
    assert reader.read(0).processes == ((os.getpid(), CONTEXT_MIB + 500),)
    gpu.free(200)
    assert reader.read(0).processes[0].memory_mib == CONTEXT_MIB + 300
    gpu.close()
    gpu.close()
    assert reader.read(0).processes == ()


def test_a_killed_process_gives_its_memory_back(tmp_path: Path) -> None:
    """GIVEN a process that holds memory and is busy WHEN it is killed THEN it holds nothing."""
    code = (
        "import sys, time\nfrom gpudiag.demo.device import EmulatedGPU\n"
        f"gpu = EmulatedGPU(1, {str(tmp_path)!r})\ngpu.allocate(100)\n"
        "with gpu.busy():\n    print('up', flush=True)\n    time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    reader = DeviceReader(tmp_path)
    assert reader.read(1).processes == ((child.pid, CONTEXT_MIB + 100),)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    activity = reader.read(1, time.monotonic_ns() + 3 * SECOND)
    assert activity.processes == ()
    assert activity.busy == 0


def test_other_gpus_and_half_made_files_are_not_read(tmp_path: Path) -> None:
    """GIVEN GPU 1 in use, GPU 10 too, and an empty file WHEN GPU 0 is read THEN it is idle."""
    EmulatedGPU(1, tmp_path).launch(5)
    EmulatedGPU(10, tmp_path).launch(5)
    (tmp_path / "gpu0.1.0").touch()
    (tmp_path / "gpu0.2.0").write_bytes(b"short")
    assert DeviceReader(tmp_path).read(0).processes == ()
    assert len(DeviceReader(tmp_path).read(1).processes) == 1


def test_a_context_is_not_shared_with_a_forked_child(tmp_path: Path) -> None:
    """GIVEN a context WHEN a forked child uses it THEN it is refused, as CUDA does."""
    gpu = EmulatedGPU(0, tmp_path)
    pid = os.fork()
    if pid == 0:
        try:
            gpu.launch(1)
        except RuntimeError:
            os._exit(42)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(1, 200), st.integers(0, 1000))))
def test_a_union_is_never_more_than_its_parts_or_the_whole(
    kernels: list[tuple[int, int, int]],
) -> None:
    """GIVEN any kernels WHEN united THEN as busy as counting every nanosecond says."""
    intervals = [(start, min(start + length, 1000), load) for start, length, load in kernels]
    covered, weighted = _union(intervals, 1000)
    truth = len({ns for start, end, _ in intervals for ns in range(start, end)})
    assert covered == pytest.approx(truth / 1000)
    assert 0 <= weighted <= covered + 1e-9
