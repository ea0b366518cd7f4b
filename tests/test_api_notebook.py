"""A notebook that records, reports and displays, run by a real kernel (nbclient)."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudiag.demo.nvidia_smi import install

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts the recorder by fork")

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"
PATIENCE_S = 300


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, settings of its own for Jupyter, and no nvidia-smi on the PATH."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / ".jupyter"))
    (tmp_path / "bin").mkdir()
    here = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), here, "/usr/bin", "/bin"]))
    if shutil.which("nvidia-smi"):
        pytest.skip("a real nvidia-smi is on the PATH")
    return tmp_path


@pytest.fixture
def gpus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated nvidia-smi, with one GPU."""
    install(folder / "bin")
    monkeypatch.setenv("GPUDIAG_SIM_DIR", str(folder / "bin"))


def executed(folder: Path, *sources: str, errors: bool = False) -> list[Any]:
    """The cells after a kernel has run them in `folder`."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return run(folder, nbformat.v4.new_notebook(cells=cells), errors)


def run(folder: Path, notebook: Any, errors: bool = False) -> list[Any]:
    client = nbclient.NotebookClient(
        notebook,
        timeout=PATIENCE_S,
        kernel_name="python3",
        allow_errors=errors,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any, kind: str) -> str:
    """All that a cell displays as `kind`."""
    return "\n".join(output.data.get(kind, "") for output in cell.outputs if "data" in output)


def said(cell: Any, stream: str) -> str:
    return "".join(output.text for output in cell.outputs if output.get("name") == stream)


def failed(cell: Any) -> list[Any]:
    return [output for output in cell.outputs if output.output_type == "error"]


@pytest.mark.parametrize("simulated", [True, False], ids=["simulated-gpu", "no-nvidia-smi"])
def test_the_notebook_of_the_documentation(
    folder: Path, simulated: bool, request: pytest.FixtureRequest
) -> None:
    """GIVEN docs/notebook.ipynb WHEN a kernel runs it THEN it records, reports and displays, with
    the figures of the GPU where there is one, and says that there is none where there is not."""
    if simulated:
        request.getfixturevalue("gpus")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    cells = run(folder, notebook)
    assert not [output for cell in cells for output in failed(cell)]
    reports = [cell for cell in cells if "<iframe" in shown(cell, "text/html")]
    assert [cell.source.splitlines()[0] for cell in reports] == [
        "%%gpudiag -o run.csv --interval 500ms",
        "recording",
        "%gpudiag run.csv",
    ]
    page = shown(reports[0], "text/html")
    assert ("Simulated GPU" in page) is simulated
    assert ("nvidia-smi was not found" in page) is not simulated
    assert "epoch 2" in page
    assert "gpudiag record -o run.csv -- python train.py" in page  # and not the kernel
    assert "run.csv: " in said(reports[0], "stderr")
    recording = (folder / "run.csv").read_text(encoding="utf-8")
    assert ("gpu0_util_pct" in recording) is simulated
    assert recording.splitlines()[-1].startswith("# end ")
    assert (folder / "block.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "<strong>" in shown(cells[-1], "text/html")
    assert "Diagnosis(" not in shown(cells[-1], "text/plain")


def test_the_notebook_has_no_outputs() -> None:
    """GIVEN docs/notebook.ipynb THEN nobody's outputs lie in the repository."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert not [cell for cell in notebook.cells if cell.get("outputs")]


def test_what_goes_wrong_in_a_cell_passes_and_is_reported(folder: Path) -> None:
    """GIVEN cells that fail, are interrupted or misspell an option THEN their own error shows,
    once; the recording has ended well; and the kernel lives on."""
    cells = executed(
        folder,
        "%load_ext gpudiag",
        "%%gpudiag -o failed.csv\nimport time; time.sleep(0.5)\nraise KeyError('mine')",
        "%%gpudiag -o stopped.csv\nimport os, signal\nos.killpg(0, signal.SIGINT)\ntime.sleep(60)",
        "%%gpudiag --interval soon\n1",
        "%%gpudiag --nonsense\n1",
        "%gpudiag nowhere.csv",
        "%%gpudiag -o good.csv --quiet\nx = 3\ntime.sleep(0.6)\n!echo from a shell\nx + 1",
        "import gpudiag\ngpudiag.record('a.csv', interval=0.01)",
        errors=True,
    )
    _, broken, stopped, late, unknown, nowhere, good, call = cells
    assert [error.ename for error in failed(broken)] == ["KeyError"]
    assert "raise KeyError('mine')" in "".join(failed(broken)[0].traceback)
    assert [error.ename for error in failed(stopped)] == ["KeyboardInterrupt"]
    assert "<iframe" in shown(broken, "text/html")
    for name, why in (("failed.csv", "KeyError"), ("stopped.csv", "KeyboardInterrupt")):
        text = (folder / name).read_text(encoding="utf-8")
        assert f"the block ended with {why}" in text
        assert text.splitlines()[-1].startswith("# end ")
    for cell, words in (
        (late, "interval soon: not a duration"),
        (unknown, "--nonsense"),
        (nowhere, "nowhere.csv"),
    ):
        told = said(cell, "stderr")
        assert words in told
        assert "Traceback" not in told
    assert "from a shell" in said(good, "stdout")
    assert "4" in shown(good, "text/plain").splitlines()[-1]
    assert said(good, "stderr") == ""
    assert failed(call)[0].ename == "UsageError"
