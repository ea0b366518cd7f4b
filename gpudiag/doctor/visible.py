"""Before ① record: what a training would see of the GPUs, and whether its CUDA fits the driver."""

from __future__ import annotations

from gpudiag.doctor.machine import Machine
from gpudiag.doctor.result import Result
from gpudiag.doctor.software import Framework, numbers, oldest_driver
from gpudiag.language import tr


def visible_gpus(machine: Machine) -> Result | None:
    """CUDA_VISIBLE_DEVICES against the GPUs that are there."""
    name, chosen = "visible GPUs", machine.environ.get("CUDA_VISIBLE_DEVICES")
    count = len(machine.asked.gpus)
    if chosen is None:
        if not count:
            return None
        return Result(name, "ok", tr("all {count} (CUDA_VISIBLE_DEVICES is not set)", count=count))
    words = [word.strip() for word in chosen.split(",")]
    set_to = tr("CUDA_VISIBLE_DEVICES={text}", text=chosen[:120])
    if words[0] in ("", "-1", "NoDevFiles"):
        fact = tr("{setting}: CUDA programs will see no GPU", setting=set_to)
        return Result(name, "fault", fact, "unset CUDA_VISIBLE_DEVICES")
    if not count:
        return Result(
            name, "unknown", tr("{setting}: which GPUs are here is unknown", setting=set_to)
        )
    if any(word.startswith("MIG-") for word in words):
        return Result(
            name, "unknown", tr("{setting}: parts of a GPU are not looked up", setting=set_to)
        )
    wrong = next((at for at, word in enumerate(words) if not _is_here(machine, word)), None)
    if wrong is None:
        return Result(name, "ok", set_to)
    # CUDA takes the list up to the first entry that names nothing
    fact = tr(
        "{setting}: no GPU {name} here; CUDA ignores it and all after it",
        setting=set_to,
        name=words[wrong][:60],
    )
    fix = tr("export CUDA_VISIBLE_DEVICES={list}", list=",".join(map(str, range(count))))
    return Result(name, "fault" if wrong == 0 else "warning", fact, fix)


def _is_here(machine: Machine, word: str) -> bool:
    if word.isascii() and word.isdigit():
        return len(word) < 5 and int(word) < len(machine.asked.gpus)
    uuids = (str(gpu.get("uuid") or "").lower() for gpu in machine.asked.gpus)
    return word.lower().startswith("gpu-") and any(u.startswith(word.lower()) for u in uuids)


def mig(machine: Machine) -> Result | None:
    """GPUs that are split: nvidia-smi gives no utilisation for them."""
    split = [str(g.get("index")) for g in machine.asked.gpus if g.get("mig") == "Enabled"]
    if not split:
        return None
    fact = tr("on for GPU {gpus}: nvidia-smi gives no utilisation there", gpus=", ".join(split))
    fix = tr("nothing to do, or: sudo nvidia-smi -i {gpu} -mig 0", gpu=split[0])
    return Result("MIG", "warning", fact, fix)


def cuda(machine: Machine) -> list[Result]:
    """Each installed framework: the CUDA it was built for, against the driver."""
    driver = next((str(gpu["driver"]) for gpu in machine.asked.gpus if gpu.get("driver")), "")
    return [_framework(machine, framework, driver) for framework in machine.frameworks]


def _framework(machine: Machine, framework: Framework, driver: str) -> Result:
    name = framework.name
    built = tr("{name} {version}", name=name, version=framework.version or "?")
    if framework.cuda is None:
        fact = tr("{built}: its files do not say for which CUDA", built=built)
        return Result(name, "unknown", fact)
    if framework.cuda == "":
        kind = tr("AMD GPUs") if framework.hip else tr("the CPU alone")
        fact = tr("{built} is built for {kind}", built=built, kind=kind)
        if not machine.asked.gpus:
            return Result(name, "ok", fact)
        fix = tr("install its CUDA build into {place}", place=framework.place)
        return Result(name, "warning", fact, fix)
    built = tr("{built} for CUDA {cuda}", built=built, cuda=framework.cuda)
    oldest = oldest_driver(framework.cuda)
    if oldest is None:
        fact = tr("{built}: the oldest driver for it is not in the table", built=built)
        return Result(name, "unknown", fact)
    needs = ".".join(map(str, oldest))
    here = numbers(driver)
    if not here:
        fact = tr(
            "{built} needs driver {needs} or newer; the driver is unknown", built=built, needs=needs
        )
        return Result(name, "unknown", fact)
    said = tr(
        "{built} needs driver {needs} or newer, here is {driver}",
        built=built,
        needs=needs,
        driver=driver,
    )
    if here >= oldest:
        return Result(name, "ok", said)
    fix = tr(
        "update the driver to {needs} or newer, or install a build for an older CUDA", needs=needs
    )
    if machine.compat_library or "compat" in machine.environ.get("LD_LIBRARY_PATH", ""):
        return Result(
            name, "warning", tr("{said}; a compatibility library may make up", said=said), fix
        )
    return Result(name, "fault", said, fix)
