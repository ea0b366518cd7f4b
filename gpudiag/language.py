"""The language of what gpudiag says: English in the code, other languages in a catalogue.

A text for people passes through :func:`tr` where it is made::

    tr("{count} of {gpus} GPUs were idle", count=2, gpus=8)

The English text is the key, with its holes unfilled; a text without an entry stays English. Nothing
heavy is imported: the record path may use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

_HOLE = re.compile(r"\{\w+\}")
_LEAST_WORDS = 8  # characters besides the holes: fewer would fit anything
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
    from importlib import resources  # not for a recorder that speaks English
    from tomllib import loads

    text = resources.files("gpudiag").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return dict(loads(text))


@cache
def _patterns(language: str) -> tuple[tuple[re.Pattern[str], list[str], str], ...]:
    """Entries with holes, the longest text first: what a finished English text may be made from."""
    entries = sorted(catalogue(language).items(), key=lambda entry: -len(_HOLE.sub("", entry[0])))
    return tuple(
        (
            re.compile("(.+?)".join(map(re.escape, _HOLE.split(english))), re.DOTALL),
            _HOLE.findall(english),
            said,
        )
        for english, said in entries
        if len(_HOLE.sub("", english)) >= _LEAST_WORDS and _HOLE.search(english)
    )


def retold(text: str) -> str:
    """A finished English text in the language in use, as far as the catalogue knows how it is made.

    For reasons, which are made deep in the signals and told apart by their English text.
    """
    language = current()
    if language == "en":
        return text
    if text in catalogue(language):
        return catalogue(language)[text]
    for pattern, names, said in _patterns(language):
        if match := pattern.fullmatch(text):
            parts = dict(zip(names, match.groups(), strict=True))
            return _filled(said, parts)
    return text


def _filled(said: str, parts: Mapping[str, str]) -> str:
    return _HOLE.sub(lambda hole: retold(parts[hole[0]]), said)


def from_environment(environ: Mapping[str, str]) -> str:
    """The language of the locale: the first of LC_ALL, LC_MESSAGES and LANG that is set decides."""
    locale = next((environ[n] for n in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(n)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def tr(text: str, /, **values: object) -> str:
    """The text in the language in use, its ``{holes}`` filled with the values."""
    said = catalogue(current()).get(text, text)
    return said.format(**values) if values else said
