"""② Text as another locale or a spreadsheet writes it, put into the form that readers know.

Cells between semicolons or tabs, quoted cells, decimal commas, dates with words of another
language. Lines stay lines, so that every number in an `inspect` is that of the file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace

from gpudiag.timeline.fields import header
from gpudiag.timeline.load import Log

_LOOKED_AT = 200
_COMMA = re.compile(r"(?<![\d,.])([-+]?\d+),(\d{1,6})(?=\s*(?:%|[MG]i?B\b|W\b|[MG]Hz\b|°?C\b|$))")
_SEPARATORS = (";", "\t")
_MONTHS = (
    "jan|gen|ene|янв", "fe[bv]|fév|фев", "m[aä]r[sz]?|mrt|maa|мар", "a[pvb]r|апр", "ma[iyjg]|мая",
    "juin|jun|giu|июн", "juil|jul|lug|июл", "ao[uû]|aug|ago|авг", "se[pt]|set|сен",
    "o[ckt]t|ott|out|окт", "no[vw]|ноя", "de[cz]|déc|di[cz]|дек",
)  # fmt: skip
_HOUR = r"(\d{1,2}:\d{2}:\d{2}(?:\.\d+)?)"
_ZONE = r"(?: \(?(?:UTC|GMT|[A-Z]{2,4}[ST]?)\b\)?| ?[+-]\d{2}:?\d{2}\b)?"
# `date` in Chinese and Japanese, and in languages that write the day before the month's name.
_IDEOGRAPHIC = re.compile(
    r"(\d{4})年\s*(\d{1,2})月\s*(\d{1,2})日\s*(?:\(.\)|(?:星期|周|礼拜).|.曜日)?\s*"
    rf"(上午|下午|午前|午後)?\s*(\d{{1,2}})[:时時](\d{{2}})[:分](\d{{2}}(?:\.\d+)?)秒?{_ZONE}"
)
_WORDS = (
    re.compile(rf"(?:[^\W\d]{{2,9}}\.?,? +)(?P<d>\d{{1,2}})\.? +(?:de )?(?P<m>[^\W\d]{{3,10}})\.?"
               rf" +(?:de )?(?P<y>\d{{4}}),? +{_HOUR}{_ZONE}"),
    re.compile(rf"(?:[^\W\d]{{2,9}}\.?,? +)(?P<d>\d{{1,2}})\.? +(?P<m>[^\W\d]{{3,10}})\.?"
               rf" +{_HOUR}{_ZONE} (?P<y>\d{{4}})"),
)  # fmt: skip


def plain(log: Log) -> Log:
    """`log` as if a program of the C locale had written it; the same object if it is already."""
    notes: list[str] = []
    head = log.head.split("\n")[:_LOOKED_AT]
    change = _separated(head, notes) or _decimals(head, notes)
    dated = _dates(head)
    if dated:
        notes.append("Dates in another language were read: year, month and day are written out.")
    if not change and not dated:
        return log
    lines = log.data.decode("utf-8", "replace").split("\n")
    if change:
        lines = [change(line) for line in lines]
    if dated:
        lines = [dated(line) for line in lines]
    return replace(log, data="\n".join(lines).encode(), notes=(*log.notes, *notes))


def _separated(head: list[str], notes: list[str]) -> Callable[[str], str] | None:
    """How to put a line into cells between commas, if its header stands between other signs."""
    for line in head:
        for sign in _SEPARATORS:
            if line.count(sign) and header([cell.strip('" ') for cell in line.split(sign)]):
                name = "semicolons" if sign == ";" else "tabs"
                notes.append(f"The cells stand between {name}, as a spreadsheet saves them.")
                return lambda text: _joined(_cells(text, sign)) if sign in text else text
        if line.startswith('"') and "," in line and header(_cells(line, ",")):
            return lambda text: _joined(_cells(text, ",")) if text.startswith('"') else text
    return None


def _cells(text: str, sign: str) -> list[str]:
    try:
        rows = list(csv.reader([text], delimiter=sign, skipinitialspace=True))
    except csv.Error:
        return text.split(sign)
    return rows[0] if len(rows) == 1 else text.split(sign)


def _joined(cells: list[str]) -> str:
    """Cells between commas; a comma that is left within one would make two of it."""
    pointed = [_COMMA.sub(r"\1.\2", cell.strip()) for cell in cells]
    return ", ".join(cell.replace(",", " ") for cell in pointed)


def _decimals(head: list[str], notes: list[str]) -> Callable[[str], str] | None:
    """How to read decimal commas between cells that commas part, where units tell them apart.

    `250,5 W` under `power.draw [W]`: a row has more cells than its header, and exactly as many as
    there are figures whose unit follows the second half.
    """
    width = 0
    for line in head:
        cells = [cell.strip() for cell in line.split(",")]
        if header(cells):
            width = len(cells)
        elif width and len(cells) > width:
            count = _TORN.subn(r"\1.\2", line)[1]
            if count and len(cells) - count == width:
                notes.append("Figures have decimal commas.")
                return lambda text: _TORN.sub(r"\1.\2", text)
    return None


# No blank after the comma: nvidia-smi parts cells by ", ".
_TORN = re.compile(r"(?<![\d.])(\d+),(\d{1,6})(?= ?(?:%|[MG]i?B\b|W\b|[MG]Hz\b))")


def _dates(head: list[str]) -> Callable[[str], str] | None:
    """How to write the date of a line in figures, if the log has dates with words."""
    for line in head:
        if _IDEOGRAPHIC.search(line):
            return lambda text: _IDEOGRAPHIC.sub(_from_signs, text) if "年" in text else text
        for pattern in _WORDS:
            match = pattern.match(line)
            if match and _month(match["m"]) and not _english(line):
                return _from_words(pattern)
    return None


def _english(line: str) -> bool:
    return bool(re.match(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}\b", line))


def _from_signs(match: re.Match[str]) -> str:
    year, month, day, half, hour, minute, second = match.groups()
    clock = int(hour) % 12 + (12 if half in ("下午", "午後") else 0) if half else int(hour)
    return f"{year}-{int(month):02}-{int(day):02} {clock:02}:{minute}:{second}"


def _from_words(pattern: re.Pattern[str]) -> Callable[[str], str]:
    def change(text: str) -> str:
        match = pattern.match(text)
        month = _month(match["m"]) if match else 0
        if not match or not month:
            return text
        clock = next(part for part in match.groups() if part and ":" in part)
        return f"{match['y']}-{month:02}-{int(match['d']):02} {clock}" + text[match.end() :]

    return change


def _month(word: str) -> int:
    """1 to 12, or 0; by the first letters in ten languages."""
    return next(
        (n for n, known in enumerate(_MONTHS, 1) if re.match(known, word, re.IGNORECASE)), 0
    )
