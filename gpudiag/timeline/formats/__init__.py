"""② The readers of formats other than run.csv and --query-gpu CSV, one file a format.

Each has NAME, recognise(head) and read(log, interval_s); see `gpudiag.timeline.read.Reader`.
"""

from __future__ import annotations

from gpudiag.timeline.formats import (
    captures,
    computeapps,
    dcgmi,
    gpustat,
    homemade,
    prometheus,
    promjson,
    smidmon,
    smipmon,
    smiq,
    smitable,
    smixml,
    wide,
)

READERS = (
    captures,
    smidmon,
    smipmon,
    smitable,
    smiq,
    smixml,
    computeapps,
    dcgmi,
    prometheus,
    promjson,
    gpustat,
    wide,
    homemade,
)
