"""③ The page docs/signals.md, made from the signals: `python -m gpudiag.signals.document`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from gpudiag.signals import REGISTRY

TOPICS = {
    "run": "The run",
    "activity": "When the GPUs worked, and how much they idled",
    "starvation": "Who waits for whom",
    "ranks": "Each training process beside its GPU",
    "uncertainty": "How far off the shares may be",
    "cores": "Whether the run gets the cores that it wants",
    "worker_need": "How many workers",
    "workers": "Data-loader workers, storage and network",
    "host": "Cores, quota, shared memory",
    "gaps": "Pauses",
    "respawn": "Workers that are started anew",
    "startup": "Before the GPUs first work",
    "gpus": "The GPUs beside each other",
    "tenants": "Whose processes are on the GPUs",
    "memory": "GPU memory",
    "growth": "Growth of GPU memory",
    "hostmem": "Main memory of the run",
    "peers": "Power and clock of fully utilised GPUs",
    "nodes": "The machines of one run beside each other",
    "link": "The PCIe link",
    "throttling": "What holds the clock down",
    "frozen": "Whether the run is stuck",
    "quality": "The recording itself",
    "account": "The time ledger",
}
HEAD = """\
# Signals

A signal is a named quantity that is computed from a recording; rules say what it means. This page
is made from the code (`python -m gpudiag.signals.document > docs/signals.md`).

A signal that cannot be computed is *missing*, with a reason, and never 0. Then a rule that needs it
says "not checked, because …". Scope `gpu` means one value for each GPU of the run. Beside these,
every column of run.csv ([format.md](format.md)) is a series under its own name.

"The active time" is the active window defined at `active_s`; means over it are weighted by the real
length of each reading, and a hole of more than three intervals is no reading. [How it
works](how-it-works.md) says what these figures really measure, and when they mislead.
"""


def page() -> Iterator[str]:
    """The lines of the page. Raises KeyError for a module that has no topic yet."""
    yield HEAD
    for module, title in TOPICS.items():
        yield f"\n## {title}\n\n| signal | unit | scope | meaning |\n|---|---|---|---|\n"
        for spec in REGISTRY.values():
            if _module(spec.compute) == module:
                meaning = spec.meaning.replace("|", "\\|")
                yield f"| `{spec.name}` | {spec.unit} | {spec.scope} | {meaning} |\n"
    unplaced = {_module(spec.compute) for spec in REGISTRY.values()} - set(TOPICS)
    if unplaced:
        raise KeyError(f"no topic for {', '.join(sorted(unplaced))}")


def _module(compute: object) -> str:
    return str(getattr(compute, "__module__", "")).rpartition(".")[2]


if __name__ == "__main__":
    sys.stdout.writelines(page())
