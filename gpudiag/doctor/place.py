"""Before ① record: the container, its limits, and the place where the recording goes."""

from __future__ import annotations

from gpudiag.doctor.machine import Machine
from gpudiag.doctor.result import Level, Result
from gpudiag.doctor.tool import start_fix
from gpudiag.language import tr

_SHM_DEFAULT_MIB = 64  # what Docker gives a container that does not ask
_LITTLE_FREE_MIB = 100  # a recording of a day with eight GPUs takes about as much
_MOST_WORKERS = 16


def access(machine: Machine) -> Result | None:
    """Whether GPUs were given to this place: device files, and what a container asked for."""
    if machine.system != "linux":
        return None
    name = "GPU access"
    chosen = machine.environ.get("NVIDIA_VISIBLE_DEVICES")
    abilities = machine.environ.get("NVIDIA_DRIVER_CAPABILITIES")
    cards = [d for d in machine.devices if d.name[6:].isdigit()]
    shut = [device for device in machine.devices if not device.usable]
    if machine.container and not machine.asked.gpus and not cards and not machine.wsl:
        fact = tr("{container} without GPUs: there is no /dev/nvidia0", container=machine.container)
        if chosen in ("void", "none", ""):
            fact = tr("{fact}, NVIDIA_VISIBLE_DEVICES={chosen}", fact=fact, chosen=chosen)
        return Result(name, "fault", fact, start_fix(machine))
    if machine.container and abilities and not {"all", "utility"} & set(abilities.split(",")):
        fact = tr("NVIDIA_DRIVER_CAPABILITIES={text} leaves out utility", text=abilities[:60])
        level: Level = "warning" if machine.asked.gpus else "fault"
        fix = tr("start the container with: -e NVIDIA_DRIVER_CAPABILITIES=compute,utility")
        return Result(name, level, fact, fix)
    if shut:
        fact = tr(
            "/dev/{device} (mode {mode}) cannot be opened by user {user}",
            device=shut[0].name, mode=f"{shut[0].mode:04o}", user=machine.user,
        )  # fmt: skip
        fix = tr("join the group of that file: ls -l /dev/nvidia*; sudo usermod -aG video $USER")
        return Result(name, "fault", fact, fix)
    if cards:
        return Result(name, "ok", tr("{count} device file(s), open to this user", count=len(cards)))
    if machine.asked.gpus or machine.driver_loaded:
        return Result(name, "unknown", tr("there is no /dev/nvidia0 to look at"))
    fact = tr("no driver is loaded, and there is no /dev/nvidia0")
    return Result(name, "fault", fact, tr("sudo modprobe nvidia, or install the NVIDIA driver"))


def container(machine: Machine) -> Result | None:
    """Where this is: said, never judged."""
    if machine.system != "linux":
        return None
    if machine.container:
        return Result("container", "ok", machine.container)
    return Result("container", "ok", tr("none is to be seen"))


def shared_memory(machine: Machine) -> Result | None:
    """/dev/shm, through which data-loader workers hand over their batches."""
    if machine.system != "linux":
        return None
    if machine.shm_mib is None:
        return Result("/dev/shm", "unknown", tr("it is not mounted, or its size is not told"))
    size = tr("{size} MiB", size=f"{machine.shm_mib:,}")
    if machine.shm_mib > _SHM_DEFAULT_MIB:
        return Result("/dev/shm", "ok", size)
    fact = tr("{size}: data-loader workers die with a bus error when it is full", size=size)
    if machine.container == "Kubernetes":
        fix = tr("mount an emptyDir with medium: Memory at /dev/shm")
    elif machine.container:
        fix = tr("start the container with: --shm-size=8g (or --ipc=host)")
    else:
        fix = tr("sudo mount -o remount,size=8g /dev/shm")
    return Result("/dev/shm", "warning", fact, fix)


def process_numbers(machine: Machine) -> Result | None:
    """Whether nvidia-smi and /proc speak of the same process numbers."""
    if machine.system != "linux":
        return None
    name = "PID namespace"
    if machine.wsl:
        return Result(name, "unknown", tr("under WSL nvidia-smi names no processes"))
    if machine.foreign_pids is None:
        return Result(name, "unknown", tr("/proc/self/ns/pid cannot be read"))
    if not machine.foreign_pids:
        return Result(name, "ok", tr("that of the host"))
    fact = tr("not that of the host: which process uses a GPU, and its memory, cannot be told")
    if machine.container == "Kubernetes":
        fix = tr("set in the pod: hostPID: true")
    elif machine.container:
        fix = tr("start the container with: --pid=host")
    else:
        fix = tr("record from outside this namespace")
    return Result(name, "warning", fact, fix)


def hidden_processes(machine: Machine) -> Result | None:
    """Whether /proc hides other users' processes; only worth a line where it does."""
    if not machine.hidepid or machine.user == 0:
        return None
    fact = tr("hidepid={text}: processes of other users are not to be seen", text=machine.hidepid)
    fix = tr("nothing to do for your own run; else: sudo mount -o remount,hidepid=0 /proc")
    return Result("/proc", "warning", fact, fix)


def cores(machine: Machine) -> Result | None:
    """The cores that a program counts, against those it may really use."""
    shown = machine.cpus
    if shown is None:
        return Result("CPU", "unknown", tr("the number of cores is not told"))
    allowed = machine.cores or shown
    real = min(float(allowed), machine.quota_cores or float(allowed))
    if machine.quota_cores is not None and machine.quota_cores < allowed:
        whole = max(int(real), 1)
        fact = tr(
            "a quota of {quota} cores, and programs see {shown}: they start too many threads",
            quota=f"{machine.quota_cores:g}", shown=allowed,
        )  # fmt: skip
        # one core is the training process's own
        workers = min(max(whole - 1, 1), _MOST_WORKERS)
        fix = tr(
            "raise it (docker run --cpus=N, limits: cpu), or num_workers={workers} and "
            "export OMP_NUM_THREADS={threads}",
            workers=workers, threads=whole,
        )  # fmt: skip
        return Result("CPU", "warning", fact, fix)
    if allowed < shown:
        fact = tr("{allowed} of {shown} cores may be used", allowed=allowed, shown=shown)
        if allowed == 1:
            fix = tr("let the run have more: taskset, numactl, or --cpus-per-task under Slurm")
            return Result("CPU", "warning", fact, fix)
        return Result("CPU", "ok", fact)
    return Result("CPU", "ok", tr("{shown} cores, all of them usable", shown=shown))


def memory(machine: Machine) -> Result | None:
    """A control group's memory limit, said beside the machine's memory."""
    if machine.mem_total_mib is None:
        return None
    if machine.mem_limit_mib is None or machine.mem_limit_mib >= machine.mem_total_mib:
        return Result(
            "memory", "ok", tr("{total} MiB, no limit", total=f"{machine.mem_total_mib:,}")
        )
    fact = tr(
        "limited to {limit} of {total} MiB",
        limit=f"{machine.mem_limit_mib:,}", total=f"{machine.mem_total_mib:,}",
    )  # fmt: skip
    return Result("memory", "ok", fact)


def python(machine: Machine) -> Result:
    """Which Python runs gpudiag."""
    from gpudiag import __version__

    fact = tr("Python {python}, gpudiag {gpudiag}", python=machine.python, gpudiag=__version__)
    return Result("software", "ok", fact)


def output(machine: Machine) -> Result:
    """Whether the recording can be written, and whether there is room for it."""
    if machine.writable is None:
        fact = tr("the folder of {path} does not exist", path=machine.output)
        return Result("output", "fault", fact, tr("make the folder, or choose another with -o"))
    if not machine.writable:
        fact = tr("the folder of {path} cannot be written to", path=machine.output)
        return Result(
            "output", "fault", fact, tr("write elsewhere: gpudiag record -o /tmp/run.csv …")
        )
    if machine.free_mib is None:
        return Result("output", "unknown", tr("the free space is not told"))
    fact = tr("{path}: {free} MiB free", path=machine.output, free=f"{machine.free_mib:,}")
    if machine.free_mib < _LITTLE_FREE_MIB:
        return Result("output", "warning", fact, tr("make room, or write elsewhere with -o"))
    return Result("output", "ok", fact)


def surroundings(machine: Machine) -> Result | None:
    """Slurm, a notebook: what to know there."""
    environ = machine.environ
    if job := environ.get("SLURM_JOB_ID"):
        gpus = environ.get("SLURM_GPUS_ON_NODE") or environ.get("SLURM_JOB_GPUS")
        if gpus or machine.asked.gpus:
            return Result(
                "Slurm", "ok", tr("job {job}; record with: srun gpudiag record …", job=job[:40])
            )
        fact = tr("job {job} has no GPU", job=job[:40])
        return Result(
            "Slurm", "warning", fact, tr("ask for one: sbatch --gpus-per-node=1, or --gres=gpu:1")
        )
    if "JPY_PARENT_PID" in environ or "JPY_SESSION_NAME" in environ:
        return Result("Jupyter", "ok", tr("in a notebook: %load_ext gpudiag, then %%gpudiag"))
    return None
