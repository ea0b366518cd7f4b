"""A PyTorch training loop with the real DataLoader: `python torch_trainer.py SPEC.json`.

PyTorch's own loader, worker processes, collation and start methods; images are decoded from files
and augmented by torch on the CPU. Only the kernels are emulated (`gpudiag.demo.device`), since the
machine has no GPU.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from gpudiag.demo.device import EmulatedGPU

SIDE = 128  # 48 KB an image, half of a usual JPEG
FILES = 64
DEFAULTS: dict[str, Any] = {
    "seconds": 52,  # of training
    "workers": 0,
    "rounds": 1,  # augmentations of a sample: its CPU time
    "batch": 16,
    "step_ms": 60,  # kernel time of a step
    "python_ms": 0,  # CPU time of the loop itself in each step: logging, metrics
    "epoch": 10_000,  # samples
    "persistent": False,
    "start_method": None,
}


class Images(Dataset[torch.Tensor]):
    """Raw images in files, flipped, blurred and normalised."""

    def __init__(self, folder: Path, length: int, rounds: int) -> None:
        self.folder, self.length, self.rounds = folder, length, rounds

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        data = (self.folder / f"{index % FILES}.raw").read_bytes()
        image = torch.frombuffer(bytearray(data), dtype=torch.uint8).float()
        image = image.view(3, SIDE, SIDE) / 255
        for _ in range(self.rounds):
            blurred = torch.nn.functional.avg_pool2d(image[None], 5, stride=1, padding=2)[0]
            image = torch.flip(image, (2,)) * 0.5 + blurred * 0.5
        return (image - image.mean()) / (image.std() + 1e-6)


def make(folder: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    for number in range(FILES):
        pixels = torch.randint(0, 256, (3 * SIDE * SIDE,), generator=generator, dtype=torch.uint8)
        (folder / f"{number}.raw").write_bytes(bytes(pixels.tolist()))


def epochs(loader: DataLoader[torch.Tensor]) -> Iterator[torch.Tensor]:
    while True:
        yield from loader


def train(spec: dict[str, Any], folder: Path) -> float:
    """Batches a second."""
    loader = DataLoader(
        Images(folder, spec["epoch"], spec["rounds"]),
        batch_size=spec["batch"],
        shuffle=True,
        num_workers=spec["workers"],
        persistent_workers=spec["persistent"],
        multiprocessing_context=spec["start_method"],
    )
    batches = epochs(loader)
    next(batches)
    gpu = EmulatedGPU(0)
    gpu.allocate(4200)
    steps, start = 0, time.monotonic()
    while (passed := time.monotonic() - start) < spec["seconds"]:
        next(batches)
        until = time.thread_time() + spec["python_ms"] / 1000
        while time.thread_time() < until:
            pass
        gpu.launch(spec["step_ms"] / 1000, 0.8)
        gpu.synchronize("sleep")
        steps += 1
    gpu.close()
    return steps / passed


def main() -> int:
    told = json.loads(Path(sys.argv[1]).read_text())
    unknown = set(told) - set(DEFAULTS)
    if unknown:
        raise SystemExit(f"unknown keys: {sorted(unknown)}")
    torch.set_num_threads(1)  # as in a worker: one thread a process
    with tempfile.TemporaryDirectory(prefix="scenario-") as name:
        folder = Path(name)
        make(folder)
        rate = train({**DEFAULTS, **told}, folder)
    if os.environ.get("SCENARIO_RATE"):
        Path(os.environ["SCENARIO_RATE"]).write_text(f"{rate}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
