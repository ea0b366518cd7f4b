"""The simulated nvidia-smi as its callers see it: arguments, rows, texts, exit codes."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.demo.conftest import Simulated

UTIL = "--query-gpu=index,utilization.gpu"
STREAM = (UTIL, "--format=csv,noheader,nounits", "-lms", "100")


@pytest.mark.parametrize(
    "loop", [["-lms", "500"], ["-lms=500"], ["--loop-ms=500"], ["--loop-ms", "500"]]
)
def test_all_spellings_of_a_loop(smi: Simulated, loop: list[str]) -> None:
    """GIVEN two GPUs WHEN looped for 3 ticks THEN a row a GPU a tick, stamped 500 ms apart."""
    smi.scenario(gpus=[{}, {}], ticks=3)
    code, text = smi.run("--query-gpu=timestamp,index", "--format=csv,noheader", *loop)
    assert code == 0
    assert text.splitlines() == [
        f"2026/03/01 10:00:0{stamp}, {gpu}"
        for stamp in ("0.000", "0.500", "1.000")
        for gpu in (0, 1)
    ]


def test_the_period_is_the_interval_and_the_query_time(smi: Simulated) -> None:
    """GIVEN 20 ms a GPU WHEN two GPUs are looped with -l 1 THEN ticks are 1.04 s apart."""
    smi.scenario(ticks=2, query_s=0.02, gpus=[{}, {}])
    _, text = smi.run("--query-gpu=timestamp", "--format=csv,noheader", "-l", "1")
    assert [line[-6:] for line in text.splitlines()] == ["00.020", "00.040", "01.060", "01.080"]


def test_header_and_units(smi: Simulated) -> None:
    """GIVEN csv WHEN asked by an alias THEN canonical names, units, and a comma and a space."""
    query = "--query-gpu=gpu_name,memory.used,clocks.sm,clocks_throttle_reasons.active"
    assert smi.run(query, "--format=csv") == (
        0,
        "name, memory.used [MiB], clocks.current.sm [MHz], clocks_event_reasons.active\n"
        "Simulated GPU (gpudiag demo), 0 MiB, 345 MHz, 0x0000000000000001\n",
    )
    _, text = smi.run("--query-gpu", "memory.used", "--format", "csv,nounits")
    assert text == "memory.used\n0\n"


def test_an_unknown_field(smi: Simulated) -> None:
    """GIVEN 465 WHEN a later field is asked for THEN the text on stdout, and exit code 2."""
    smi.scenario(driver="465.27")
    told = smi.run("--query-gpu=index,clocks_event_reasons.active,nosuch", "--format=csv")
    assert told == (2, 'Field "clocks_event_reasons.active" is not a valid field to query.\n\n')


@pytest.mark.parametrize(
    "arguments",
    [
        ["--query-gpu=index"],
        ["--format=csv"],
        ["--nonsense"],
        ["nonsense"],
        ["--query-gpu=index", "--format=xml"],
        ["-L", "--query-gpu=index", "--format=csv"],
        ["--query-gpu=index", "--format=csv", "-l", "x"],
        ["-i"],
    ],
)
def test_bad_arguments_end_with_2(smi: Simulated, arguments: list[str]) -> None:
    """GIVEN arguments that do not fit together WHEN run THEN a text on stdout and exit code 2."""
    code, text = smi.run(*arguments)
    assert code == 2
    assert text


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("2,0", "0\n2\n"),
        ("GPU-51300000-0000-4000-8000-000000000001", "1\n"),
        ("00000000:28:00.0", "1\n"),
        ("0000:39:00.0", "2\n"),
    ],
)
def test_gpus_are_chosen_in_all_ways(smi: Simulated, chosen: str, expected: str) -> None:
    """GIVEN three GPUs WHEN some are chosen with -i THEN they come in the order of their index."""
    smi.scenario(gpus=[{}, {}, {}])
    for option in (["-i", chosen], [f"--id={chosen}"]):
        told = smi.run("--query-gpu=index", "--format=csv,noheader", *option)
        assert told == (0, expected)
    assert smi.run("-i", "9", "--query-gpu=index", "--format=csv") == (6, "No devices were found\n")


def test_a_file_is_written_with_f(smi: Simulated) -> None:
    """GIVEN -f WHEN run THEN the rows are in the file and not on stdout."""
    path = smi.folder / "log.csv"
    assert smi.run(UTIL, "--format=csv", "-f", str(path)) == (0, "")
    assert path.read_text() == "index, utilization.gpu [%]\n0, 0 %\n"


def test_the_lists_and_the_table(smi: Simulated) -> None:
    """GIVEN a GPU that is split WHEN listed THEN its parts too; the table is 91 columns wide."""
    smi.scenario(gpus=[{"mig": ["1g.10gb", "2g.20gb"]}, {}])
    _, listed = smi.run("-L")
    assert len(listed.splitlines()) == 4
    assert "  MIG 1g.10gb       Device  0: (UUID: MIG-" in listed
    code, table = smi.run()
    assert code == 0
    widths = {len(line) for line in table.splitlines() if line[:1] in ("|", "+")}
    assert widths == {91}
    assert "No running processes found" in table
    _, helped = smi.run("--help-query-gpu")
    assert '"name" or "gpu_name"' in helped.splitlines()
    assert "DRIVER version      : 590.48.01" in smi.run("--version")[1]


def test_processes_are_those_that_hold_a_context(smi: Simulated) -> None:
    """GIVEN this process with a context WHEN compute apps are asked for THEN it is listed."""
    from gpudiag.demo.device import EmulatedGPU

    query = ("--query-compute-apps=pid,used_memory", "--format=csv,noheader")
    assert smi.run(*query) == (0, "")
    gpu = EmulatedGPU(0, smi.folder)
    gpu.allocate(80)
    assert smi.run(*query) == (0, f"{os.getpid()}, 500 MiB\n")
    assert f" {os.getpid()}      C   " in smi.run()[1]
    gpu.close()


def test_a_terminal_gets_lines_and_a_pipe_gets_blocks(smi: Simulated) -> None:
    """GIVEN a loop WHEN stdout is a pty THEN rows come at once; on a pipe they die with SIGTERM."""
    smi.scenario(clock=None)
    ours, theirs = pty.openpty()
    smi.start(*STREAM, stdout=theirs)
    os.close(theirs)
    assert os.read(ours, 100).startswith(b"0, 0")
    os.close(ours)
    smi.scenario(clock=None, faults=[{"kind": "hang", "where": "between", "at_tick": 3}])
    piped = smi.start(*STREAM)
    wait_for_tick(smi, piped)
    piped.send_signal(signal.SIGTERM)
    assert piped.communicate()[0] == b""
    assert piped.returncode == -signal.SIGTERM


def test_ctrl_c_flushes(smi: Simulated) -> None:
    """GIVEN rows held back in a block WHEN SIGINT comes THEN they are written first."""
    smi.scenario(clock=None, faults=[{"kind": "hang", "where": "between", "at_tick": 3}])
    piped = smi.start(*STREAM)
    wait_for_tick(smi, piped)
    piped.send_signal(signal.SIGINT)
    assert piped.communicate()[0] == b"0, 0\n" * 3
    assert piped.returncode == -signal.SIGINT


def test_block_and_exit_buffering(smi: Simulated) -> None:
    """GIVEN 1000 rows of 5 bytes WHEN the tool dies after them THEN only whole blocks got out."""
    late = [{"kind": "hang", "where": "between", "at_tick": 1000}]
    for mode, length in (("block", 4096), ("exit", 0)):
        smi.scenario(buffering=mode, faults=late)
        piped = smi.start(*STREAM)
        wait_for_tick(smi, piped)
        piped.send_signal(signal.SIGTERM)
        assert len(piped.communicate()[0]) == length
    smi.scenario(buffering="exit", ticks=3)
    assert smi.run(*STREAM) == (0, "0, 0\n" * 3)


def test_a_closed_pipe_does_not_end_the_loop(smi: Simulated) -> None:
    """GIVEN a loop WHEN its reader goes away THEN it runs on to its last tick, and ends clean."""
    smi.scenario(ticks=2000, buffering="line")
    process = smi.start(*STREAM)
    assert process.stdout
    process.stdout.close()
    assert process.wait(timeout=30) == 0


def test_every_start_and_end_is_logged(smi: Simulated) -> None:
    """GIVEN two calls WHEN they have ended THEN the log names them with arguments and code."""
    smi.scenario(ticks=1)
    smi.run("-L")
    smi.run("--query-gpu=nosuch", "--format=csv", "-l", "1")
    log = smi.calls()
    assert [(entry["event"], entry.get("sort"), entry.get("code")) for entry in log] == [
        ("start", "once", None),
        ("end", None, 0),
        ("start", "loop", None),
        ("end", None, 2),
    ]
    assert log[0]["argv"] == ["-L"]
    assert log[0]["pid"] == log[1]["pid"]


def wait_for_tick(smi: Simulated, process: subprocess.Popen[bytes]) -> None:
    """Wait until the tool sleeps in its hang: its log file of hangs is there."""
    marker = smi.folder / f"hanging-{process.pid}"
    while not marker.exists():
        assert process.poll() is None
