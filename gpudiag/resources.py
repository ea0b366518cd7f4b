"""Where the rules and the templates lie: in a wheel under `_data`, in a checkout at its top level.

Nothing else in the code knows these two places.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def rules_dir() -> Path:
    """The folder of the built-in rules, one TOML file a rule."""
    return _folder("rules", "rules")


def templates_dir() -> Path:
    """The folder of the report's jinja2 templates and its style sheet."""
    return _folder("templates", "reports/templates")


def _folder(in_wheel: str, in_checkout: str) -> Path:
    installed = _PACKAGE / "_data" / in_wheel
    return installed if installed.is_dir() else _PACKAGE.parent / in_checkout
