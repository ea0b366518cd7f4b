"""Before ① record: what one check says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "fault", "unknown"]


@dataclass(frozen=True)
class Result:
    """One line of `gpudiag doctor`.

    `name` is the same in every language; `fact` is what was found, or why it cannot be told;
    `fix` is one line, and empty where there is nothing to do.
    """

    name: str
    level: Level
    fact: str
    fix: str = ""
