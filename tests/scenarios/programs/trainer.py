"""A training-shaped program on emulated GPUs: `python trainer.py SPEC.json`.

Real processes, real CPU work and real files; only the kernels are emulated. What it does follows
from SPEC alone (see `Spec`), so that a fixed twin differs from its faulty sister in one key.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpudiag.demo.dataset import FileDataset
from gpudiag.demo.device import SIM_DIR, EmulatedGPU, EmulatedOutOfMemoryError
from gpudiag.demo.loader import Loader

BATCH = 16
DEFAULTS: dict[str, Any] = {
    "seconds": 50,  # of training, start-up not counted
    "workers": 0,
    "cpu_ms": 0,  # CPU of a batch in the loader
    "latency_ms": 0,  # wait of each sample's read
    "step_ms": 50,  # kernel time of a step
    "launch_ms": 0,  # CPU of the training process in each step
    "shares": [1.0],  # of step_ms, for each GPU; 0 makes no context
    "loads": [0.8],
    "memory_mib": [4200],
    "wait": "spin",  # or "sleep": CUDA's blocking synchronisation
    "start_s": 0,
    "pause_every_s": 0,
    "pause_s": 0,
    "pause": "sleep",  # or "write", "cpu"
    "epoch_s": 0,  # the loader is made anew at each epoch …
    "persistent": True,  # … unless its workers persist
    "import_s": 0,  # what a new worker needs before its first sample
    "pin_workers": False,
    "leak_mib": 0,  # a step
    "eval_every_s": 0,  # other memory and shorter kernels for a quarter of that time
    "hang_after_s": 0,
    "hang_s": 0,
    "tail_s": 0,  # without GPU memory, after training
    "cpu_only_threads": 0,
    "extra_context": None,  # a GPU on which a context is made and not used
    "ranks": [],  # specs of ranks, each started as a process of its own
}


class Data:
    """The dataset, with what a worker does before its first sample."""

    def __init__(self, spec: dict[str, Any], folder: Path) -> None:
        self._files = FileDataset(folder, spec["cpu_ms"] / BATCH, spec["latency_ms"])
        self._spec, self._main, self._ready = spec, os.getpid(), False

    def __getitem__(self, index: int) -> bytes:
        if not self._ready and os.getpid() != self._main:
            self._ready = True
            if self._spec["pin_workers"]:
                os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            time.sleep(self._spec["import_s"])
        return self._files[index]


class Program:
    """One training process."""

    def __init__(self, spec: dict[str, Any], folder: Path) -> None:
        self.spec = spec
        self.data = Data(spec, folder) if spec["cpu_ms"] or spec["latency_ms"] else None
        self.folder = folder
        self.loader: Loader | None = None
        self.batches: Iterator[Any] = iter(int, 1)  # endless
        self._load_anew()  # forks before a GPU context exists
        self.gpus: list[tuple[EmulatedGPU, float, float]] = []

    def _load_anew(self) -> None:
        if self.loader is not None:
            self.loader.close()
        if self.data is not None:
            self.loader = Loader(self.data, BATCH, self.spec["workers"])
            self.batches = iter(self.loader)

    def open_gpus(self) -> None:
        extra = self.spec["extra_context"]
        if extra is not None:
            self.extra = EmulatedGPU(extra)
        for index, share in enumerate(self.spec["shares"]):
            if share:
                gpu = EmulatedGPU(index)
                gpu.allocate(self._of("memory_mib", index))
                self.gpus.append((gpu, share, self._of("loads", index)))

    def _of(self, key: str, index: int) -> Any:
        values = self.spec[key]
        return values[min(index, len(values) - 1)]

    def step(self, kernel_ms: float) -> None:
        next(self.batches)
        if self.spec["launch_ms"]:
            _burn(self.spec["launch_ms"] / 1000)
        for gpu, share, load in self.gpus:
            gpu.launch(kernel_ms / 1000 * share, load)
        for gpu, _, _ in self.gpus:
            gpu.synchronize(self.spec["wait"])
        if not self.gpus:
            _burn(kernel_ms / 1000)

    def pause(self, number: int) -> None:
        until = time.monotonic() + self.spec["pause_s"]
        while time.monotonic() < until:
            if self.spec["pause"] == "write":
                (self.folder / f"checkpoint{number % 2}").write_bytes(bytes(8 << 20))
                time.sleep(0.3)
            elif self.spec["pause"] == "cpu":
                _burn(0.1)
            else:
                time.sleep(0.1)

    def train(self) -> tuple[int, float]:
        """Steps and seconds."""
        spec, steps, pauses, leaked = self.spec, 0, 0, 0.0
        start = epoch = time.monotonic()
        evaluating = False
        while (passed := time.monotonic() - start) < spec["seconds"]:
            if spec["hang_after_s"] and passed >= spec["hang_after_s"]:
                time.sleep(spec["hang_s"])
                os.kill(os.getpid(), signal.SIGKILL)  # as who is tired of waiting ends it
            if spec["pause_every_s"] and passed >= spec["pause_every_s"] * (pauses + 1):
                pauses += 1
                self.pause(pauses)
            if spec["epoch_s"] and time.monotonic() - epoch >= spec["epoch_s"]:
                epoch = time.monotonic()
                if not spec["persistent"]:
                    self._load_anew()
            if spec["eval_every_s"]:
                evaluate = passed % spec["eval_every_s"] > 0.75 * spec["eval_every_s"]
                if evaluate != evaluating:
                    evaluating = evaluate
                    move = self.gpus[0][0].allocate if evaluate else self.gpus[0][0].free
                    move(1500)
            self.step(spec["step_ms"] * (0.6 if evaluating else 1))
            steps += 1
            leaked += spec["leak_mib"]
            if leaked >= 20:
                self.gpus[0][0].allocate(int(leaked))
                leaked = 0.0
        return steps, time.monotonic() - start

    def close(self) -> None:
        if self.loader is not None:
            self.loader.close()
        for gpu, _, _ in self.gpus:
            gpu.close()


def _burn(seconds: float) -> None:
    """CPU time, not wall time: a process without a core takes longer for it."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def run(spec: dict[str, Any]) -> int:
    if spec["ranks"]:
        return _launch(spec)
    for _ in range(spec["cpu_only_threads"]):
        threading.Thread(target=_burn, args=(spec["seconds"],), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="scenario-") as folder:
        program = Program(spec, Path(folder))
        if spec["start_s"]:
            time.sleep(spec["start_s"])
        program.open_gpus()
        try:
            steps, seconds = program.train()
        except EmulatedOutOfMemoryError as error:
            print(f"out of memory: {error}", flush=True)
            return 1
        finally:
            program.close()
        if spec["tail_s"]:
            time.sleep(spec["tail_s"])
    if os.environ.get("SCENARIO_RATE"):
        Path(os.environ["SCENARIO_RATE"]).write_text(
            # a batch on each GPU, as far as it gets a share of one
            f"{steps * max(sum(spec['shares']), 1) / seconds}"
        )
    return 0


def _launch(spec: dict[str, Any]) -> int:
    """One process for each rank, as a launcher starts them."""
    ranks = []
    for number, own in enumerate(spec["ranks"]):
        path = Path(os.environ[SIM_DIR]) / f"rank{number}.json"
        path.write_text(json.dumps(own))
        names = {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": len(spec["ranks"])}
        env = {**os.environ, **{name: str(value) for name, value in names.items()}}
        env["LOCAL_WORLD_SIZE"] = str(len(spec["ranks"]))
        ranks.append(subprocess.Popen([sys.executable, __file__, str(path)], env=env))
    return max(rank.wait() for rank in ranks)


def main() -> int:
    told = json.loads(Path(sys.argv[1]).read_text())
    unknown = set(told) - set(DEFAULTS)
    if unknown:
        raise SystemExit(f"unknown keys: {sorted(unknown)}")
    return run({**DEFAULTS, **told})


if __name__ == "__main__":
    raise SystemExit(main())
