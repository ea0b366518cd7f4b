"""The NVML library instead of nvidia-smi, in a process of its own; the library is a stub."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pynvml_stub
import pytest
from recordkit import PATIENCE_S, ROOT, Recorded, environment, hold, rows, start, wait_for

from gpudiag.record import gpu_tool
from gpudiag.record.gpu_apps import App, parse
from gpudiag.record.gpu_facts import fields as fact_fields
from gpudiag.record.gpu_facts import parse as parse_facts
from gpudiag.record.gpu_query import FIELDS, arguments, parse_row
from gpudiag.record.gpu_stream import GpuStream
from gpudiag.record.gpu_tool import NO_LIBRARY, Tool, find_tool
from gpudiag.record.nvml import QUERY_GPU, answer

OPTIONS = ("--quiet", "--interval", "0.2", "--nvml")


def told(*words: str) -> tuple[int, str]:
    said: list[str] = []
    code = answer(words, pynvml_stub, said.append)
    return code, "".join(said)


def test_it_knows_everything_that_is_asked() -> None:
    """GIVEN the recorder's questions THEN each field has an answer."""
    assert set(FIELDS) | set(fact_fields()) == set(QUERY_GPU)


def test_readings() -> None:
    """GIVEN a query THEN lines as of nvidia-smi: figures, and why there is none."""
    code, text = told(*arguments(["x"], FIELDS, None)[1:])
    rows = [parse_row(line, FIELDS, 0.0) for line in text.splitlines()]
    assert code == 0
    assert rows[0] is not None
    assert rows[1] is not None
    assert rows[0].figures == {
        "util_pct": 37, "mem_util_pct": 12, "mem_used_mib": 1000, "power_w": 123.46, "temp_c": 44,
        "sm_clock_mhz": 1410, "mem_clock_mhz": 2619, "pstate": 0, "throttle_bits": 4,
    }  # fmt: skip
    assert rows[0].missing == {"pcie_gen": "[Unknown Error]", "pcie_lanes": "[N/A]"}
    assert rows[1].missing["power_w"] == "[N/A]"
    assert rows[1].missing["pstate"] == "[N/A]"


def test_a_lost_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a GPU that is lost THEN its cells say so, as nvidia-smi's do."""
    monkeypatch.setenv("STUB", "lost")
    _, text = told(*arguments(["x"], FIELDS, None)[1:])
    row = parse_row(text.splitlines()[1], FIELDS, 0.0)
    assert row is not None
    assert row.lost == "GPU is lost"


def test_facts() -> None:
    """GIVEN the static facts THEN a comma in a name does not break the line."""
    _, text = told(*arguments(["x"], fact_fields(), None)[1:])
    first, second = parse_facts(text, fact_fields())
    assert (first["name"], first["mem_total_mib"]) == ("Stub  16 GB", 16384)
    assert (first["driver"], first["mig"], second["mig"]) == ("595.10", "Disabled", "Enabled")
    assert first["compute_mode"] == "Exclusive_Process"
    assert first["power_limit_w"] is None


def test_processes_and_a_choice_of_gpus() -> None:
    """GIVEN -i with an index or a UUID THEN these GPUs only; processes in nvidia-smi's form."""
    query = "--query-compute-apps=gpu_uuid,pid,used_gpu_memory"
    assert parse(told(query)[1]) == [
        App("GPU-00000000-stub", 4_000_000, 512),
        App("GPU-00000001-stub", 4_000_000, None),
    ]
    assert len(told(query, "-i", "1")[1].splitlines()) == 1
    assert told("--query-gpu=index", "-i", "gpu-00000001")[1] == "1\n"
    assert told("--query-gpu=index,nonsense") == (
        2,
        'Field "nonsense" is not a valid field to query.\n\n',
    )


def test_without_library_or_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN no NVML or no driver THEN one line and an exit code."""
    monkeypatch.setenv("STUB", "no library")
    assert told("--query-gpu=index") == (
        NO_LIBRARY,
        "NVML cannot be used: NVML Shared Library Not Found\n",
    )
    monkeypatch.setenv("STUB", "no driver")
    assert told("--query-gpu=index")[0] == 255


def test_which_tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """GIVEN nvidia-smi and the extra, either or neither THEN nvidia-smi unless --nvml is asked for,
    the library where it is all there is, and a reason where there is nothing."""
    present: set[str] = set()
    monkeypatch.setattr(
        gpu_tool, "_nvidia_smi", lambda: "/bin/nvidia-smi" if "smi" in present else None
    )
    monkeypatch.setattr(gpu_tool, "find_spec", lambda name: name if "nvml" in present else None)
    assert find_tool() == (None, "nvidia-smi was not found on the PATH")
    assert find_tool(True)[0] is None
    assert "gpudiag[nvml]" in find_tool(True)[1]
    present.add("smi")
    assert find_tool()[0] == Tool("nvidia-smi", ("/bin/nvidia-smi",))
    assert find_tool(True)[0] is None
    present.add("nvml")
    assert find_tool()[0] == Tool("nvidia-smi", ("/bin/nvidia-smi",))
    for nvml in (True, False):
        present -= set() if nvml else {"smi"}
        tool, _ = find_tool(nvml)
        assert tool is not None
        assert tool.name == "nvml"
        assert tool.argv[0] == sys.executable


def test_no_library_is_asked_three_times_only() -> None:
    """GIVEN a machine with the extra and without a driver THEN it is not asked for ever."""
    starts: list[float] = []

    class Ended:
        pid = 1

        def exit_code(self) -> int | None:
            return NO_LIBRARY

        def terminate(self) -> None: ...

        def kill(self) -> None: ...

    def spawn(argv: object, generation: int) -> Ended:
        starts.append(generation)
        return Ended()

    stream = GpuStream(Tool("nvml", ("python",)), 1.0, spawn, lambda *event: None)
    stream.start(0.0)
    for second in range(1, 500):
        stream.feed(float(second), b"NVML cannot be used\n", stream.generation)
        stream.feed(float(second), b"", stream.generation)
        stream.check(float(second))
    assert len(starts) == 3
    assert stream.text == "nvml gave no readings: NVML cannot be used"


def stub(folder: Path) -> dict[str, str]:
    """An environment with the stub in the library's place."""
    (folder / "library").mkdir()
    shutil.copy(pynvml_stub.__file__, folder / "library" / "pynvml.py")
    return environment(PYTHONPATH=os.pathsep.join([str(ROOT), str(folder / "library")]))


def test_a_recording(tmp_path: Path) -> None:
    """GIVEN --nvml THEN the same columns come from the library, in step with the host's, whatever
    the command's folder holds; the file says where they are from, and no process is left."""
    (tmp_path / "pynvml.py").write_text("raise SystemExit('not the library')")
    recorder = start(*hold(tmp_path), cwd=tmp_path, env=stub(tmp_path), options=OPTIONS)
    rows(tmp_path, 6, "gpu0_util_pct")
    wait_for(lambda: Recorded(tmp_path / "run.csv").start["gpus"])
    (tmp_path / "stop").touch()
    assert recorder.wait(PATIENCE_S) == 6
    recorded = Recorded(tmp_path / "run.csv")
    assert recorded.start["gpu_source"] == {"tool": "nvml", "status": "ok", "text": ""}
    assert [gpu["uuid"] for gpu in recorded.start["gpus"]] == [
        "GPU-00000000-stub",
        "GPU-00000001-stub",
    ]
    assert set(recorded.column("gpu0_util_pct")) == {37.0}
    assert recorded.column("gpu1_power_w") == []
    both = [row for row in recorded.rows if row["gpu0_util_pct"] and row["host_mem_used_mib"]]
    assert both


def test_without_the_extra(tmp_path: Path) -> None:
    """GIVEN --nvml without the extra THEN the command runs and is recorded, and the file says what
    to install."""
    script = (
        "import sys, gpudiag.record.gpu_tool as t; t.find_spec = lambda name: None\n"
        "from gpudiag.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    words = ["record", "--nvml", "--interval", "0.2", "--", "sh", "-c", "sleep 0.5; exit 4"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 4
    source = Recorded(tmp_path / "run.csv").start["gpu_source"]
    assert source["status"] == "missing"
    assert "pip install 'gpudiag[nvml]'" in source["text"]
