"""③ Named quantities computed from a Timeline. Importing this package registers all of them."""

from gpudiag.signals import (  # noqa: F401 - each registers its signals
    account,
    activity,
    cores,
    frozen,
    gaps,
    gpus,
    growth,
    host,
    hostmem,
    link,
    memory,
    nodes,
    peers,
    quality,
    ranks,
    respawn,
    run,
    startup,
    starvation,
    tenants,
    throttling,
    uncertainty,
    worker_need,
    workers,
)
from gpudiag.signals.base import REGISTRY, Missing, SignalSpec, Value
from gpudiag.signals.compute import SignalSet

__all__ = ["REGISTRY", "Missing", "SignalSet", "SignalSpec", "Value"]
