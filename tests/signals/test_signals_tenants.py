"""③ Whose processes are on the GPUs, which GPUs are the run's, and how many ranks it has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudiag.signals import Missing, SignalSet
from gpudiag.timeline.model import Event


def told(signals: SignalSet, *events: Event) -> SignalSet:
    """The same recording with these events."""
    return SignalSet(replace(signals.timeline, events=events))


def used(t_s, gpus, reason="processes of the run hold a context on them"):
    return Event(t_s, "gpus-used", "the run uses them", {"gpus": gpus, "reason": reason})


def test_the_recorders_last_word_says_which_gpus_are_used(make):
    """GIVEN a stranger on GPU 1, whose memory rises, THEN only GPU 0 is the run's."""
    plain = make(
        start={"command": ["x"]},
        gpu0_util_pct=[90] * 100,
        gpu1_util_pct=[80] * 100,
        gpu0_mem_used_mib=[10] + [5000] * 99,
        gpu1_mem_used_mib=[10] + [7000] * 99,
    )
    assert plain.gpus == (0, 1)
    signals = told(plain, used(3, [0, 1], "their memory rose"), used(20, [0]))
    assert signals.gpus == (0,)
    assert not signals.used.meant
    assert told(plain, used(3, [0, 1], "CUDA_VISIBLE_DEVICES")).used.meant


@pytest.mark.parametrize("gpus", [[], [7], "0", None, [None]])
def test_an_event_that_names_no_gpu_of_the_recording_is_not_used(make, gpus):
    plain = make(gpu0_util_pct=[90] * 100)
    assert told(plain, used(3, gpus)).gpus == (0,)


def test_ranks_are_counted_as_seen(make):
    """GIVEN four ranks, one of them started anew, THEN four, and not one process."""
    plain = make(gpu0_util_pct=[90] * 100, gpu1_util_pct=[90] * 100, main_cpu_pct=90)
    ranks = [Event(2.0, "rank", "rank", {"rank": n % 4, "pid": n}) for n in range(5)]
    signals = told(plain, *ranks)
    assert signals.get("ranks") == 4
    assert signals.get("single_process") == 0


def test_contexts_are_counted_between_first_and_last_work(make):
    asked = ([1] + [float("nan")] * 19) * 5
    signals = make(
        gpu0_util_pct=[90] * 100,
        gpu1_util_pct=[90] * 100,
        gpu0_own_procs=[3 * n for n in asked],
        gpu1_own_procs=asked,
    )
    assert signals.get("most_own_procs") == 3
    assert signals.get("crowded_gpu") == 0
    assert signals.get("least_own_procs") == 1


def test_others_count_only_beside_the_run(make):
    """GIVEN a stranger before the run came THEN his share of the time beside it is 0."""
    own = [0] * 50 + [1] * 50
    signals = make(gpu0_util_pct=[90] * 100, gpu0_own_procs=own, gpu0_foreign_procs=own[::-1])
    assert signals.get("foreign_procs_share", 0) == 0


def test_without_answers_nothing_is_said(make):
    value = make(gpu0_util_pct=[90] * 100).get("gpus_with_own_procs")
    assert isinstance(value, Missing)


def test_what_was_in_use_before_is_not_the_runs_own(make):
    """GIVEN a first reading after the run made its context THEN it says nothing of others."""
    memory = {"gpu0_util_pct": [90] * 100, "gpu0_mem_used_mib": [4600] * 100}
    start = {"command": ["x"]}
    assert make(start=start, **memory).get("mem_before_mib", 0) == 4600
    late = make(start=start, t=[n + 6.0 for n in range(100)], **memory)
    assert isinstance(late.get("mem_before_mib", 0), Missing)
    told_apart = make(start=start, gpu0_foreign_mem_mib=[float("nan"), *[0] * 99], **memory)
    assert told_apart.get("mem_before_mib", 0) == 0
