"""The committed tutorial logs are what the simulated nvidia-smi prints today."""

from __future__ import annotations

import importlib.util
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def test_the_tutorial_logs_are_reproduced(tmp_path: Path) -> None:
    """GIVEN the script WHEN run again THEN every log has the bytes that are committed."""
    spec = importlib.util.spec_from_file_location("logs", FIXTURES / "make_tutorial_logs.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main(tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in (FIXTURES / "tutorial").iterdir()}
    assert made == committed
    assert len(made) == 6
