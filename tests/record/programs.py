"""Programs for the recorder to run; `python programs.py NAME ARGUMENTS`."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import Any


def loader(seconds: str, report: str, method: str = "fork") -> None:
    """A training with two data-loader workers at full CPU; the GPU is busy a third of the time.

    Writes what it knows about itself into `report`: CPU seconds and life of each worker, the
    GPU's busy share.
    """
    from gpudiag.demo.device import EmulatedGPU

    context: Any = multiprocessing.get_context(method)
    stop, results = context.Event(), context.Queue()
    workers = [context.Process(target=_work, args=(stop, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    gpu = EmulatedGPU(0)
    begin = time.monotonic()
    while time.monotonic() - begin < float(seconds):
        gpu.launch(0.1)
        gpu.synchronize("sleep")
        time.sleep(0.2)
    length = time.monotonic() - begin
    stop.set()
    told = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    facts = {"workers": told, "busy": gpu.busy_s / length, "length": length}
    Path(report).write_text(json.dumps(facts))


def _work(stop: Any, results: Any) -> None:
    begin, used = time.monotonic(), time.process_time()
    while not stop.is_set():
        for _ in range(100_000):
            pass
    results.put((time.process_time() - used, time.monotonic() - begin))


if __name__ == "__main__":
    {"loader": loader}[sys.argv[1]](*sys.argv[2:])
