"""④ Loaders that were measured (a real paddle.io.DataLoader): case, and the cause it must give.

GPU time was emulated there; utilisation is 100 % less the true stall.
"""

from __future__ import annotations

import pytest
from judging import codes, held, host, workers

GPU = {"gpus": [{"index": 0, "mem_total_mib": 16_384}]}
TWO = {**GPU, "host": host(2)}
EIGHT = {**GPU, "host": host(8)}


def loader(stall, main, idle, *, read=0.0, new=0.0, **columns):
    made = {"workers": 0, "others_cpu_pct": 0, **columns, "workers_new": new}
    return {
        "gpu0_util_pct": 100 * (1 - stall),
        "gpu0_mem_used_mib": [10] * 5 + [6000] * 595,
        "main_cpu_pct": main,
        "main_read_mib_s": read,
        "host_idle_cores": idle,
        **made,
    }


@pytest.mark.parametrize(
    ("case", "start", "columns", "code", "cause"),
    [
        ("a: no workers", TWO, loader(0.47, 100, 0, read=17), "GD101", "no-workers"),
        (
            "b: one worker, as measured on two cores, of which none is free",
            TWO,
            loader(0.33, 72, 0.24, **workers(1, 99, switches=24)),
            "GD101",
            "all-cores-saturated",
        ),
        (
            "b: the same with six idle cores of eight",
            EIGHT,
            loader(0.33, 72, 6, **workers(1, 99, switches=24)),
            "GD101",
            "too-few-workers",
        ),
        (
            "c: four workers, cores full with foreign programs",
            TWO,
            loader(0.67, 7, 0, **workers(4, 24, switches=1.5)),
            "GD101",
            "foreign-load",
        ),
        (
            "d: two workers that wait 8 ms for each sample",
            TWO,
            loader(0.33, 50, 0.48, **workers(2, 6, "sleeping", switches=108)),
            "GD101",
            "many-short-waits",
        ),
    ],
)
def test_the_measured_case_gives_its_cause(judge, case, start, columns, code, cause):
    diagnosis = judge(start=start, **columns)
    assert codes(diagnosis, above_info=True) == [code], case
    assert held(diagnosis[0]) == [cause], case


@pytest.mark.parametrize(
    ("case", "columns"),
    [
        ("ok", loader(0.02, 72, 0.26, **workers(2, 10.5, "sleeping", switches=10))),
        ("h: launch-bound without a stall", loader(0.03, 89, 0.55, read=1.3)),
        (
            "g: workers replaced every second, and the reading of dead children",
            loader(0.03, 77, 0.3, read=33, new=1.85, **workers(2, 8.5, "sleeping", switches=9)),
        ),
        ("g: persistent", loader(0.01, 67, 1.14, **workers(2, 5.5, "sleeping", switches=6))),
    ],
)
def test_the_measured_case_without_a_stall_is_silent(judge, case, columns):
    diagnosis = judge(start=TWO, **columns)
    assert codes(diagnosis) == [], case
    assert diagnosis.state == "healthy", diagnosis.sentence
