"""The faults of the campaign: what is broken, and how, drawn from a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

INTERVAL_S = 0.2
HOUR_S = 3600.0
_FIELDS = ("clocks_throttle_reasons.active", "pcie.link.gen.current", "utilization.memory")
_START_ERRORS = ("no-devices", "driver-not-loaded", "version-mismatch", "container-lost-gpu")


class Scene(NamedTuple):
    """One run. `at_s` is when the fault strikes, counted from the moment the file is there."""

    kind: str
    at_s: float
    steps: int
    code: int
    driver: dict[str, Any]  # of the simulated nvidia-smi
    refused: tuple[str, ...] = ()  # fields that it does not know
    disk_kib: int = 0  # of a file system of its own, filled up
    step_wall_s: float = 0.0  # of the wall clock of all processes
    pause_s: float = 0.0  # between STOP and CONT
    early: bool = False  # strike at any time from the start on, and not once the file is there


def draw(number: int, seed: int) -> Scene:
    """Run `number` of the campaign; the kinds take turns, everything else is drawn."""
    chance = random.Random(f"{seed}-{number}")
    kinds = list(KINDS)
    kind = kinds[number % len(kinds)]
    gpus = chance.choice([1, 1, 2, 8])
    base = Scene(
        kind,
        chance.uniform(0.05, 1.6),
        chance.randint(22, 28),
        chance.choice([0, 1, 3, 77, 255]),
        {"gpus": [{} for _ in range(gpus)], "query_s": 0.001},
    )
    return base._replace(**KINDS[kind](chance, base))


def _driver(scene: Scene, *faults: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"driver": {**scene.driver, "faults": [dict(fault) for fault in faults], **more}}


def _hang(chance: random.Random, scene: Scene) -> dict[str, Any]:
    fault = {
        "kind": "hang",
        "where": chance.choice(["start", "mid-row", "between"]),
        "at_tick": chance.randint(0, 8),
        "ignore_sigterm": chance.random() < 0.5,
        "stopped": chance.random() < 0.25,
    }
    steps = 80 if chance.random() < 0.2 else scene.steps  # long enough to be found silent
    return {**_driver(scene, fault), "steps": steps}


def _dead(chance: random.Random, scene: Scene) -> dict[str, Any]:
    fault = {"kind": "death", "at_tick": chance.randint(0, 8), "code": chance.choice([0, 9, 15])}
    calls = {} if chance.random() < 0.5 else {"calls": [1]}
    return _driver(scene, {**fault, **calls, "to": "loop"})


def _lost(chance: random.Random, scene: Scene) -> dict[str, Any]:
    gpu = chance.randrange(len(scene.driver["gpus"]))
    xid = {"kind": "text", "at_tick": 2, "text": "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen"}
    return _driver(scene, xid, {"kind": "gpu-lost", "gpu": gpu, "at_tick": chance.randint(0, 8)})


def _error(chance: random.Random, scene: Scene) -> dict[str, Any]:
    return _driver(scene, {"kind": "start-error", "name": chance.choice(_START_ERRORS)})


def _slow(chance: random.Random, scene: Scene) -> dict[str, Any]:
    return _driver(scene, {"kind": "slow-start", "seconds": chance.uniform(0.3, 4.0)})


def _held(chance: random.Random, scene: Scene) -> dict[str, Any]:
    return _driver(scene, buffering=chance.choice(["block", "exit"]))


def _partial(chance: random.Random, scene: Scene) -> dict[str, Any]:
    fault = {"kind": "hang", "where": "mid-row", "at_tick": chance.randint(0, 8)}
    return _driver(scene, fault)


def _stepped(chance: random.Random, scene: Scene) -> dict[str, Any]:
    seconds = chance.choice([HOUR_S, -HOUR_S])
    fault = {"kind": "clock-step", "seconds": seconds, "at_tick": chance.randint(1, 6)}
    return {**_driver(scene, fault), "step_wall_s": seconds}


def _kill(chance: random.Random, scene: Scene) -> dict[str, Any]:
    early = chance.random() < 0.25
    return {"early": early, "at_s": chance.uniform(0.0, 0.8 if early else 1.6)}


def _kill_and_break(chance: random.Random, scene: Scene) -> dict[str, Any]:
    # a driver that refuses to end its tool refuses it without a recorder too
    broken = chance.choice([_dead, _lost, _slow, _partial])
    return {**_kill(chance, scene), **broken(chance, scene)}


def _nothing(chance: random.Random, scene: Scene) -> dict[str, Any]:
    return {}


KINDS: dict[str, Callable[[random.Random, Scene], dict[str, Any]]] = {
    "recorder killed": _kill,
    "nvidia-smi hangs": _hang,
    "recorder killed, nvidia-smi broken": _kill_and_break,
    "nvidia-smi dies": _dead,
    "GPU lost": _lost,
    "partial line": _partial,
    "driver error": _error,
    "unknown fields": lambda chance, scene: {"refused": tuple(chance.sample(_FIELDS, 2))},
    "slow start": _slow,
    "output held back": _held,
    "impostor": lambda chance, scene: _driver(scene, {"kind": "impostor"}),
    "disk full": lambda chance, scene: {"disk_kib": chance.choice([4, 8, 8, 12])},
    "file size limit": lambda chance, scene: {"disk_kib": -chance.choice([1, 4, 8])},
    "output folder removed": _nothing,
    "output folder moved": _nothing,
    "clock stepped by an hour": _stepped,
    "recorder stopped and continued": lambda chance, scene: {"pause_s": chance.uniform(0.1, 1.5)},
    "nvidia-smi stopped and continued": lambda chance, scene: {"pause_s": chance.uniform(0.1, 1.5)},
    "nvidia-smi killed": _nothing,
}
