"""Recordings of several machines on one clock, and what is not one run."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from clusterkit import SECONDS, machines, with_start

from gpudiag.errors import UnreadableError
from gpudiag.timeline.cluster.clocks import compare_clocks
from gpudiag.timeline.cluster.merge import merge_nodes
from gpudiag.timeline.model import Timeline


def later(timeline: Timeline, seconds: float) -> Timeline:
    """The same recording, as if it had begun so much later."""
    began = datetime.fromisoformat(timeline.start["time"]) + timedelta(seconds=seconds)
    return with_start(timeline, time=began.isoformat())


def test_all_gpus_are_on_one_clock() -> None:
    """GIVEN eight machines with eight GPUs THEN 64 GPUs have names, and one interval is kept."""
    merged = merge_nodes(machines())
    assert merged.gpus == tuple(range(64))
    assert [node.name for node in merged.nodes] == [f"node{n}" for n in range(8)]
    assert merged.nodes[5].names[3] == "node5:3"
    assert merged.nodes[5].numbers[3] == 43
    steps = np.diff(merged.frame.index)
    assert steps == pytest.approx(1.0)
    assert SECONDS <= len(merged.frame) <= SECONDS + 8
    assert merged.source.lines == sum(node.timeline.source.lines for node in merged.nodes)


def test_clocks_are_told_apart_and_put_right() -> None:
    """GIVEN clocks up to 2 s apart THEN each difference is found to within its error, stated, and
    the pauses of all machines fall on the same ticks."""
    recorded = machines()
    merged = merge_nodes(recorded)
    for node in merged.nodes[1:]:
        rng = np.random.default_rng(int(node.name[4:]))
        ahead = rng.uniform(-2, 2)
        first_ahead = 0.0
        assert node.clock.ahead_s == pytest.approx(ahead - first_ahead, abs=1.0)
        assert node.clock.error_s == pytest.approx(1.0)
        assert any(f"The clock of {node.name} was" in note for note in merged.source.notes)
    idle = [
        set(np.flatnonzero(merged.frame[f"gpu{node.gpus[0]}_util_pct"].to_numpy() == 0))
        for node in merged.nodes
    ]
    common = set.intersection(*idle)
    assert len(common) >= 0.9 * max(map(len, idle)) - 4


def test_without_a_change_the_clocks_cannot_be_told() -> None:
    """GIVEN machines that are busy all the time THEN no difference is claimed, and that is said."""
    steady = []
    for one in machines(count=2, gpus=1):
        frame = one.frame.assign(gpu0_util_pct=97.0)
        steady.append(replace(one, frame=frame))
    assert compare_clocks(steady[0], steady[1], 0.0).ahead_s is None
    assert "cannot be told" in " ".join(merge_nodes(steady).source.notes)


def test_a_rhythm_that_repeats_tells_nothing() -> None:
    """GIVEN pauses every 4 s THEN a shift by 4 s would fit as well: nothing is claimed."""
    waves = []
    for one in machines(count=2, gpus=1):
        busy = np.where(np.arange(len(one.frame)) % 4 < 2, 97.0, 0.0)
        waves.append(replace(one, frame=one.frame.assign(gpu0_util_pct=busy)))
    assert compare_clocks(waves[0], waves[1], 0.0).ahead_s is None


def test_other_intervals_are_put_on_the_grid_and_gaps_stay_empty() -> None:
    """GIVEN one machine at 2 s and with a gap THEN its readings stand at their ticks, none twice
    where none was taken."""
    one, two = machines(count=2, gpus=1)
    kept = two.frame.iloc[::2]
    kept = kept[(kept.index < 200) | (kept.index > 260)]
    merged = merge_nodes([one, replace(two, frame=kept)])
    column = merged.frame["gpu1_util_pct"]
    assert column.loc[215:250].isna().all()
    assert column.notna().sum() <= 1.6 * len(kept)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"rank": {"SLURM_JOB_ID": "9"}}, "SLURM_JOB_ID is 4711 and 9"),
        ({"rank": {}, "command": ["python", "other.py"]}, "their commands differ"),
        ({"rank": {}, "command": []}, "does not hold its command"),
        ({"rank": {"SLURM_NNODES": "4"}}, "SLURM_NNODES is 2 and 4"),
        ({"rank": {"SLURM_NODEID": "0"}}, "both have SLURM_NODEID=0"),
        ({"host": {"hostname": "node0"}}, "both of the machine node0"),
    ],
)
def test_what_is_not_one_run_is_refused(facts: dict, why: str) -> None:
    """GIVEN another job, program, size, place or the same machine twice THEN one line says so, and
    --one-run overrides it."""
    one, two = machines(count=2, gpus=1)
    other = with_start(two, **facts)
    with pytest.raises(UnreadableError, match=why) as caught:
        merge_nodes([one, other])
    assert "--one-run" in caught.value.hint
    other = replace(other, source=replace(other.source, path="other.csv"))
    assert len(merge_nodes([one, other], one_run=True).nodes) == 2


def test_runs_at_other_times_are_refused_even_so() -> None:
    """GIVEN a recording of an hour later THEN nothing makes it the same run."""
    one, two = machines(count=2, gpus=1)
    with pytest.raises(UnreadableError, match="not recorded at the same time"):
        merge_nodes([one, later(two, 3600)], one_run=True)


def test_no_clock_no_merge() -> None:
    """GIVEN a log without times THEN it cannot be put beside others."""
    one, two = machines(count=2, gpus=1)
    timeless = replace(two, source=replace(two.source, time_known=False))
    with pytest.raises(UnreadableError, match="no wall-clock times"):
        merge_nodes([one, timeless])


def test_hostile_names_cannot_stand_in_a_text() -> None:
    """GIVEN a host name with markup and escapes THEN the machine has a plain name."""
    one, two = machines(count=2, gpus=1)
    bad = with_start(two, host={"hostname": "<script>\x1b[31m\u202e" + "x" * 100})
    name = merge_nodes([one, bad]).nodes[0].name
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.-[")
    assert len(name) <= 40
