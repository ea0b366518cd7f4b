"""④ Thresholds of a user's own: what they change, and what is said of a file that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gpudiag.diagnose import diagnose, load_rules
from gpudiag.diagnose.thresholds import with_thresholds
from gpudiag.errors import RuleError
from gpudiag.timeline.model import Source, Timeline

RULES = load_rules()


def starved(util: float) -> Timeline:
    columns = {
        "gpu0_util_pct": util,
        "main_cpu_pct": 100,
        "workers": 0,
        "main_read_mib_s": 17,
        "others_cpu_pct": 0,
        "host_idle_cores": 3,
    }
    index = pd.Index(np.arange(1.0, 301), name="t_s")
    frame = pd.DataFrame({name: np.full(300, float(v)) for name, v in columns.items()}, index=index)
    start = {"command": ["x"], "host": {"cpus": 8, "effective_cores": 8, "affinity_cpus": 8}}
    return Timeline(frame, start, Source("made", "run.csv", interval_s=1.0))


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_a_changed_threshold_decides_and_is_said(tmp_path: Path) -> None:
    """GIVEN a stall of 15 % WHEN 20 % are needed THEN GD101 is silent, and that is said."""
    timeline = starved(85)
    assert [f.rule.code for f in diagnose(timeline, RULES)] == ["GD101"]
    rules = with_thresholds(RULES, write(tmp_path, "[GD101]\nmin_stall = 0.2\n"))
    changed = diagnose(timeline, rules)
    assert "GD101" not in [f.rule.code for f in changed]
    assert "GD101: min_stall is 0.2 share here, and not 0.1." in changed.limits
    assert not any("min_stall" in text for text in diagnose(timeline, RULES).limits)


def test_the_evidence_follows_the_threshold(tmp_path: Path) -> None:
    """GIVEN 17 MiB/s WHEN loading begins at 50 THEN the evidence, too, no longer sees loading."""
    text = "[data-loader-starvation]\nloading_mib_s = 50\n"
    rules = with_thresholds(RULES, write(tmp_path, text))
    assert [f.rule.code for f in diagnose(starved(50), rules)] == ["GD102"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[GD999]\nx = 1\n", "no rule 'GD999'"),
        ("[GD101]\nmin_stal = 1\n", "no threshold 'min_stal'"),
        ("[GD101]\nmin_stall = 'much'\n", "must be a figure"),
        ("[GD101]\nmin_stall = true\n", "must be a figure"),
        ("[GD101]\nmin_stall = nan\n", "must be a figure"),
        ("GD101 = 3\n", "expected a table"),
        ("[GD101\n", "not TOML"),
        ("[GD101]\nmin_stall=0.2\n[data-loader-starvation]\nmin_stall=0.3\n", "twice"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RuleError, match=r"mine\.toml") as caught:
        with_thresholds(RULES, write(tmp_path, text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="cannot be read"):
        with_thresholds(RULES, tmp_path / "none.toml")
