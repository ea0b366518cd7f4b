"""④ Rules over signals: what we know, applied to what was measured.

`gpudiag.diagnose` names this folder and, in the four-line API, a function: the module is callable.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

from gpudiag.diagnose.engine import diagnose
from gpudiag.diagnose.load import load_rules
from gpudiag.diagnose.model import Diagnosis, Rule
from gpudiag.diagnose.rule_tests import run_rule_tests
from gpudiag.timeline.model import Timeline

__all__ = ["diagnose", "load_rules", "run_rule_tests"]


class _Callable(ModuleType):
    def __call__(self, timeline: Timeline, rules: Sequence[Rule] | None = None) -> Diagnosis:
        return diagnose(timeline, rules)


# documented under "customizing module attribute access" in Python's data model
sys.modules[__name__].__class__ = _Callable
