"""① A training-shaped program for the demo: `python -m gpudiag.demo.train --scenario NAME`.

Real processes and real CPU work on an emulated GPU. There is no model: a step takes a batch from
the loader, occupies the GPU for the step time, and waits for it as `loss.item()` does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpudiag.demo.dataset import FileDataset
from gpudiag.demo.device import SIM_DIR, EmulatedGPU, EmulatedOutOfMemoryError
from gpudiag.demo.loader import Loader
from gpudiag.demo.scenarios import BATCH, DEFAULT, SCENARIOS, DemoScenario

MODEL_MIB = 4200  # weights, optimizer state and activations after the first step
SEGMENT_MIB = 20  # caching allocators take device memory in pieces of this order
REPORT_EVERY_S = 10.0


class Trainer:
    """Owns the emulated GPUs and runs steps until the time is over."""

    def __init__(self, scenario: DemoScenario, folder: Path) -> None:
        self._scenario = scenario
        self._gpus = [
            EmulatedGPU(index, folder) for index, share in enumerate(scenario.gpu_share) if share
        ]
        self._leaked = 0.0
        self._threads = ThreadPoolExecutor(os.cpu_count())  # makes threads on first use only
        for gpu in self._gpus:
            gpu.allocate(MODEL_MIB)

    def step(self) -> None:
        """One step: launch on every GPU, then wait for all of them, spinning as CUDA does."""
        if not self._gpus:
            self._compute_on_cpu()
        for gpu, share in zip(self._gpus, self._scenario.gpu_share, strict=False):
            gpu.launch(self._scenario.step_ms / 1000 * share)
        for gpu in self._gpus:
            gpu.synchronize()
        self._leaked += self._scenario.leak_mib
        while self._leaked >= SEGMENT_MIB:
            self._leaked -= SEGMENT_MIB
            self._gpus[0].allocate(SEGMENT_MIB)

    def _compute_on_cpu(self) -> None:
        """What a matrix library does without a GPU: all cores, in threads that hold no lock."""
        until = time.monotonic() + self._scenario.step_ms / 1000
        cores = os.cpu_count() or 1
        while time.monotonic() < until:
            list(self._threads.map(_crunch, range(cores)))

    def close(self) -> None:
        """Give the GPUs back."""
        self._threads.shutdown()
        for gpu in self._gpus:
            gpu.close()


def _crunch(seed: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", b"%d" % seed, b"salt", 20_000)


def train(scenario: DemoScenario, seconds: float, folder: Path, data: Path) -> int:
    """Train for `seconds`; returns the number of steps."""
    dataset = FileDataset(data, scenario.cpu_ms / BATCH, scenario.latency_ms)
    loader = Loader(dataset, BATCH, scenario.workers)  # forks before a GPU context exists
    trainer = Trainer(scenario, folder)
    start = time.monotonic()
    steps, next_report = 0, REPORT_EVERY_S
    try:
        for _ in loader:
            trainer.step()
            steps += 1
            passed = time.monotonic() - start
            if passed >= next_report:
                print(
                    f"step {steps}, {steps * BATCH / passed:.0f} samples/s, "
                    f"{passed:.0f} of {seconds:g} s",
                    flush=True,
                )
                next_report += REPORT_EVERY_S
            if passed >= seconds:
                break
    finally:
        loader.close()
        trainer.close()
    return steps


def main(argv: list[str] | None = None) -> int:
    """The command line; the folder of the simulated GPUs comes from `GPUDIAG_SIM_DIR`."""
    parser = argparse.ArgumentParser(prog="train.py", description=__doc__)
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), default=DEFAULT)
    parser.add_argument("--seconds", type=float, help="how long to train")
    asked = parser.parse_args(argv)
    scenario = SCENARIOS[asked.scenario]
    seconds = asked.seconds if asked.seconds is not None else scenario.seconds
    try:
        with tempfile.TemporaryDirectory(prefix="gpudiag-demo-data-") as data:
            steps = train(scenario, seconds, Path(os.environ[SIM_DIR]), Path(data))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        return 130
    except EmulatedOutOfMemoryError as error:
        print(f"out of memory: {error}", flush=True)
        return 1
    print(f"done: {steps} steps", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
