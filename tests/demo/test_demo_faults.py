"""Every fault that the simulated nvidia-smi can play."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from gpudiag.demo import faults
from gpudiag.demo.faults import START_ERRORS, Call

if TYPE_CHECKING:
    from tests.demo.conftest import Simulated

ROWS = ("--query-gpu=index,memory.used", "--format=csv,noheader,nounits")
STREAM = (*ROWS, "-lms", "100")


@pytest.mark.parametrize("name", sorted(START_ERRORS))
def test_start_errors(smi: Simulated, name: str) -> None:
    """GIVEN a driver that is ill WHEN run THEN its text on stdout and its exit code."""
    smi.scenario(faults=[{"kind": "start-error", "name": name}])
    code, text = START_ERRORS[name]
    assert smi.run(*STREAM) == (code, text)


def test_a_start_error_of_ones_own(smi: Simulated) -> None:
    """GIVEN a text and a code WHEN run THEN these."""
    smi.scenario(faults=[{"kind": "start-error", "text": "odd\n", "code": 77}])
    assert smi.run("-L") == (77, "odd\n")


def test_a_warning_comes_with_data(smi: Simulated) -> None:
    """GIVEN a corrupted infoROM WHEN run THEN the row, the warning, and exit code 14."""
    smi.scenario(faults=[{"kind": "warning"}])
    assert smi.run(*ROWS) == (14, "0, 0\nWARNING: infoROM is corrupted at gpu 00000000:17:00.0\n")


def test_a_slow_start_delays_the_first_row(smi: Simulated) -> None:
    """GIVEN no persistence mode WHEN run THEN the first row is stamped 6 s later."""
    smi.scenario(faults=[{"kind": "slow-start", "seconds": 6}])
    _, text = smi.run("--query-gpu=timestamp", "--format=csv,noheader")
    assert text == "2026/03/01 10:00:06.000\n"


def test_a_lost_gpu_stays_lost(smi: Simulated) -> None:
    """GIVEN GPU 1 lost at tick 1 WHEN the loop goes on and a new call is made THEN as a driver."""
    smi.scenario(gpus=[{}, {}], ticks=3, faults=[{"kind": "gpu-lost", "gpu": 1, "at_tick": 1}])
    lost = "1, [GPU is lost]"
    assert smi.run(*STREAM)[1].splitlines() == ["0, 0", "1, 0", "0, 0", lost, "0, 0", lost]
    assert smi.run(*ROWS) == (
        255,
        "Unable to determine the device handle for GPU0000:28:00.0: Unknown Error\n",
    )
    assert smi.run("-i", "0", *ROWS) == (0, "0, 0\n")
    assert len(smi.run("-L")[1].splitlines()) == 2


def test_lines_between_rows(smi: Simulated) -> None:
    """GIVEN an Xid at tick 1 WHEN looped THEN its line stands once, before the rows of tick 1."""
    text = "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus."
    smi.scenario(ticks=3, faults=[{"kind": "text", "text": text, "at_tick": 1}])
    assert smi.run(*STREAM)[1].splitlines() == ["0, 0", text, "0, 0", "0, 0"]


def test_death_in_mid_run_and_what_a_restart_finds(smi: Simulated) -> None:
    """GIVEN the first loop dies at tick 2 and a GPU is gone after WHEN restarted THEN it works."""
    smi.scenario(
        gpus=[{}, {}],
        ticks=3,
        faults=[
            {"kind": "death", "at_tick": 2, "code": 15, "calls": [1]},
            {"kind": "gpu-count", "count": 1, "calls": [2], "to": "loop"},
        ],
    )
    assert smi.run(*STREAM) == (15, "0, 0\n1, 0\n" * 2)
    assert smi.run(*STREAM) == (0, "0, 0\n" * 3)
    assert smi.run(*ROWS) == (0, "0, 0\n1, 0\n")


def test_a_clock_step(smi: Simulated) -> None:
    """GIVEN the wall clock put back an hour at tick 1 WHEN looped THEN stamps go back."""
    smi.scenario(ticks=2, faults=[{"kind": "clock-step", "at_tick": 1, "seconds": -3600}])
    _, text = smi.run("--query-gpu=timestamp", "--format=csv,noheader", "-l", "1")
    assert [line[11:] for line in text.splitlines()] == ["10:00:00.000", "09:00:01.000"]


def test_a_throttled_clock(smi: Simulated) -> None:
    """GIVEN a power brake after 2 s WHEN looped THEN the mask says so from then on."""
    smi.scenario(ticks=4, faults=[{"kind": "throttle", "bits": 0x80, "at_s": 2}])
    query = "--query-gpu=clocks_throttle_reasons.hw_power_brake_slowdown"
    _, text = smi.run(query, "--format=csv,noheader", "-l", "1")
    assert text.splitlines() == ["Not Active", "Not Active", "Active", "Active"]


def test_an_impostor_prints_its_table(smi: Simulated) -> None:
    """GIVEN a tool that is not nvidia-smi WHEN queried THEN a table and exit code 0."""
    smi.scenario(faults=[{"kind": "impostor"}])
    code, text = smi.run(*ROWS)
    assert code == 0
    assert "not it" in text


@pytest.mark.parametrize(
    ("where", "seen"), [("start", b""), ("between", b"0, 0\n"), ("mid-row", b"0, 0\n0,")]
)
def test_hangs(smi: Simulated, where: str, seen: bytes) -> None:
    """GIVEN a hang at tick 1 that ignores SIGTERM WHEN ended THEN only SIGKILL helps."""
    hang = {"kind": "hang", "where": where, "at_tick": 1, "ignore_sigterm": True}
    smi.scenario(buffering="line", faults=[hang])
    process = smi.start(*STREAM)
    while not (smi.folder / f"hanging-{process.pid}").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGKILL)
    assert process.communicate()[0] == seen
    assert process.returncode == -signal.SIGKILL


def test_a_stopped_tool_is_as_one_in_uninterruptible_sleep(smi: Simulated) -> None:
    """GIVEN a hang that stops WHEN SIGTERM comes THEN the process neither runs nor ends."""
    smi.scenario(faults=[{"kind": "hang", "where": "start", "stopped": True}])
    process = smi.start(*STREAM)
    seen = psutil.Process(process.pid)
    while seen.status() != psutil.STATUS_STOPPED:
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert seen.status() == psutil.STATUS_STOPPED
    assert process.poll() is None


def test_faults_are_narrowed_down(tmp_path: Path) -> None:
    """GIVEN faults for some calls only WHEN a call comes THEN it meets those that are its own."""
    faults.save(
        tmp_path,
        faults=[
            {"kind": "death", "to": "loop", "calls": [2]},
            {"kind": "warning", "to": "once"},
            {"kind": "impostor"},
        ],
    )
    scenario = faults.load(tmp_path)
    kinds = {
        call: [fault["kind"] for fault in scenario.for_call(call).faults]
        for call in (Call("loop", 1), Call("loop", 2), Call("once", 1))
    }
    assert list(kinds.values()) == [["impostor"], ["death", "impostor"], ["warning", "impostor"]]


def test_a_misspelt_scenario_is_refused(tmp_path: Path) -> None:
    """GIVEN a key that does not exist WHEN a scenario is saved THEN it says which."""
    with pytest.raises(TypeError, match="unknown key of a scenario: gpu"):
        faults.save(tmp_path, gpu=[])
