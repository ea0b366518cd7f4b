"""The wheel, built from the tree and installed elsewhere, finds its rules and templates."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built without isolation: the build backend is a development dependency."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, cwd=ROOT)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_exactly_what_it_should(wheel: Path) -> None:
    """GIVEN a wheel WHEN its names are read THEN code, rules and templates are there, no tests."""
    names = zipfile.ZipFile(wheel).namelist()
    packaged = {name.split("/", 1)[1] for name in names if name.startswith("gpudiag/_data/rules/")}
    assert {f"rules/{path.name}" for path in (ROOT / "rules").glob("*.toml")} == {
        name.removeprefix("_data/") for name in packaged
    }
    assert any(name.startswith("gpudiag/_data/templates/") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "docs/", "rules/"))]


def test_it_runs_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    """GIVEN the wheel alone on a path of its own WHEN used elsewhere THEN rules and pages work."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    # what gpudiag depends on comes from this environment; gpudiag itself must not
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    (site / "libraries.pth").write_text("\n".join(libraries) + "\n", encoding="utf-8")

    where = run(python, "-c", "import gpudiag; print(gpudiag.__file__)", cwd=tmp_path)
    assert str(site) in where
    tested = run(python, "-m", "gpudiag", "rules", "test", cwd=tmp_path)
    assert "data-loader-starvation" in run(python, "-m", "gpudiag", "rules", "list", cwd=tmp_path)
    assert "passed" in tested
    log = tmp_path / "gpu_log.csv"
    log.write_text(
        "timestamp, utilization.gpu [%], memory.used [MiB]\n"
        + "".join(f"2026/01/01 10:00:{s:02d}.000, {s} %, 1000 MiB\n" for s in range(60)),
        encoding="utf-8",
    )
    run(python, "-m", "gpudiag", "report", log, "-o", tmp_path / "page.html", cwd=tmp_path)
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")
