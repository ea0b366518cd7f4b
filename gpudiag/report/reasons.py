"""⑤ Why something could not be checked, for people: columns by their titles, each reason once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpudiag.gpu_names import listed
from gpudiag.language import retold, tr
from gpudiag.report.clean import clean
from gpudiag.report.labels import label
from gpudiag.report.words import where
from gpudiag.timeline.columns import parse_name

_UNMEASURED = re.compile(r"(\w{1,80}) was not measured(?:: (.*))?", re.ASCII | re.DOTALL)
_NAME = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b", re.ASCII)
_FACTS = {
    "power_limit_w": "the power limit",
    "power_default_limit_w": "the default power limit",
    "power_max_limit_w": "the highest power limit",
    "sm_clock_max_mhz": "the highest SM clock",
    "mem_clock_max_mhz": "the highest memory clock",
    "mem_total_mib": "the size of the memory",
    "pcie_gen_max": "the highest PCIe generation",
    "pcie_lanes_max": "the widest PCIe link",
}


def reasons(missing: Iterable[str]) -> tuple[str, ...]:
    """The reasons in people's words; columns that lack readings for one reason are named together.

    `a_mib was not measured: no group` and `b_mib was not measured: no group` become
    `“A” and “B” were not measured: no group`.
    """
    said: dict[str, list[str]] = {}  # what is left of the sentence, and the columns it holds for
    for text in dict.fromkeys(missing):
        match = _UNMEASURED.fullmatch(text)
        if match and parse_name(match[1]):
            said.setdefault(match[2] or "", []).append(match[1])
        else:
            said.setdefault(text, [])
    return tuple(
        dict.fromkeys(
            clean(_unmeasured(names, why) if names else _NAME.sub(_in_words, retold(why)))
            for why, names in said.items()
        )
    )


def _unmeasured(names: Sequence[str], why: str) -> str:
    devices: dict[str, list[int]] = {}
    for name in names:
        parsed = parse_name(name)
        if parsed:
            column, device = parsed
            devices.setdefault(column.name, []).extend([] if device is None else [device])
    titles = []
    for name, found in devices.items():
        text = label(f"gpu0_{name}" if found else name)
        title = text.title.removeprefix("GPU 0 ") if text else name
        titles.append(
            tr("“{title}” of {gpus}", title=title, gpus=where(sorted(found)))
            if found
            else f"“{title}”"
        )
    what = listed(titles)
    said = (
        tr("{what} was not measured", what=what)
        if len(titles) == 1
        else tr("{what} were not measured", what=what)
    )
    reason = _NAME.sub(_in_words, retold(why)) if why else ""
    return tr("{said}: {reason}", said=said, reason=reason) if reason else said


def _in_words(match: re.Match[str]) -> str:
    """A column or fact by its title; another name as it stands."""
    name = match[0]
    if name in _FACTS:
        return tr(_FACTS[name])
    found = label(name) or label(name.replace("gpu_", "gpu0_", 1))
    return f"“{found.title.removeprefix('GPU 0 ')}”" if found else name
