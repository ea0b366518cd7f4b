"""⑤ Text from outside, made safe to show: nothing hidden, nothing endless.

Escaping for HTML is the template engine's work; here control and direction characters become
visible, so that a GPU name or a command line can neither reorder the page nor reach a terminal.
"""

from __future__ import annotations

import unicodedata

from gpudiag.masking import without_secrets

LONGEST = 2000
_AHEAD = 200  # a secret may lie across the place where a text is cut
_SHOWN = {"\n": "⏎ ", "\t": " ", "\r": ""}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def clean(text: object, longest: int = LONGEST) -> str:
    """`text` on one line, cut at `longest`; hidden characters are shown: `\\x1b`, `\\u202e`.

    Secrets become `***`. What was cut is said: `… (98,000 more characters)`.
    """
    whole = str(text)
    kept = without_secrets(whole[: longest + _AHEAD])[: longest + 1]
    return _cut("".join(map(_visible, kept)), len(whole), longest)


def clean_code(text: object, longest: int = 20_000) -> str:
    """The same for code and logs, which keep their line breaks; tabs become four blanks."""
    kept = str(text)[: longest + 1].replace("\r\n", "\n").replace("\t", "    ")
    shown = "".join(char if char == "\n" else _visible(char) for char in kept)
    return _cut(shown, len(str(text)), longest)


def _visible(char: str) -> str:
    if char in _SHOWN:
        return _SHOWN[char]
    if char.isascii() and char.isprintable():
        return char
    if unicodedata.category(char) in _HIDDEN:
        code = ord(char)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return char


def _cut(shown: str, length: int, longest: int) -> str:
    if length <= longest:
        return shown
    return f"{shown[:longest]}… ({length - longest:,} more characters)"
