"""Before ① record: does nvidia-smi answer, with what, how fast; which GPUs are there to see."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpudiag.doctor.ask import Answer
from gpudiag.doctor.machine import Machine
from gpudiag.doctor.result import Result
from gpudiag.language import tr
from gpudiag.record.gpu_query import FIELDS

NAME = "nvidia-smi"
_SLOW_SAMPLE_S = 1.0  # the default interval of a recording

Fix = Callable[[Machine], str]


def start_fix(machine: Machine) -> str:
    """How to start this kind of container with its GPUs."""
    if machine.container == "Kubernetes":
        return tr("ask for one in the pod: resources: limits: nvidia.com/gpu: 1")
    if machine.container == "Apptainer":
        return tr("start the container with: apptainer exec --nv …")
    if machine.container == "Podman":
        return tr("start the container with: podman run --device nvidia.com/gpu=all …")
    return tr("start the container with: docker run --gpus all …")


def _mismatch(machine: Machine) -> str:
    if machine.container:
        return tr("restart the container; if that does not help, reboot the host")
    return tr("reboot: the driver was updated under the running system")


def _no_devices(machine: Machine) -> str:
    if machine.container:
        return start_fix(machine)
    return tr(
        "see whether the system knows the card: lspci | grep -i nvidia; sudo dmesg | grep Xid"
    )


def _not_loaded(machine: Machine) -> str:
    if machine.container:
        return tr("load the driver on the host: sudo modprobe nvidia")
    return tr("sudo modprobe nvidia; after an update of the kernel, install the driver again")


def _no_library(machine: Machine) -> str:
    if machine.wsl:
        return tr("export LD_LIBRARY_PATH=/usr/lib/wsl/lib; update the driver on Windows")
    if machine.container:
        return tr("start the container with: -e NVIDIA_DRIVER_CAPABILITIES=compute,utility")
    return tr("install the driver again: nvidia-smi is here without its library")


def _no_permission(machine: Machine) -> str:
    return tr("let your user open /dev/nvidia*: ls -l /dev/nvidia*; try: sudo nvidia-smi")


def _lost_access(machine: Machine) -> str:
    if machine.container:
        return tr("restart the container: it has lost its GPUs (after systemctl daemon-reload)")
    return tr("see what the driver says: sudo dmesg | grep -i nvrm; then reboot")


def _lost_gpu(machine: Machine) -> str:
    return tr("reset the GPU (sudo nvidia-smi --gpu-reset) or reboot; reseat the card if it recurs")


def _not_there(machine: Machine) -> str:
    return tr("what is called nvidia-smi starts something that is not there: look into that file")


# what the tool says where it cannot answer, and what helps (the texts are nvidia-smi's own)
_TROUBLE: tuple[tuple[re.Pattern[str], Fix], ...] = (
    (re.compile(r"Driver/library version mismatch", re.I), _mismatch),
    (re.compile(r"No devices were found", re.I), _no_devices),
    (re.compile(r"couldn't communicate with the NVIDIA driver", re.I), _not_loaded),
    (re.compile(r"Driver Not Loaded", re.I), _not_loaded),
    (re.compile(r"couldn't find libnvidia-ml|NVML Shared Library Not Found", re.I), _no_library),
    (re.compile(r"Insufficient Permissions", re.I), _no_permission),
    (re.compile(r"Unable to determine the device handle|GPU is lost", re.I), _lost_gpu),
    (re.compile(r"Failed to initialize NVML: Unknown Error", re.I), _lost_access),
    (re.compile(r"command not found|: not found", re.I), _not_there),
)


def answering(machine: Machine) -> Result:
    """Whether there is an nvidia-smi, and whether it answers."""
    asked = machine.asked
    if asked.answer is None:
        return Result(NAME, "fault", tr("not found on the PATH"), _missing(machine))
    if asked.gpus:
        driver = asked.gpus[0].get("driver") or "?"
        fact = tr(
            "{tool} answers in {seconds} s: {gpus} GPU(s), driver {driver}",
            tool=asked.path if asked.tool == "nvidia-smi" else asked.tool,
            seconds=f"{asked.answer.seconds:.2f}",
            gpus=len(asked.gpus),
            driver=driver,
        )
        return Result(NAME, "ok", fact)
    return _silent(machine, asked.answer)


def _missing(machine: Machine) -> str:
    if machine.wsl:
        return tr("export PATH=$PATH:/usr/lib/wsl/lib; update the NVIDIA driver on Windows")
    if machine.container:
        return start_fix(machine)
    if machine.system == "darwin":
        return tr("record on the machine with the GPU; here, gpudiag report reads its recordings")
    return tr(
        "install the NVIDIA driver, or pip install 'gpudiag[nvml]' if only the tool is missing"
    )


def _silent(machine: Machine, answer: Answer) -> Result:
    if answer.error:
        fact = tr("{path} cannot be started: {why}", path=machine.asked.path, why=answer.error)
        return Result(NAME, "fault", fact, _not_there(machine))
    if answer.hangs:
        fact = tr("no answer in {seconds} s: it hangs", seconds=f"{answer.seconds:.1f}")
        fix = tr("look for a stuck driver: sudo dmesg | grep -i -e xid -e nvrm; then reboot")
        return Result(NAME, "fault", fact, fix)
    if not answer.flood:
        for pattern, fix_for in _TROUBLE:
            if match := pattern.search(answer.text[:65536]):
                said = next(line for line in answer.text.splitlines() if match[0] in line)
                fact = tr("it says: {text}", text=said.strip()[:200])
                return Result(NAME, "fault", fact, fix_for(machine))
    first = next((line.strip() for line in answer.text[:4096].splitlines() if line.strip()), "")
    fact = tr(
        "{path} does not answer as nvidia-smi does (exit code {code}): {text}",
        path=machine.asked.path,
        code="?" if answer.code is None else answer.code,
        text=first[:120] or tr("nothing at all"),
    )
    return Result(NAME, "fault", fact, tr("see what it is: file $(command -v nvidia-smi)"))


def fields(machine: Machine) -> Result | None:
    """Which readings of a recording this driver and these GPUs give."""
    asked = machine.asked
    if not asked.gpus:
        return None
    name = "query fields"
    if not asked.rows:
        fact = tr("cannot be told: nvidia-smi told the facts, but no reading")
        return Result(name, "unknown", fact, tr("run gpudiag doctor again"))
    silent = sorted({c for row in asked.rows for c in row.missing} | set(asked.refused))
    if "util_pct" in silent or "mem_used_mib" in silent:
        fact = tr("no figure for: {columns}", columns=", ".join(silent))
        fix = tr("nothing to do (MIG, unified memory): what needs these readings will say so")
        return Result(name, "warning", fact, fix)
    if silent:
        count = len(FIELDS) - 1
        fact = tr(
            "{known} of {count} answer; without: {columns}",
            known=count - len(silent), count=count, columns=", ".join(silent),
        )  # fmt: skip
        return Result(name, "ok", fact)
    return Result(name, "ok", tr("all {count} answer", count=len(FIELDS) - 1))


def sample_time(machine: Machine) -> Result | None:
    """How long one pass over the GPUs takes; a recording keeps one process open instead."""
    sample = machine.asked.sample
    if sample is None or not machine.asked.rows:
        return None
    if sample.seconds <= _SLOW_SAMPLE_S:
        return Result("sample", "ok", tr("takes {seconds} s", seconds=f"{sample.seconds:.2f}"))
    fact = tr(
        "takes {seconds} s, start of nvidia-smi included: more than the interval of 1 s",
        seconds=f"{sample.seconds:.1f}",
    )
    fix = tr("turn persistence mode on; if it stays slow, record with --interval 5s")
    return Result("sample", "warning", fact, fix)


def health(machine: Machine) -> Result | None:
    """GPUs that are listed but lost, or need a reset."""
    lost = [str(row.gpu) for row in machine.asked.rows if row.lost]
    if not lost:
        return None
    fact = tr("GPU {gpus}: lost, or needs a reset", gpus=", ".join(lost))
    return Result("GPU health", "fault", fact, _lost_gpu(machine))


def persistence(machine: Machine) -> Result | None:
    """Persistence mode: without it the driver starts anew whenever nothing uses a GPU."""
    modes = [gpu.get("persistence") for gpu in machine.asked.gpus]
    if not modes or machine.system == "win32" or machine.wsl:
        return None
    name = "persistence mode"
    off = [str(g.get("index")) for g in machine.asked.gpus if g.get("persistence") == "Disabled"]
    if off:
        fact = tr("off on GPU {gpus}: the first call takes seconds", gpus=", ".join(off))
        return Result(name, "warning", fact, "sudo nvidia-smi -pm 1")
    if None in modes:
        return Result(name, "unknown", tr("the driver does not tell"))
    return Result(name, "ok", tr("on"))
