"""Secrets that a log or an older recording holds stay out of every format of the report."""

from __future__ import annotations

import dataclasses
import html

import pytest
import report_fixtures as fixtures

from gpudiag.report import FORMATS, Format, render_text
from gpudiag.report.clean import LONGEST, clean
from gpudiag.timeline.model import Dropped, Event, Source

SECRET = "s3cr3tvalue0123456789"
LEAKS = (
    f"python train.py --api-key={SECRET}", f"WANDB_API_KEY={SECRET}",
    f"https://mara:{SECRET}@git.example/x?access_token={SECRET}&a=1", f"hf_{SECRET}",
    f"Authorization: Bearer {SECRET}", f'--password "{SECRET}"', f"sk-{SECRET}",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("leak", LEAKS)
def test_a_secret_anywhere_in_the_recording_is_masked(form: Format, leak: str) -> None:
    """GIVEN a secret in command, settings, names, events and log lines, THEN it is not shown."""
    diagnosis, timeline = fixtures.starving()
    leaky = dataclasses.replace(
        timeline,
        start={
            **timeline.start,
            "command": ["python", "train.py", "--api-key", SECRET, *leak.split()],
            "cwd": leak, "gpus": [fixtures.gpu(0, leak), fixtures.gpu(1, leak)],
            "host": {**fixtures.HOST, "kernel": leak},
            "env": {"WANDB_API_KEY": SECRET, "FLAGS_x": leak, "HF_TOKEN": SECRET},
        },
        source=Source(
            "run.csv", leak, dropped=(Dropped(3, "not a reading", leak),), notes=(leak,)
        ),
        events=(Event(1.0, "gpu-text", leak),),
    )  # fmt: skip
    told = dataclasses.replace(diagnosis, limits=(leak,), sentence=f"It said {leak}")
    report = render_text(told, leaky, form)
    assert SECRET not in html.unescape(report)
    assert "***" in report.replace("\\*", "*")


def test_a_command_that_is_one_text_is_masked_too() -> None:
    """GIVEN a foreign recording whose command is one string, THEN its secrets are masked."""
    diagnosis, timeline = fixtures.starving()
    start = {**timeline.start, "command": f"python train.py --token {SECRET} --lr 0.1"}
    report = render_text(diagnosis, dataclasses.replace(timeline, start=start), "text")
    assert "--token *** --lr 0.1" in report


def test_a_secret_across_the_cut_is_masked() -> None:
    """GIVEN a text that is cut within a secret, THEN its beginning is not shown either."""
    shown = clean("x" * (LONGEST - 24) + f" --api-key={SECRET}")
    assert SECRET[:4] not in shown
