"""Before ① record: which frameworks are installed, and for which CUDA, without importing them.

Each writes the CUDA version it was built for into a file of its own package; JAX into the name of
its plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LONGEST = 1 << 20

# The oldest driver for a CUDA runtime. From CUDA 11 on a driver of the same major release is enough
# (minor-version compatibility). Source: NVIDIA, "CUDA Compatibility", tables 1 and 2 of
# https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html; newer majors
# are not listed there and are not judged here.
OLDEST_DRIVER: Mapping[tuple[int, ...], tuple[int, ...]] = {
    (13,): (580,),
    (12,): (525,),
    (11,): (450,),
    (10, 2): (440, 33),
    (10, 1): (418, 39),
    (10, 0): (410, 48),
}


@dataclass(frozen=True)
class Framework:
    """An installed framework: `cuda` is "12.4", "" for a build without CUDA, None if not told."""

    name: str
    version: str
    cuda: str | None
    place: str
    hip: bool = False


def oldest_driver(cuda: str) -> tuple[int, ...] | None:
    """The oldest driver that CUDA `cuda` ("12.4") runs on, or None if the table does not say."""
    parts = numbers(cuda)
    return OLDEST_DRIVER.get(parts[:1]) or OLDEST_DRIVER.get(parts[:2])


def numbers(version: str) -> tuple[int, ...]:
    """(590, 48, 1) of "590.48.01"; empty if it does not begin with a number."""
    match = re.match(r"\d{1,6}(?:\.\d{1,6}){0,3}", version, re.ASCII)
    return tuple(map(int, match[0].split("."))) if match else ()


def site_folders(paths: Iterable[str], environ: Mapping[str, str]) -> list[Path]:
    """Where packages lie: of this Python, and of the environment that is active in the shell."""
    found = [Path(path) for path in paths if path]
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = environ.get(name)
        if prefix:
            found += sorted(Path(prefix).glob("lib/python3*/site-packages"))
            found.append(Path(prefix, "Lib", "site-packages"))
    unique = dict.fromkeys(folder for folder in found if folder.is_dir())
    return list(unique)


def frameworks(folders: Sequence[Path]) -> tuple[Framework, ...]:
    """The frameworks in the folders; the first place of a name counts."""
    found: dict[str, Framework] = {}
    for folder in folders:
        for framework in (_torch(folder), _paddle(folder), _tensorflow(folder), _jax(folder)):
            if framework is not None:
                found.setdefault(framework.name, framework)
    return tuple(found.values())


def _torch(folder: Path) -> Framework | None:
    text = _text(folder / "torch" / "version.py")
    if not text:
        return None
    cuda = re.search(r"^cuda(?:\s*:[^=\n]*)?\s*=\s*(None|['\"]([\d.]+)['\"])", text, re.M)
    version = re.search(r"^__version__\s*=\s*['\"]([^'\"\n]{1,60})['\"]", text, re.M)
    hip = re.search(r"^hip(?:\s*:[^=\n]*)?\s*=\s*['\"]", text, re.M)
    told = None if cuda is None else cuda[2] or ""
    return Framework("PyTorch", version[1] if version else "", told, str(folder), hip is not None)


def _paddle(folder: Path) -> Framework | None:
    text = _text(folder / "paddle" / "version" / "__init__.py")
    if not text:
        return None
    cuda = re.search(r"^cuda_version\s*=\s*['\"]([^'\"\n]*)['\"]", text, re.M)
    version = re.search(r"^full_version\s*=\s*['\"]([^'\"\n]{1,60})['\"]", text, re.M)
    told = None if cuda is None else cuda[1] if numbers(cuda[1]) else ""
    return Framework("PaddlePaddle", version[1] if version else "", told, str(folder))


def _tensorflow(folder: Path) -> Framework | None:
    text = _text(folder / "tensorflow" / "python" / "platform" / "build_info.py")
    if not text:
        return None
    cuda = re.search(r"['\"]?cuda_version['\"]?\s*[:=,]\s*['\"]([\d.]+)['\"]", text)
    without = re.search(r"['\"]?is_cuda_build['\"]?\s*[:=,]\s*False", text)
    told = cuda[1] if cuda else "" if without else None
    return Framework("TensorFlow", _version(folder, "tensorflow*"), told, str(folder))


def _jax(folder: Path) -> Framework | None:
    if not (folder / "jaxlib").is_dir():
        return None
    plugins = [
        match[1]
        for path in sorted(folder.glob("jax_cuda*_plugin-*.dist-info"))
        if (match := re.match(r"jax_cuda(\d{2})_plugin-", path.name))
    ]
    # without the plugin JAX may still come with CUDA inside, as older ones did
    return Framework(
        "JAX", _version(folder, "jaxlib"), plugins[-1] if plugins else None, str(folder)
    )


def _version(folder: Path, name: str) -> str:
    found = [p.name.removesuffix(".dist-info") for p in folder.glob(f"{name}-*.dist-info")]
    return found[0].rpartition("-")[2] if found else ""


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST)
    except OSError:
        return ""
