"""The demo's loader, dataset and training: real processes, short."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from gpudiag.demo.activity import DeviceReader
from gpudiag.demo.dataset import FileDataset
from gpudiag.demo.loader import Loader
from gpudiag.demo.scenarios import DEFAULT, SCENARIOS
from gpudiag.demo.train import main, train


class Numbers:
    """Samples that say their index and who made them."""

    def __getitem__(self, index: int) -> bytes:
        return b"%d %d" % (index, os.getpid())


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_come_in_order_whoever_makes_them(workers: int) -> None:
    """GIVEN n workers WHEN 7 batches are taken THEN in order, made by n other processes."""
    loader = Loader(Numbers(), 2, workers)
    batches = [batch for batch, _ in zip(loader, range(7), strict=False)]
    loader.close()
    said = [sample.split() for batch in batches for sample in batch]
    assert [int(index) for index, _ in said] == list(range(14))
    makers = {int(pid) for _, pid in said}
    assert (makers == {os.getpid()}) if workers == 0 else (len(makers - {os.getpid()}) == workers)
    assert psutil.Process().children() == []


def test_workers_carry_the_command_of_the_training(tmp_path: Path) -> None:
    """GIVEN a training with two workers WHEN looked at THEN two children with its command line,
    which end when it is killed."""
    child = subprocess.Popen(
        [sys.executable, "-m", "gpudiag.demo.train", "--scenario", "healthy"],
        env={**os.environ, "GPUDIAG_SIM_DIR": str(tmp_path), "TMPDIR": str(tmp_path)},
    )
    seen = psutil.Process(child.pid)
    while len(workers := seen.children()) < 2 or not list(tmp_path.glob("gpu0.*")):
        assert child.poll() is None
    assert {tuple(worker.cmdline()) for worker in workers} == {tuple(seen.cmdline())}
    child.send_signal(signal.SIGKILL)
    child.wait()
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert alive == []


def test_decoding_costs_more_if_more_is_asked(tmp_path: Path) -> None:
    """GIVEN two costs WHEN datasets are made THEN both decode a sample, the dear one with more."""
    cheap, dear = (FileDataset(tmp_path, cpu_ms) for cpu_ms in (0.1, 200))
    assert dear._passes > 10 * cheap._passes
    assert cheap[3] == cheap[19]
    assert cheap[3] != cheap[4]


def test_a_training_uses_its_gpus_as_the_scenario_says(tmp_path: Path) -> None:
    """GIVEN the imbalance scenario, shortened WHEN trained THEN GPU 1 gets a fifth of the work."""
    scenario = SCENARIOS["imbalance"]._replace(cpu_ms=1, step_ms=5, workers=0)
    steps = train(scenario, 0.1, tmp_path, tmp_path)
    assert steps >= 1
    busy = [busy_ns(tmp_path, index) for index in (0, 1)]
    assert busy[0] == steps * 5_000_000
    assert busy[1] == steps * 1_000_000
    assert DeviceReader(tmp_path).read(0).processes == ()


def test_creep_takes_segments_and_an_idle_gpu_is_never_touched(tmp_path: Path) -> None:
    """GIVEN a leak of 30 MiB a step WHEN trained THEN it grew by whole segments of 20 MiB."""
    from gpudiag.demo.train import MODEL_MIB, Trainer

    trainer = Trainer(SCENARIOS["memory-creep"]._replace(leak_mib=30, step_ms=0.1), tmp_path)
    for _ in range(3):
        trainer.step()
    (process,) = DeviceReader(tmp_path).read(0).processes
    assert process.memory_mib == 420 + MODEL_MIB + 80
    trainer.close()
    idle = tmp_path / "idle"
    idle.mkdir()
    train(SCENARIOS["gpu-never-used"]._replace(cpu_ms=1, step_ms=1), 0.05, idle, idle)
    assert list(idle.glob("gpu*")) == []


def test_the_program_reports_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN the default scenario WHEN run for a moment THEN it says how many steps it made."""
    monkeypatch.setenv("GPUDIAG_SIM_DIR", str(tmp_path))
    assert main(["--scenario", DEFAULT, "--seconds", "0.1"]) == 0
    assert capsys.readouterr().out.startswith("done: ")


def busy_ns(folder: Path, index: int) -> int:
    from gpudiag.demo.device import W_BUSY_NS

    (path,) = folder.glob(f"gpu{index}.*")
    return memoryview(path.read_bytes()).cast("q")[W_BUSY_NS]


def test_a_leak_ends_out_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """GIVEN a leak larger than the card WHEN trained THEN one line and exit code 1."""
    greedy = SCENARIOS[DEFAULT]._replace(leak_mib=20000, cpu_ms=1, step_ms=0.1)
    monkeypatch.setitem(SCENARIOS, DEFAULT, greedy)
    monkeypatch.setenv("GPUDIAG_SIM_DIR", str(tmp_path))
    assert main(["--seconds", "5"]) == 1
    assert capsys.readouterr().out.startswith("out of memory: emulated GPU 0: 20 MiB asked for")
