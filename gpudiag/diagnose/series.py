"""④ The notation of the series in a rule's tests: `"(95*1 20*4)*60 _*5 0..100*20"`.

`V*N` is V, N times; `A..B*N` a straight line of N samples from A to B; `(…)*N` repeats a group;
`_` is a missing reading. A token without `*N` stands for one sample.
"""

from __future__ import annotations

import re

import numpy as np

from gpudiag.diagnose.functions import Array

MAX_SAMPLES = 100_000
MAX_LENGTH = 4000
MAX_DEPTH = 10
_FIGURE = r"[+-]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})"
_TOKEN = re.compile(
    r"\s*(?:(?P<open>\()|(?:(?P<close>\))|(?P<missing>_)"
    rf"|(?P<low>{_FIGURE})(?:\.\.(?P<high>{_FIGURE}))?)"
    r"(?:\s*\*\s*(?P<times>\d{1,7}))?(?=[\s)]|\Z))\s*",
    re.ASCII,
)


class SeriesError(ValueError):
    """What is wrong with a series, and at which column (from 1)."""

    def __init__(self, problem: str, column: int) -> None:
        super().__init__(f"column {column}: {problem}")


def parse_series(text: str) -> Array:
    """The samples of `text`, NaN where missing. Raises SeriesError; at most 100 000 samples."""
    if len(text) > MAX_LENGTH:
        raise SeriesError(f"longer than {MAX_LENGTH} characters", MAX_LENGTH + 1)
    groups: list[list[Array]] = [[]]
    sizes = [0]
    position = 0
    while position < len(text.rstrip()):
        token = _TOKEN.match(text, position)
        column = position + 1
        if token is None:
            raise SeriesError("expected a figure, A..B*N, '_' or a group in parentheses", column)
        position = token.end()
        times = int(token["times"] or 1)
        if token["open"]:
            if len(groups) > MAX_DEPTH:
                raise SeriesError(f"groups more than {MAX_DEPTH} deep", column)
            groups.append([])
            sizes.append(0)
            continue
        if token["close"]:
            if len(groups) == 1:
                raise SeriesError("a ')' too many", column)
            samples = _joined(groups.pop())
            sizes.pop()
            _limit(samples.size * times, column)
            made = np.tile(samples, times)
        else:
            _limit(times, column)
            made = _samples(token, times)
        groups[-1].append(made)
        sizes[-1] += made.size
        _limit(sizes[-1], column)
    if len(groups) > 1:
        raise SeriesError("a '(' is never closed", len(text) + 1)
    samples = _joined(groups[0])
    if not samples.size:
        raise SeriesError("no sample", 1)
    return samples


def _samples(token: re.Match[str], times: int) -> Array:
    if token["missing"]:
        return np.full(times, np.nan)
    low = float(token["low"])
    return np.linspace(low, low if token["high"] is None else float(token["high"]), times)


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.empty(0)


def _limit(samples: int, column: int) -> None:
    if samples > MAX_SAMPLES:
        raise SeriesError(f"more than {MAX_SAMPLES} samples", column)
