"""The fixture of the tests of the rules."""

from __future__ import annotations

from collections.abc import Callable

import judging
import pytest

from gpudiag.diagnose.model import Diagnosis


@pytest.fixture
def judge() -> Callable[..., Diagnosis]:
    """`judge(gpu0_util_pct=…, …)` diagnoses a recording that is made of these columns."""
    return judging.judge
