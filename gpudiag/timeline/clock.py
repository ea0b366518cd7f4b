"""② Wall-clock times as logs write them: in a cell, before a row, or on a line of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pandas as pd

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
# A comma before thousandths is that of Python's logging; any other one ends a cell.
_PART = r"(?:\.\d{1,9}|,\d{3}(?=[\]:| ])(?! ?(?:%|[MG]i?B|W\b|MHz)))?"
_HOUR = rf"\d{{1,2}}:\d{{2}}(?::\d{{2}}{_PART})?(?: ?[AaPp][Mm])?"
_ZONE = r"(?: ?(?:Z\b|[+-]\d{2}:?\d{2}\b|[A-Z]{3,5}\b))?"
DATE = (
    rf"(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}[ T_]{_HOUR}{_ZONE}"
    rf"|(?:{_DAY},? )?\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}},?[ T]{_HOUR}{_ZONE}"
    rf"|{_DAY} +{_MONTH} +\d{{1,2}} +{_HOUR}{_ZONE} \d{{4}}"
    rf"|{_DAY},? +\d{{1,2}} +{_MONTH} +\d{{4}},? +{_HOUR}{_ZONE})"
)
_STAMP = re.compile(rf"\W{{0,2}}({DATE}|1\d{{9}}(?:\.\d+)?(?=\s*[\]:;|]?\s*$|: ))\W{{0,2}}(.*)")
_DAY_ALONE = re.compile(
    rf"(?:{_DAY},? )?\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}|\d{{4}}[-/]\d\d[-/]\d\d"
)
_HOUR_ALONE = re.compile(_HOUR)
_CELL = re.compile(rf"{DATE}|1\d{{9}}(?:\.\d+)?|1\d{{12}}")
_NAMED_ZONE = re.compile(r" (?!AM|PM)[A-Z]{3,5}(?= |$)")
_EITHER = re.compile(r"(\d{1,2})[-/](\d{1,2})[-/]\d{4}\b")
_EPOCH = re.compile(r"\d{1,9}(?:\.\d+)?|1\d{9}(?:\.\d+)?|1\d{12}")

_FORMATS = (
    "%Y-%m-%d %I:%M:%S %p",
    "%a %b %d %H:%M:%S %Y",
    "%a %b %d %I:%M:%S %p %Y",
    "%a %d %b %Y %H:%M:%S",
    "%a %d %b %Y %I:%M:%S %p",
)
_DAY_FORMATS = (
    ("%d-%m-%Y", "%m-%d-%Y"),
    ("%m/%d/%Y", "%d/%m/%Y"),
    ("%d.%m.%Y", "%m.%d.%Y"),
)


def is_time(cell: str) -> bool:
    """Whether the cell is a date with a time of day, or seconds since 1970."""
    return bool(_CELL.fullmatch(cell))


def stamp(line: str) -> tuple[str, str] | None:
    """The date that `line` starts with, and what follows it; None if it starts with none.

    A date that a comma follows is the first cell of a row, not a prefix.
    """
    match = _STAMP.fullmatch(line)
    if not match or line[match.end(1) : match.end(1) + 1] == ",":
        return None
    return match[1], match[2].strip()


def day_or_hour(line: str) -> tuple[str, str] | None:
    """("day" or "hour", text) of a line that holds only one half of a date (Windows `date /T`)."""
    if _DAY_ALONE.fullmatch(line):
        return "day", line
    if _HOUR_ALONE.fullmatch(line):
        return "hour", line
    return None


def seconds(texts: Sequence[str]) -> np.ndarray:
    """Seconds for each text (float64; since 1970 for dates, NaN where it is no time).

    A date without a zone counts as if it were UTC, so only differences mean anything.
    """
    fixed = _fixed(texts)
    if fixed is not None:
        return fixed
    series = pd.Series(texts, dtype="object").astype(str).str.strip()
    if any("," in text for text in series):
        series = series.str.replace(r"(\d),(\d)", r"\1.\2", regex=True)
        series = series.str.replace(",", "", regex=False)
    out = np.full(len(series), np.nan)
    plain = series.str.fullmatch(_EPOCH).to_numpy(dtype=bool)
    if plain.any():
        figures = series[plain].astype("float64").to_numpy()
        out[plain] = np.where(figures > 1e11, figures / 1e3, figures)
    rest = ~plain
    if rest.any():
        out[rest] = _dates(series[rest])
    return out


def day_or_month(texts: Sequence[str]) -> list[str]:
    """A note about dates that do not tell the day from the month; none if they do.

    `12.01.2026` is the day first wherever people write dots.
    """
    for text in texts:
        match = _EITHER.match(text)
        if not match or int(match[1]) > 12 or int(match[2]) > 12 or match[1] == match[2]:
            return []
    if not len(texts):
        return []
    moment = iso(float(seconds(texts[:1])[0])) or ""
    return [f"Dates such as {texts[0][:10]} do not tell day from month; read as {moment[:10]}."]


def _fixed(texts: Sequence[str]) -> np.ndarray | None:
    """The common case, nvidia-smi's own `2026/03/01 10:00:00.123` in every cell, ten times faster.

    None if any text differs from that shape.
    """
    if not len(texts) or len(texts[0]) not in (19, 23) or len(set(map(len, texts))) > 1:
        return None
    width = len(texts[0])
    try:
        table = np.array(texts, dtype=f"S{width}").view("u1").reshape(len(texts), width)
    except UnicodeEncodeError:
        return None
    marks = [4, 7, 10, 13, 16, 19][: 5 if width == 19 else 6]
    if (table[:, marks] != table[0, marks]).any() or bytes(table[0, marks])[:5] not in (
        b"// ::",
        b"-- ::",
    ):
        return None
    digits = np.delete(table, marks, axis=1).astype("int64") - 48
    if (digits < 0).any() or (digits > 9).any():
        return None
    year = digits[:, :4] @ np.array([1000, 100, 10, 1])
    month, day, hour, minute, second = (digits[:, k : k + 2] @ [10, 1] for k in (4, 6, 8, 10, 12))
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype("int64") + day - 1
    last = (months + 1).astype("datetime64[D]").astype("int64")
    wrong = (month < 1) | (month > 12) | (day < 1) | (days >= last) | (hour > 23) | (minute > 59)
    if (wrong | (second > 60)).any():
        return None
    whole = days * 86400 + hour * 3600 + minute * 60 + second
    part = digits[:, 14:17] @ np.array([100, 10, 1]) / 1e3 if width == 23 else 0.0
    return np.asarray(whole + part, dtype="float64")


def _dates(series: pd.Series) -> np.ndarray:
    first = series.str.replace("/", "-", n=2, regex=False)
    out = _as_seconds(pd.to_datetime(first, format="ISO8601", errors="coerce", utc=True))
    if not np.isnan(out).any():
        return out
    tidy = series.str.replace(_NAMED_ZONE, "", regex=True).str.replace(r"\s+", " ", regex=True)
    for text_format in _FORMATS:
        _fill(out, tidy, [text_format])
    for day_first, day_second in _DAY_FORMATS:
        for hour in ("%H:%M:%S", "%H:%M:%S.%f", "%H:%M", "%I:%M:%S %p", "%I:%M %p"):
            _fill(out, tidy, [f"%a {day_first} {hour}", f"%a {day_second} {hour}"], weekday=True)
            _fill(out, tidy, [f"{day_first} {hour}", f"{day_second} {hour}"])
    iso = tidy.str.replace("[/.]", "-", n=2, regex=True).str.replace("_", " ", regex=False)
    more = _as_seconds(pd.to_datetime(iso, format="ISO8601", errors="coerce", utc=True))
    return np.where(np.isnan(out), more, out)


def _fill(out: np.ndarray, texts: pd.Series, formats: Sequence[str], weekday: bool = False) -> None:
    """Read what is still NaN by that one of `formats` which understands the most.

    pandas does not check a weekday against its date; it decides between day and month first.
    Where both understand all, that one holds by which less time passes between first and last.
    """
    open_at = np.flatnonzero(np.isnan(out))
    if not len(open_at):
        return
    left = texts.iloc[open_at]
    best, most = None, (0, float("-inf"))
    for text_format in formats:
        dates = pd.to_datetime(left, format=text_format, errors="coerce", utc=True)
        if weekday:
            dates = dates.where(dates.dt.strftime("%a") == left.str[:3])
        count = int(dates.notna().sum())
        passed = (dates.max() - dates.min()).total_seconds() if count else 0.0
        if (count, -passed) > most and count:
            best, most = dates, (count, -passed)
    if best is not None:
        out[open_at] = _as_seconds(best)


def _as_seconds(dates: pd.Series) -> np.ndarray:
    figures = dates.to_numpy(dtype="datetime64[us]").astype("int64") / 1e6
    return np.where(dates.isna().to_numpy(), np.nan, figures)


def iso(moment: float) -> str | None:
    """`2026-03-01T10:00:00.123` of seconds since 1970; None for times that are no dates."""
    if not 3e8 < moment < 8e9:
        return None
    text = datetime.fromtimestamp(round(moment, 3), UTC).replace(tzinfo=None)
    return text.isoformat(timespec="milliseconds")
