"""Why something could not be checked: in people's words, and each reason once."""

from __future__ import annotations

from gpudiag.report.reasons import reasons

GROUP = "no control group with CPU or memory accounts"


def test_columns_that_lack_readings_for_one_reason_are_named_together() -> None:
    """GIVEN two columns and one reason, THEN one sentence with their titles."""
    assert reasons(
        (
            f"cgroup_throttled_pct was not measured: {GROUP}",
            f"cgroup_stopped_cores was not measured: {GROUP}",
        )
    ) == (
        "“CPU quota: periods in which the group was stopped” and “CPU quota: cores lost to it” "
        f"were not measured: {GROUP}",
    )


def test_gpus_are_counted_and_not_listed_one_by_one() -> None:
    """GIVEN the same column of eight GPUs, THEN it is said once for all of them."""
    told = reasons(f"gpu{gpu}_power_w was not measured" for gpu in range(8))
    assert told == ("“power” of GPUs 0 to 7 was not measured",)


def test_facts_and_columns_within_a_sentence_have_names() -> None:
    """GIVEN names of columns and facts in a sentence, THEN people's words for them."""
    assert reasons(["power_limit_w of the GPU is not known"]) == (
        "the power limit of the GPU is not known",
    )
    assert reasons(["main_cpu_pct holds no reading"]) == (
        "“CPU of the training process (100 % is one core)” holds no reading",
    )


def test_other_reasons_stand_as_they_are_and_once() -> None:
    """GIVEN free text twice, an unknown name and a hostile one, THEN nothing breaks."""
    assert reasons(["no CPU side", "no CPU side", "my_signal is unknown"]) == (
        "no CPU side",
        "my_signal is unknown",
    )
    assert reasons(["\x1b[1m was not measured"]) == ("\\x1b[1m was not measured",)
    assert reasons([]) == ()
