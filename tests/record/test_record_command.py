"""`gpudiag record`: its options, its words at the end, the frameworks it sees."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from gpudiag.commands.record import interval
from gpudiag.errors import UsageError
from gpudiag.language import speaking
from gpudiag.record.figures import Figures
from gpudiag.record.frameworks import Looks, loaded, named
from gpudiag.record.launch import Exit
from gpudiag.record.naming import wanted_path
from gpudiag.record.summary import summary, warnings


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1.0), ("0.2s", 0.2), ("200ms", 0.2), ("60s", 60.0), ("1m", 60.0), ("2", 2.0)],
)
def test_interval(text: str, seconds: float) -> None:
    """GIVEN an interval that makes sense THEN it is taken."""
    assert interval(text) == seconds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0.1s", "repeated readings"),
        ("0", "repeated readings"),
        ("61s", "longer than 60s"),
        ("1h", "longer than 60s"),
        ("fast", "not a duration"),
        ("", "not a duration"),
        ("-1s", "not a duration"),
        ("nan", "not a duration"),
    ],
)
def test_interval_that_makes_no_sense(text: str, why: str) -> None:
    """GIVEN any other THEN one line says why."""
    with pytest.raises(UsageError, match=why) as caught:
        interval(text)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def figures(**more: object) -> Figures:
    told = {
        "path": Path.cwd() / "run.csv",
        "exit": Exit(0),
        "duration_s": 63.6,
        "samples": 63,
        "util_mean_pct": {"gpu0_util_pct": 31.2},
        "gpu_source": {"status": "ok", "text": ""},
        "gpu_rows_lost": 0,
        "rows_lost": 0,
        "trouble": "",
        "cpu_s": 0.12,
        "max_rss_mib": 19.0,
        "skews_s": array("d", [0.001, 0.002, 0.003]),
        "intervals_s": array("d", [1.0, 1.0]),
    }
    return Figures(**(told | more))  # type: ignore[arg-type]


def test_summary() -> None:
    """GIVEN a recording that went well THEN three lines: what, its cost, what to type next."""
    assert summary(figures()) == [
        "run.csv: 64 s, 63 samples, GPU 0 at 31 % on average",
        "the recorder itself used 0.12 s of CPU (0.2 % of a core)",
        "next: gpudiag report run.csv",
    ]
    assert warnings(figures(), None, "") == []


def test_summary_of_many_gpus() -> None:
    """GIVEN eight GPUs THEN the summary stays one line."""
    eight = {f"gpu{n}_util_pct": 10.0 * n for n in range(8)}
    assert "8 GPUs at 35 % on average" in summary(figures(util_mean_pct=eight))[0]


def test_summary_in_chinese() -> None:
    """GIVEN the language zh THEN nothing but commands and names stays English."""
    with speaking("zh"):
        assert summary(figures()) == [
            "run.csv：64 s、63 个采样、GPU 0 利用率 31 %（平均）",
            "录制器自身用了 0.12 s CPU（一个核的 0.2 %）",
            "下一步：gpudiag report run.csv",
        ]
        missing = {"status": "missing", "text": "nvidia-smi was not found on the PATH"}
        told = summary(figures(gpu_source=missing, util_mean_pct={}))
        assert told[1] == "没有录到 GPU：在 PATH 中找不到 nvidia-smi"


def test_warnings() -> None:
    """GIVEN what went wrong THEN each is one line."""
    told = figures(trouble="cannot write run.csv: No space left on device", rows_lost=7)
    assert warnings(told, Path.cwd() / "a.csv", "KeyError: 1") == [
        "a.csv exists already; wrote run.csv",
        "cannot write run.csv: No space left on device; 7 rows are lost",
        "the recording broke off: KeyError: 1",
    ]


def test_end_facts() -> None:
    """GIVEN the figures THEN the end line has exit code or signal, and the alignment."""
    facts = figures().end_facts()
    assert (facts["exit_code"], facts["skew_median_s"], facts["skew_p99_s"]) == (0, 0.002, 0.003)
    assert "signal" not in facts
    killed = figures(exit=Exit(None, 9), skews_s=array("d"), intervals_s=array("d")).end_facts()
    assert killed["signal"] == 9
    assert "exit_code" not in killed
    assert killed["skew_median_s"] is None


def test_output_that_is_a_folder(tmp_path: Path) -> None:
    """GIVEN -o with a folder or a device THEN it is refused before anything is run."""
    for name in (str(tmp_path), "/dev/null"):
        with pytest.raises(UsageError):
            wanted_path(name)


MAPS = "7f00-7f01 r-xp 00000000 08:01 1  {}\n"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "pytorch"),
        ("/venv/lib/python3.11/site-packages/paddle/base/libpaddle.so", "paddle"),
        ("/x/site-packages/tensorflow/libtensorflow_framework.so.2", "tensorflow"),
        ("/x/site-packages/jaxlib/libjax_common.so", "jax"),
    ],
)
def test_frameworks_by_their_libraries(path: str, name: str) -> None:
    """GIVEN a mapped library THEN its framework is seen, and no other."""
    assert list(loaded(MAPS.format(path))) == [name]


def test_no_framework() -> None:
    """GIVEN a data folder named like a framework THEN nothing is seen."""
    assert not list(loaded(MAPS.format("/data/torchvision/images.bin")))
    assert not list(named(["python", "train.py", "--model", "transformers"][:2]))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "/venv/bin/torchrun", "t.py"], "pytorch"),
        (["python", "-m", "paddle.distributed.launch", "t.py"], "paddle"),
        (["python", "-m", "lightning.pytorch.cli"], "lightning"),
        (["python", "/src/transformers/examples/run_glue.py"], "transformers"),
    ],
)
def test_frameworks_by_command(command: list[str], name: str) -> None:
    """GIVEN a launcher or script of a framework THEN it is seen in the command."""
    assert list(named(command)) == [name]


def test_a_process_is_looked_at_a_few_times() -> None:
    """GIVEN a long run THEN a process's mapped files are read six times, and never again."""
    looks = Looks()
    taken = [age for age in range(10_000) if looks.due((1, 0.0), float(age), float(age))]
    assert taken == [1, 3, 8, 20, 60, 180]
    looks.keep(set())
    assert looks.due((1, 0.0), 500.0, 1.0)


def test_an_idle_process_is_not_looked_at() -> None:
    """GIVEN a process that has used no CPU since THEN nothing can have been loaded."""
    looks = Looks()
    assert not looks.due((1, 0.0), 1.5, 0.01)
    assert looks.due((1, 0.0), 2.0, 0.5)
    assert not looks.due((1, 0.0), 100.0, 0.5)
    assert looks.due((1, 0.0), 200.0, 0.6)
