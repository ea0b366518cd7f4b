"""① Who is asked about GPUs: nvidia-smi, or the NVML library through a process of our own."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

# where it may lie off the PATH: WSL, and old installations of Windows
_ELSEWHERE = (
    "/usr/lib/wsl/lib/nvidia-smi",
    r"C:\Program Files\NVIDIA Corporation\NVSMI\nvidia-smi.exe",
)
NO_LIBRARY = 12  # exit code of nvidia-smi, and of what stands in for it
_MISSING = "nvidia-smi was not found on the PATH"
_NO_EXTRA = "--nvml needs the extra: pip install 'gpudiag[nvml]'"


class Tool(NamedTuple):
    """A program that answers `--query-gpu` and its like: its name, and how it is started."""

    name: str
    argv: tuple[str, ...]


def find_tool(nvml: bool = False) -> tuple[Tool | None, str]:
    """What to ask, or None with the reason.

    NVML is asked if `nvml` says so, or if there is no nvidia-smi and the extra is installed.
    """
    path = None if nvml else _nvidia_smi()
    if path is not None:
        return Tool("nvidia-smi", (path,)), ""
    if find_spec("pynvml") is not None:
        return Tool("nvml", _nvml()), ""
    return None, _NO_EXTRA if nvml else _MISSING


def _nvidia_smi() -> str | None:
    found = shutil.which("nvidia-smi")
    if found is None:
        return next((path for path in _ELSEWHERE if os.access(path, os.X_OK)), None)
    return os.path.abspath(found)  # noqa: PTH100 (keeps links)


def _nvml() -> tuple[str, ...]:
    # a driver that hangs must hang another process (-P: and the command's folder is not ours)
    root = str(Path(__file__).resolve().parents[2])
    start = (
        f"import sys; sys.path.append({root!r}); "
        "from gpudiag.record.nvml import main; main(sys.argv[1:])"
    )
    return (sys.executable, "-P", "-c", start)
