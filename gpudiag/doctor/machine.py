"""Before ① record: the facts about a machine that the checks judge, gathered in one place."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpudiag.doctor.ask import Asked, ask
from gpudiag.doctor.software import Framework, frameworks, site_folders
from gpudiag.record.cgroup import Cgroup, folders
from gpudiag.record.gpu_tool import find_tool

MIB = 1 << 20
# the first PID namespace of a Linux kernel (PROC_PID_INIT_INO in include/linux/proc_ns.h)
FIRST_PID_NAMESPACE = 0xEFFFFFFC
_GROUPS = {
    "Kubernetes": re.compile(r"kubepods"),
    "Docker": re.compile(r"docker"),
    "Podman": re.compile(r"libpod"),
    "a container": re.compile(r"containerd|cri-o|/lxc"),
}
_PRIVATE = re.compile(r"/(?:docker|containers/storage|containerd|kubelet)/")


@dataclass(frozen=True)
class Device:
    """A file of /dev that stands for a GPU or its driver; `usable` is whether we may open it."""

    name: str
    mode: int
    usable: bool


@dataclass(frozen=True)
class Machine:
    """What is known; None where it cannot be told. Memory in MiB, time in seconds.

    `container` is its name, or "" outside one. `cpus` are the logical cores of the machine,
    `cores` those this process may use, `quota_cores` what a control group grants.
    """

    system: str = "linux"
    environ: Mapping[str, str] = field(default_factory=dict)
    asked: Asked = field(default_factory=Asked)
    devices: tuple[Device, ...] = ()
    driver_loaded: bool | None = None
    compat_library: bool = False
    wsl: bool = False
    container: str = ""
    foreign_pids: bool | None = None
    hidepid: str = ""
    cpus: int | None = None
    cores: int | None = None
    quota_cores: float | None = None
    mem_total_mib: int | None = None
    mem_limit_mib: int | None = None
    shm_mib: int | None = None
    python: str = ""
    frameworks: tuple[Framework, ...] = ()
    output: str = ""
    writable: bool | None = None
    free_mib: int | None = None
    user: int | None = None


def gather(
    root: Path,
    environ: Mapping[str, str],
    output: Path,
    deadline_s: float,
    packages: Sequence[str] | None = None,
) -> Machine:
    """Look at the machine whose /proc, /sys and /dev lie below `root`.

    `packages` are the folders of Python packages; those of this Python if it is None.
    """
    tool, why_not = find_tool()
    cgroup = _limits(root)
    folder = output.parent if output.name else output
    usage = None
    with contextlib.suppress(OSError):
        usage = shutil.disk_usage(folder)
    sites = site_folders(sys.path if packages is None else packages, environ)
    return Machine(
        system=sys.platform,
        environ=dict(environ),
        asked=ask(tool, why_not, deadline_s),
        devices=_devices(root / "dev"),
        driver_loaded=_driver_loaded(root) if sys.platform == "linux" else None,
        compat_library=any(root.glob("usr/local/cuda*/compat/libcuda.so*")),
        wsl="microsoft" in _text(root / "proc/version").lower() or (root / "dev/dxg").exists(),
        container=_container(root, environ),
        foreign_pids=_foreign_pids(root),
        hidepid=_hidepid(root),
        cpus=_cpus(root),
        cores=_affinity(root),
        quota_cores=cgroup.get("cpu_quota_cores"),
        mem_total_mib=_mem_total(root),
        mem_limit_mib=_whole(cgroup.get("mem_limit_mib")),
        shm_mib=_shm(root),
        python=platform.python_version(),
        frameworks=frameworks(sites),
        output=str(output),
        writable=os.access(folder, os.W_OK | os.X_OK) if folder.is_dir() else None,
        free_mib=None if usage is None else usage.free // MIB,
        user=os.getuid() if hasattr(os, "getuid") else None,
    )


def _limits(root: Path) -> Mapping[str, float | None]:
    if str(root) == os.sep:
        cgroup = Cgroup.of(os.getpid())
        return cgroup.limits() if cgroup else {}
    # the tree of another machine: the same files, below its root
    mounts = re.sub(
        r"(?m)^(\S+ \S+ \S+ \S+ )(/\S*)",
        lambda match: f"{match[1]}{root}{match[2]}",
        _text(root / "proc/self/mountinfo"),
    )
    found = folders(_text(root / "proc/self/cgroup"), mounts)
    if "" in found:
        return Cgroup(found[""], found[""], found[""], 2).limits()
    cpu = found.get("cpu", [])
    return Cgroup(cpu, found.get("memory", []), cpu, 1).limits() if found else {}


def _devices(dev: Path) -> tuple[Device, ...]:
    found = []
    for path in sorted(dev.glob("nvidia*")):
        if not re.fullmatch(r"nvidia(?:\d+|ctl|-uvm)", path.name, re.ASCII):
            continue
        with contextlib.suppress(OSError):
            usable = os.access(path, os.R_OK | os.W_OK)
            found.append(Device(path.name, stat.S_IMODE(path.stat().st_mode), usable))
    return tuple(found)


def _driver_loaded(root: Path) -> bool:
    return (root / "proc/driver/nvidia/version").exists() or (root / "dev/dxg").exists()


def _container(root: Path, environ: Mapping[str, str]) -> str:
    """Its name as far as it gives itself away, or ""."""
    groups = _text(root / "proc/self/cgroup")
    if environ.get("KUBERNETES_SERVICE_HOST") or _GROUPS["Kubernetes"].search(groups):
        return "Kubernetes"
    if (root / ".singularity.d").exists() or environ.get("APPTAINER_CONTAINER"):
        return "Apptainer"
    if (root / "run/.containerenv").exists():
        return "Podman"
    if (root / ".dockerenv").exists():
        return "Docker"
    for name, pattern in _GROUPS.items():
        # a host's own services may be named so: the group must be that of a container
        if pattern.search(groups) and re.search(r"[0-9a-f]{64}", groups):
            return name
    for line in _text(root / "proc/self/mountinfo").splitlines():
        words = line.split(" ")
        if len(words) > 4 and words[4] == "/" and _PRIVATE.search(line) and " overlay " in line:
            return "a container"
    return "a container" if environ.get("container") else ""


def _foreign_pids(root: Path) -> bool | None:
    """Whether process numbers here are other ones than the machine's own."""
    try:
        match = re.fullmatch(r"pid:\[(\d+)\]", str((root / "proc/self/ns/pid").readlink()))
    except OSError:
        return None
    return int(match[1]) != FIRST_PID_NAMESPACE if match else None


def _hidepid(root: Path) -> str:
    """The option hidepid of /proc where it hides other users' processes, else ""."""
    for line in _text(root / "proc/self/mountinfo").splitlines():
        words = line.split(" ")
        if len(words) > 4 and words[4] == "/proc":
            match = re.search(r"hidepid=(\w+)", line)
            return match[1] if match and match[1] not in ("0", "off") else ""
    return ""


def _cpus(root: Path) -> int | None:
    found = len(re.findall(r"(?m)^processor\s*:", _text(root / "proc/cpuinfo")))
    return found or (os.cpu_count() if str(root) == os.sep else None)


def _affinity(root: Path) -> int | None:
    match = re.search(r"(?m)^Cpus_allowed_list:\s*([\d,-]+)", _text(root / "proc/self/status"))
    if match is None:
        return None
    total = 0
    for part in filter(None, match[1].split(",")):
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            return None
        total += int(last or first) - int(first) + 1
    return total


def _mem_total(root: Path) -> int | None:
    match = re.search(r"(?m)^MemTotal:\s*(\d+) kB", _text(root / "proc/meminfo"))
    return int(match[1]) // 1024 if match else None


def _shm(root: Path) -> int | None:
    """The size of /dev/shm in MiB: of the mount, or as the mount table says it."""
    for line in _text(root / "proc/self/mountinfo").splitlines():
        words = line.split(" ")
        if len(words) > 4 and words[4] == "/dev/shm":
            match = re.search(r"\bsize=(\d+)k", line)
            if match:
                return int(match[1]) // 1024
    with contextlib.suppress(OSError):
        if str(root) == os.sep:
            return shutil.disk_usage("/dev/shm").total // MIB
    return None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(1 << 22)
    except OSError:
        return ""
