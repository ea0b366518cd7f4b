"""The shape of the code: who may import whom, what `record` may load, how long a file may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "gpudiag"

# the layers, and what each may import of the others (besides errors, units, resources, masking)
MAY_IMPORT = {
    "cli": {"commands"},
    "api": {"commands", "compare", "record", "report", "diagnose", "signals", "timeline"},
    "commands": {
        "record",
        "report",
        "compare",
        "diagnose",
        "signals",
        "timeline",
        "demo",
        "doctor",
    },
    "doctor": {"record"},
    "report": {"compare", "diagnose", "signals", "timeline"},
    "compare": {"diagnose", "signals", "timeline"},
    "diagnose": {"signals", "timeline"},
    "signals": {"timeline"},
    "record": {"timeline"},
    "timeline": set(),
    "demo": set(),
}
# gpudiag.record names ① and the function that stands on top of it: the module itself is called
POINTS_BACK = {("record/__init__.py", "gpudiag.api.block")}
SHARED = {"errors", "units", "resources", "masking"}
# record meets the reading side in the file format alone
RECORD_MAY_USE = {"gpudiag.timeline.columns", "gpudiag.timeline.writer"}
HEAVY = ("pandas", "numpy", "matplotlib", "jinja2", "rich")


def layer_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports_of(path: Path) -> list[tuple[str, bool]]:
    """(module, whether at the top level) for every import of gpudiag's own modules in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append((node.module, node in tree.body))
            found += [(f"{node.module}.{name.name}", node in tree.body) for name in node.names]
        elif isinstance(node, ast.Import):
            found += [(name.name, node in tree.body) for name in node.names]
    return [(module, top) for module, top in found if module.startswith("gpudiag.")]


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_nothing_points_back(layer: str) -> None:
    """GIVEN a layer WHEN its imports are read THEN they go down the flow only."""
    paths = [PACKAGE / f"{layer}.py"] if layer == "cli" else sorted((PACKAGE / layer).rglob("*.py"))
    assert paths
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for path in paths
        for module, _ in imports_of(path)
        if layer_of(module) in MAY_IMPORT
        and layer_of(module) != layer
        and layer_of(module) not in MAY_IMPORT[layer]
        and not any(
            str(path.relative_to(PACKAGE)) == file and module.startswith(allowed)
            for file, allowed in POINTS_BACK
        )
    ]
    assert not wrong


def test_record_knows_the_format_only() -> None:
    """GIVEN ① record WHEN it imports from ② THEN only the columns and the writer."""
    wrong = {
        f"{path.name}: {module}"
        for path in (PACKAGE / "record").rglob("*.py")
        for module, _ in imports_of(path)
        if layer_of(module) == "timeline"
        and module != "gpudiag.timeline"
        and not any(module == ok or module.startswith(ok + ".") for ok in RECORD_MAY_USE)
    }
    assert not wrong


def loaded_by(code: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has loaded after running `code`."""
    script = f"{code}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "gpudiag",
        "gpudiag.cli",
        "gpudiag.record",
        "gpudiag.record.recorder",
        "gpudiag.api.block",
        "gpudiag.api.companion",
        "gpudiag.commands.record",
        "gpudiag.commands.report",
        "gpudiag.commands.rules",
        "gpudiag.commands.demo",
        "gpudiag.commands.doctor",
        "gpudiag.commands.completion",
        "gpudiag.doctor.checks",
        "gpudiag.timeline.columns",
        "gpudiag.timeline.writer",
    ],
)
def test_the_record_path_and_the_command_line_load_nothing_heavy(module: str) -> None:
    """GIVEN a fresh interpreter WHEN a light module is imported THEN no heavy library is loaded."""
    assert loaded_by(f"import {module}") == set()


def test_help_loads_nothing_heavy() -> None:
    """GIVEN `gpudiag --help` WHEN it has run THEN neither pandas nor matplotlib was loaded."""
    code = (
        "import contextlib, io\nfrom gpudiag.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])"
    )
    assert loaded_by(code) == set()


def test_a_whole_recording_loads_nothing_heavy(tmp_path: Path) -> None:
    """GIVEN `gpudiag record` WHEN a command has been recorded THEN nothing heavy was loaded."""
    code = (
        "import contextlib\nfrom gpudiag.cli import main\n"
        "with contextlib.suppress(SystemExit):\n"
        f"    main(['record', '--quiet', '-o', {str(tmp_path / 'run.csv')!r}, '--', 'true'])"
    )
    assert loaded_by(code) == set()
    assert (tmp_path / "run.csv").exists()


def test_files_are_short() -> None:
    """GIVEN the code WHEN its files are counted THEN none is longer than a reader can hold."""
    long = {
        str(path.relative_to(PACKAGE)): lines
        for path in PACKAGE.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 260
    }
    assert not long


def test_every_module_says_what_it_is() -> None:
    """GIVEN a module with code WHEN it is opened THEN its first line says its place."""
    bare = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if (tree := ast.parse(path.read_text(encoding="utf-8"))).body
        and not ast.get_docstring(tree)
    ]
    assert not bare
