"""④ Rules over signals: what we know, applied to what was measured."""

from __future__ import annotations

from gpudiag.diagnose.engine import diagnose
from gpudiag.diagnose.load import load_rules
from gpudiag.diagnose.rule_tests import run_rule_tests

__all__ = ["diagnose", "load_rules", "run_rule_tests"]
