"""Faster, slower, no difference shown, or why it cannot be told."""

from __future__ import annotations

import numpy as np
import pytest
from comparing import GPU, compared, run


@pytest.mark.parametrize(("after", "outcome"), [(75.0, "faster"), (35.0, "slower")])
def test_a_difference_is_shown(after: float, outcome: str) -> None:
    """GIVEN a GPU that is busy half again as much, or less, THEN that is the speed."""
    comparison = compared(run(50), run(after, seed=2))
    assert comparison.outcome == outcome
    assert comparison.basis == "GPU work"
    assert comparison.speed
    assert comparison.speed.value == pytest.approx(after / 50, rel=0.02)
    assert comparison.speed.low < after / 50 < comparison.speed.high  # type: ignore[operator]


def test_the_same_run_again_shows_no_difference() -> None:
    """GIVEN thirty pairs of recordings of the same run, noise and pauses included, THEN at least
    29 show no difference: one in twenty may."""
    pauses = np.where(np.arange(300) % 40 < 8, 0, 70)
    shown = 0
    for seed in range(30):
        shifted = np.roll(pauses, 7 * seed)
        one, two = run(pauses, seed=100 + seed), run(shifted, seed=200 + seed)
        shown += compared(one, two).outcome in ("faster", "slower")
    assert shown <= 1


def test_two_per_cent_are_not_called_a_difference() -> None:
    """GIVEN runs without any noise that differ by 2 % THEN none is shown: two recordings of one
    run may differ as much."""
    comparison = compared(run(50, noise=0), run(51, noise=0))
    assert comparison.outcome == "no difference"
    assert "1.02 times the speed" in comparison.sentence


def test_marks_count_more_than_utilisation() -> None:
    """GIVEN marks in both runs THEN the time between them is the speed, whatever the GPU shows."""
    before = {f"epoch {n}": 20.0 + 50 * n for n in range(6)}
    after = {f"epoch {n}": 20.0 + 25 * n for n in range(6)}
    comparison = compared(run(50, marks=before), run(50, seed=2, marks=after))
    assert comparison.basis == "marks"
    assert comparison.outcome == "faster"
    assert comparison.speed
    assert comparison.speed.value == pytest.approx(2.0)
    assert "“epoch 0”" in comparison.notes[0]


def test_marks_in_another_order_do_not_count() -> None:
    """GIVEN the same marks in another order THEN they do not mean the same."""
    one, two = {"a": 30.0, "b": 90.0}, {"b": 30.0, "a": 90.0}
    assert compared(run(50, marks=one), run(50, seed=2, marks=two)).basis == "GPU work"


def test_run_times_count_only_where_the_user_says_so() -> None:
    """GIVEN a run in half the time THEN by itself that says nothing; with --same-work it does."""
    before, after = run(50, seconds=400), run(50, seconds=200, seed=2)
    assert compared(before, after).outcome == "no difference"
    comparison = compared(before, after, same_work=True)
    assert (comparison.basis, comparison.outcome) == ("run time", "faster")
    assert comparison.speed
    assert comparison.speed.value == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("end", "why"), [({}, "does not hold the end"), ({"exit_code": 1}, "did not end well")]
)
def test_half_a_run_has_no_run_time(end: dict[str, int], why: str) -> None:
    """GIVEN a run that was cut short or failed THEN its time is not compared."""
    comparison = compared(run(50), run(50, seed=2, end=end), same_work=True)
    assert comparison.outcome == "cannot tell"
    assert why in comparison.sentence


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"memory": 16_000.0}, "the most memory that a GPU held is 2.00 times"),
        ({"gpu0_sm_clock_mhz": 900.0}, "the clock while the GPUs were busy is 0.50 times"),
        ({"gpu0_mem_util_pct": 60.0}, "the use of the memory controller per busy second"),
        ({"gpus": [{**GPU, "name": "NVIDIA H100"}]}, "different models"),
    ],
)
def test_other_work_a_busy_second_cannot_be_compared(columns: dict, why: str) -> None:
    """GIVEN another batch size, clock, kind of work or GPU THEN GPU work is not the speed."""
    before = run(50, gpu0_sm_clock_mhz=1800.0, gpu0_mem_util_pct=25.0)
    given = {"gpu0_sm_clock_mhz": 1800.0, "gpu0_mem_util_pct": 37.5, **columns}
    comparison = compared(before, run(75, seed=2, **given))
    assert comparison.outcome == "cannot tell"
    assert comparison.speed is None
    assert why in comparison.sentence


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (run(0), "no GPU of the run was ever busy"),
        (run(50, seconds=30), "and 30 s are needed"),
        (run(50, gpu0_util_pct=np.full(300, np.nan)), "was not measured"),
    ],
    ids=["never-busy", "too-short", "no-utilisation"],
)
def test_what_was_not_measured_cannot_be_told(after, why: str) -> None:
    """GIVEN a run without work, time or readings THEN the reason is said."""
    comparison = compared(run(50), after)
    assert comparison.outcome == "cannot tell"
    assert why in comparison.sentence


def test_other_programs_are_said_to_be_there() -> None:
    """GIVEN other programs on the machine in one run only THEN the reader is told."""
    host = {"cpus": 8, "affinity_cpus": 8, "effective_cores": 8}
    columns = {"main_cpu_pct": 90.0, "workers": 0.0, "others_cpu_pct": 0.0, "host_idle_cores": 7.0}
    alone = run(50, host=host, host_cpu_pct=12.0, **columns)
    crowded = run(50, seed=2, host=host, host_cpu_pct=60.0, **{**columns, "host_idle_cores": 3.0})
    notes = " ".join(compared(alone, crowded).notes)
    assert "Other programs used" in notes


def test_a_log_without_times_is_compared_by_samples() -> None:
    """GIVEN logs without times THEN the share of samples is compared, and that is said."""
    comparison = compared(run(50, time_known=False), run(75, seed=2, time_known=False))
    assert comparison.outcome == "faster"
    assert any("times of the samples are not known" in note for note in comparison.notes)
