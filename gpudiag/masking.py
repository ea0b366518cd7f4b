"""Secrets in text from outside (command lines, settings, log lines), replaced by `***`.

`record` masks what it writes and `report` what it shows, since a log or an older recording may
hold what nobody masked. Standard library only (`record` imports it).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "***"
_LONGEST = 500
_LONGEST_NAME = 100
_LONGEST_READ = 4000  # patterns must not take seconds over a hostile argument

_SECRET = re.compile(
    r"api[_-]?key|secret|token|passw(?:or)?d|passphrase|credential|private[_-]?key|access[_-]?key"
    r"|(?<![a-z])auth(?![a-z])|authorization|(?-i:_(?:KEY|PAT|PWD)$)",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"(?:max|min|num|n|new|pad|eos|bos|sep|cls|unk|mask|special)[_-]?tokens?|tokens?[_-]\w+"
    r"|[\w-]*tokens|[\w.-]*tokeni[sz]\w*|[\w-]*_token_(?:id|idx|index|type\w*)",
    re.IGNORECASE,
)
# an option may have its value as the next word, a plain name only after = or :
_NAMED = re.compile(
    r"(?<![\w.-])(?P<name>--?\w[\w.-]*(?=\s*[=:]|\s+[^\s-])|[\w.][\w.-]*(?=\s*[=:]))"
    r"(?P<sep>\s*[=:]\s*|\s+)(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"';&|]+)"
)
_URL_USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_URL_QUERY = re.compile(
    r"(?<=[?&])((?:\w*(?:token|key|secret|signature|password|sig)\w*)=)[^&\s#]+", re.IGNORECASE
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
# what common services hand out, wherever it stands
_TOKEN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abpr]-[\w-]{10,}|AKIA[A-Z0-9]{16}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+)"
)


def masked_command(command: Sequence[str]) -> list[str]:
    """The command line without what looks like a secret."""
    words: list[str] = []
    hide_next = False
    for word in command:
        if hide_next and not word.startswith("--"):
            words.append(MASK)
        else:
            words.append(masked(word))
        hide_next = word.startswith("-") and is_secret(word.lstrip("-"))
    return words


def masked(text: str) -> str:
    """`text` without what looks like a secret, cut to a sensible length."""
    cut = without_secrets(text[:_LONGEST_READ])
    return cut if len(cut) <= _LONGEST and len(text) <= _LONGEST_READ else cut[:_LONGEST] + "…"


def without_secrets(text: str) -> str:
    """`text` without what looks like a secret. It should not be endless: see `masked`."""
    text = _URL_QUERY.sub(rf"\g<1>{MASK}", _URL_USER.sub(MASK, text))
    text = _TOKEN.sub(MASK, _BEARER.sub(rf"\g<1> {MASK}", text))
    return _without_named(text)


def _without_named(text: str) -> str:
    """`name=value` without the values of secret names; the value of another may hold one itself."""
    kept, at = [], 0
    while match := _NAMED.search(text, at):
        secret = is_secret(match["name"].lstrip("-"))
        kept.append(text[at : match.start("value")] + (MASK if secret else ""))
        at = match.end() if secret else match.start("value")
    return "".join(kept) + text[at:]


def is_secret(name: str) -> bool:
    """Whether what goes by this name should not be seen."""
    if len(name) > _LONGEST_NAME or _HARMLESS.fullmatch(name):
        return False
    return _SECRET.search(name) is not None
