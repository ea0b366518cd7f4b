"""① The run's processes. Nothing is sampled yet: see the commit that adds the tree."""

from __future__ import annotations

from typing import Any


class Processes:
    """The columns of scope `tree`."""

    def __init__(self, launcher: Any, tell: Any) -> None:
        """No process is looked at."""

    def sample(self, now: float) -> dict[str, float | int | None]:
        """No figure is made up for what is not measured."""
        return {}
