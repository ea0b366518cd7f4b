"""④ How far the mean of a series over time may be off: the moving-block bootstrap.

Readings a second apart are not independent, so whole blocks of them are drawn (Künsch, 1989). A
block is as long as the series remembers: twice its autocorrelation time, the sum of its
autocorrelations up to the first that is not positive (Geyer's initial sequence, 1992, by single
lags). A series of few blocks says little of its own spread; Student's quantile for as many blocks
less one makes up for that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

DRAWS = 2000
LEAST_BLOCKS = 3
_Z = 1.959964
_SEED = 20260301


@dataclass(frozen=True)
class Mean:
    """A mean by duration, and half the width of its interval of 95 %; None if too little is known.

    `blocks` is how many independent stretches the series is worth.
    """

    value: float
    half: float | None
    blocks: int


def block_mean(values: Array, weight: Array, least: int = 1) -> Mean | None:
    """The mean of `values`, each for as long as `weight` says; None without a reading.

    Readings that are not finite are left out. Blocks have `least` readings or more.
    """
    valid = np.isfinite(values) & (weight > 0)
    values, weight = values[valid], weight[valid]
    count = len(values)
    if not count:
        return None
    mean = float(np.average(values, weights=weight))
    length = max(least, math.ceil(2 * memory(values)), 1)
    blocks = count // length
    if blocks < LEAST_BLOCKS:
        return Mean(mean, None, blocks)
    spread = _spread(values - mean, weight, length, blocks)
    return Mean(mean, student(blocks - 1) * spread, blocks)


def memory(values: Array) -> float:
    """The autocorrelation time in readings: 0.5 of a series whose readings are independent."""
    if np.ptp(values) <= 1e-9 * float(np.abs(values).max()):  # what is left is rounding
        return 0.5
    centred = values - values.mean()
    count = len(centred)
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    products = np.fft.irfft(spectrum * np.conj(spectrum), size)[:count]
    correlations = products / products[0]
    ends = np.flatnonzero(correlations <= 0)
    last = int(ends[0]) if len(ends) else count
    return 0.5 + float(correlations[1:last].sum())


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t (Abramowitz and Stegun 26.7.5, to two terms)."""
    first = (_Z**3 + _Z) / 4
    second = (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96
    return _Z + first / freedom + second / freedom**2


def _spread(centred: Array, weight: Array, length: int, blocks: int) -> float:
    """The standard error of the mean from blocks that are drawn with replacement."""
    amount = np.concatenate(([0.0], np.cumsum(centred * weight)))
    time = np.concatenate(([0.0], np.cumsum(weight)))
    starts = np.random.default_rng(_SEED).integers(
        0, len(centred) - length + 1, size=(DRAWS, blocks)
    )
    drawn = (amount[starts + length] - amount[starts]).sum(axis=1)
    drawn /= (time[starts + length] - time[starts]).sum(axis=1)
    # blocks of one sample vary around its own mean, which takes one of them
    return float(drawn.std()) * math.sqrt(blocks / (blocks - 1))
