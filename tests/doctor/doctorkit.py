"""Machines for the tests of `gpudiag doctor`: small folder trees, and simulated nvidia-smi."""

from __future__ import annotations

from pathlib import Path

HOST_PIDS = "pid:[4026531836]"
INSIDE = "0123456789abcdef" * 4


def host(root: Path, cpus: int = 16, shm_kib: int = 32 << 20, pids: str = HOST_PIDS) -> Path:
    """The tree of a healthy host with one GPU; returns `root`."""
    write(root / "proc/cpuinfo", "".join(f"processor\t: {n}\n\n" for n in range(cpus)))
    write(root / "proc/meminfo", f"MemTotal:       {64 << 20} kB\n")
    write(root / "proc/version", "Linux version 6.1.0\n")
    write(root / "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX 590.48.01\n")
    write(root / "proc/self/status", f"Name:\tpython\nCpus_allowed_list:\t0-{cpus - 1}\n")
    write(root / "proc/self/cgroup", "0::/user.slice\n")
    write(
        root / "proc/self/mountinfo",
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "23 22 0:5 / /proc rw,nosuid - proc proc rw\n"
        f"24 22 0:6 / /dev/shm rw,nosuid - tmpfs shm rw,size={shm_kib}k\n"
        "25 22 0:7 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    )
    (root / "proc/self/ns").mkdir(parents=True)
    (root / "proc/self/ns/pid").symlink_to(pids)
    write(root / "sys/fs/cgroup/user.slice/cpu.max", "max 100000\n")
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        write(root / "dev" / name, "")
    return root


def docker(root: Path, **told: object) -> Path:
    """The tree of a container without GPUs, 64 MiB of /dev/shm and a PID namespace of its own."""
    host(root, **{"shm_kib": 64 << 10, "pids": "pid:[4026532201]", **told})  # type: ignore[arg-type]
    write(root / ".dockerenv", "")
    write(root / "proc/self/cgroup", f"0::/docker/{INSIDE}\n")
    for path in (root / "dev").glob("nvidia*"):
        path.unlink()
    return root


def quota(root: Path, cores: float, memory_mib: int | None = None) -> None:
    """Limit the machine's own group."""
    group = (root / "proc/self/cgroup").read_text().strip().partition("::")[2]
    folder = root / "sys/fs/cgroup" / group.lstrip("/")
    write(folder / "cpu.max", f"{round(cores * 100_000)} 100000\n")
    if memory_mib is not None:
        write(folder / "memory.max", f"{memory_mib << 20}\n")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
