"""① A data loader as the frameworks have it: forked workers, an index pipe and a result pipe each.

With `workers=0` the training process loads its samples itself. Otherwise batch i goes to worker
i mod n, `prefetch` batches ahead for each, and results are handed out in order: a training that
takes batches faster than they are made waits here, asleep.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Protocol

PARENT_CHECK_S = 2.0  # how soon a worker notices that the training process is gone


class Dataset(Protocol):
    """Anything that makes sample number `index`."""

    def __getitem__(self, index: int) -> bytes: ...


class Loader:
    """An endless iterator over batches of `batch` samples."""

    def __init__(self, dataset: Dataset, batch: int, workers: int, prefetch: int = 2) -> None:
        self._dataset = dataset
        self._batch = batch
        self._prefetch = prefetch
        self._workers = [_Worker(dataset, batch) for _ in range(workers)]

    def __iter__(self) -> Iterator[list[bytes]]:
        if not self._workers:
            return self._load_here()
        return self._collect()

    def close(self) -> None:
        """End the workers and wait for them."""
        for worker in self._workers:
            worker.close()

    def _load_here(self) -> Iterator[list[bytes]]:
        number = 0
        while True:
            yield _make(self._dataset, number, self._batch)
            number += 1

    def _collect(self) -> Iterator[list[bytes]]:
        count = len(self._workers)
        for number in range(count * self._prefetch):
            self._workers[number % count].index.send(number)
        ready: dict[int, list[bytes]] = {}
        number = 0
        while True:
            while number not in ready:
                for pipe in wait([worker.result for worker in self._workers]):
                    assert isinstance(pipe, Connection)
                    made, samples = pipe.recv()
                    ready[made] = samples
            self._workers[number % count].index.send(number + count * self._prefetch)
            yield ready.pop(number)
            number += 1


class _Worker:
    """A forked child that makes the batches whose numbers it is sent."""

    def __init__(self, dataset: Dataset, batch: int) -> None:
        context = multiprocessing.get_context("fork")
        theirs, self.index = context.Pipe(duplex=False)
        self.result, back = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_work, args=(dataset, batch, theirs, back, os.getpid()), daemon=True
        )
        self._process.start()
        theirs.close()
        back.close()

    def close(self) -> None:
        self._process.terminate()
        self._process.join()


def _work(dataset: Dataset, batch: int, index: Connection, result: Connection, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all: the trainer ends its workers
    try:
        while os.getppid() == parent:
            if index.poll(PARENT_CHECK_S):
                number = index.recv()
                result.send((number, _make(dataset, number, batch)))
    except (EOFError, BrokenPipeError):  # the training process is gone
        return


def _make(dataset: Dataset, number: int, batch: int) -> list[bytes]:
    return [dataset[number * batch + sample] for sample in range(batch)]
