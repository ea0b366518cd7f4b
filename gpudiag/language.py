"""The language of what gpudiag says: English in the code, other languages in a catalogue.

A text for people passes through :func:`tr` where it is made::

    tr("{count} of {gpus} GPUs were idle", count=2, gpus=8)

The English text is the key, with its holes unfilled; a text without an entry stays English. Nothing
heavy is imported: the record path may use it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import resources
from tomllib import loads

LANGUAGES = ("en", "zh")
_current: ContextVar[str] = ContextVar("language", default="en")


def current() -> str:
    """The language in use: one of :data:`LANGUAGES`."""
    return _current.get()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Use a language of :data:`LANGUAGES` inside the block; ValueError for another one."""
    if language not in LANGUAGES:
        raise ValueError(f"no such language: {language}")
    token = _current.set(language)
    try:
        yield
    finally:
        _current.reset(token)


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """English text to its translation; empty for English."""
    if language == "en":
        return {}
    text = resources.files("gpudiag").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return dict(loads(text))


def tr(text: str, /, **values: object) -> str:
    """The text in the language in use, its ``{holes}`` filled with the values."""
    said = catalogue(current()).get(text, text)
    return said.format(**values) if values else said
