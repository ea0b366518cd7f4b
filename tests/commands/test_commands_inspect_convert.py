"""`gpudiag inspect` and `gpudiag convert`, and the arguments that commands share which read."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pandas as pd
import pytest

from gpudiag import cli
from gpudiag.errors import GpudiagError
from gpudiag.timeline.read import read

FIXTURES = Path(__file__).parents[1] / "fixtures"
LOGS = sorted((FIXTURES / "logs").iterdir())
GPU, SAR = str(FIXTURES / "hosts" / "gpu.csv"), str(FIXTURES / "hosts" / "sar.log")


def test_inspect_says_what_was_read_and_what_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(FIXTURES / "logs" / "dmon-dt-two-gpus.log")]) == 0
    out = capsys.readouterr().out
    assert "dmon-dt-two-gpus.log: nvidia-smi dmon\n" in out
    assert "time      from 2026-02-03" not in out
    assert "from 2026-03-01T23:59:58.000, 4.0 s, a sample every 1 s" in out
    assert "lines     15 = 7 read + 2 headers + 4 without readings + 2 dropped" in out
    assert "line 10: 10 cells where the header has 17" in out
    assert "gpu-text: Sun Mar  1 23:59:59 2026 NVRM: Xid" in out


def test_inspect_tells_gaps_and_an_unknown_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log"
    times = [0, 1, 2, 3, 600, 601]
    path.write_text(
        "timestamp, index, utilization.gpu [%]\n"
        + "".join(f"2026/02/03 08:{t // 60:02d}:{t % 60:02d}.000, 0, 5 %\n" for t in times)
    )
    assert cli.main(["inspect", str(path)]) == 0
    assert "gaps      1, together 9 min 57 s" in capsys.readouterr().out
    assert cli.main(["inspect", str(FIXTURES / "logs" / "dmon.log")]) == 0
    assert "not told: the log has no times" in capsys.readouterr().out


@pytest.mark.parametrize("host", ["sar.log", "psrecord.log", "duct.jsonl"])
def test_inspect_a_log_of_the_cpu_side(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(FIXTURES / "hosts" / host)]) == 0
    assert "give it beside a GPU log with --host" in capsys.readouterr().out


def test_inspect_reads_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (FIXTURES / "logs" / "qx-one-line.xml").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert cli.main(["inspect", "-"]) == 0
    assert "standard input: nvidia-smi -q -x (XML)" in capsys.readouterr().out


@pytest.mark.parametrize("path", LOGS, ids=[path.name for path in LOGS])
def test_what_is_converted_reads_back_equal(path: Path, tmp_path: Path) -> None:
    """GIVEN any log WHEN converted THEN run.csv holds the same figures, GPUs and events."""
    out = tmp_path / "run.csv"
    arguments = ["convert", str(path), "-o", str(out)]
    try:
        before = read(path)
        if not before.source.time_known:
            before = read(path, interval_s=2)
            arguments += ["--interval", "2s"]
    except GpudiagError:
        assert cli.main(arguments) == 3
        assert not out.exists()
        return
    if not before.source.time_known:  # all rows carry one time
        assert cli.main(arguments) == 2
        return
    assert cli.main(arguments) == 0
    after = read(out)
    pd.testing.assert_frame_equal(after.frame, before.frame, check_exact=True)
    assert after.gpus == before.gpus
    assert [after.gpu_facts(g) for g in after.gpus] == [before.gpu_facts(g) for g in before.gpus]
    assert after.start.get("time") == before.start.get("time")
    kept = [(e.kind, e.text) for e in after.events if e.kind != "note"]
    assert kept == [(e.kind, e.text) for e in before.events if e.kind != "note"]
    texts = [e.text for e in after.events]
    assert all(note in texts for note in before.source.notes)
    assert after.source.notes == ()
    assert not list(tmp_path.glob(".*"))


def test_convert_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["convert", GPU, "--host", SAR, "--timezone", "UTC", "-o", "-"]) == 0
    out = capsys.readouterr().out
    assert "host_cpu_pct" in out
    assert '"time":"2026-02-03T23:59:50.000+00:00"' in out


def test_convert_takes_no_chances(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN an existing file, the log itself, no times, a folder THEN nothing is written."""
    out = tmp_path / "run.csv"
    out.write_text("mine")
    assert cli.main(["convert", GPU, "-o", str(out)]) == 2
    assert out.read_text() == "mine"
    assert cli.main(["convert", GPU, "-o", GPU, "--force"]) == 2
    assert cli.main(["convert", GPU, "-o", str(tmp_path)]) == 2
    assert cli.main(["convert", GPU, "-o", str(tmp_path / "no" / "run.csv")]) == 2
    dmon = str(FIXTURES / "logs" / "dmon.log")
    assert cli.main(["convert", dmon, "-o", str(tmp_path / "new.csv")]) == 2
    assert "give --interval" in capsys.readouterr().err
    assert cli.main(["convert", GPU, "-o", str(out), "--force"]) == 0
    assert out.read_text().startswith("# gpudiag run, format 1\n")
    assert cli.main(["inspect", GPU, "--timezone", "Mars/Base"]) == 2
