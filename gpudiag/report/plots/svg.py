"""⑤ Matplotlib's SVG made fit for a page: classes instead of styles, short paths, a title, no ids.

A strict Content-Security-Policy forbids style attributes, and dark mode needs colours that the
style sheet decides: a group id `t-line f-gpu` becomes `class="t-line f-gpu"`, and every style goes.
Coordinates are rounded to a tenth of a pixel and written as steps, which makes a page a third as
large.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple
from xml.etree import ElementTree as ET

_SVG = "{http://www.w3.org/2000/svg}"
_COMMAND = re.compile("[A-Za-z]")
_NO_COMMAND = str.maketrans("MLz", "   ")
_CLASS = re.compile(r"t-[a-z]+(?: [a-z]+-[a-z]+)*")


class Label(NamedTuple):
    """A text of a figure: its class, where its base line starts, is centred or ends, in pixels."""

    css: str
    x: float
    y: float
    text: str
    align: Literal["left", "center", "right"]


def clean_svg(
    raw: str, labels: Iterable[Label], ident: str, title: str, description: str, data: str
) -> str:
    """An `<svg>` element with role, title and description: what matplotlib wrote, under `labels`.

    Raises ValueError on a path that holds anything but straight lines.
    """
    source = ET.fromstring(raw)
    svg = ET.Element(
        "svg",
        {
            "class": "plot",
            "viewBox": source.attrib["viewBox"],
            "role": "img",
            "aria-labelledby": f"{ident}-title {ident}-desc",
            "data-plot": data,
        },
    )
    ET.SubElement(svg, "title", {"id": f"{ident}-title"}).text = title
    ET.SubElement(svg, "desc", {"id": f"{ident}-desc"}).text = description
    _copy(source, svg, "")
    for label in labels:
        _write(label, svg)
    return ET.tostring(svg, encoding="unicode", short_empty_elements=True)


def _copy(source: ET.Element, target: ET.Element, css: str) -> None:
    """Append the paths below `source` that belong to a class."""
    for child in source:
        name = child.tag.removeprefix(_SVG)
        if name == "g":
            ident = child.get("id", "")
            _copy(child, target, ident if _CLASS.fullmatch(ident) else css)
        elif name == "path" and css:
            drawn = shorten(child.get("d", ""))
            if drawn:
                ET.SubElement(target, "path", {"class": css, "d": drawn})


def _write(label: Label, target: ET.Element) -> None:
    attributes = {
        "class": label.css,
        "x": _short(round(label.x * 10)),
        "y": _short(round(label.y * 10)),
    }
    if label.align != "left":
        attributes["text-anchor"] = "middle" if label.align == "center" else "end"
    ET.SubElement(target, "text", attributes).text = label.text


def shorten(path: str) -> str:
    """The path in tenths of a pixel and steps: `M.5 2l1-.3h4v-2z`; level stretches are joined."""
    commands = _COMMAND.findall(path)
    if odd := set(commands) - {"M", "L", "z"}:
        raise ValueError(f"a path with {odd.pop()!r}")
    places = iter(map(round, (float(text) * 10 for text in path.translate(_NO_COMMAND).split())))
    out: list[str] = []
    x = y = along = across = 0  # the last point, and a step along one axis that may still grow
    for command in commands:
        if command == "z":
            out += (_step(along, across), "z")
            along = across = 0
            continue
        old_x, old_y, x, y = x, y, next(places), next(places)
        dx, dy = x - old_x, y - old_y
        if command == "M":
            out += (_step(along, across), "M" + _pair(x, y))
            along = across = 0
        elif (dx == 0 == along and dy * across >= 0) or (dy == 0 == across and dx * along >= 0):
            along += dx
            across += dy
            if along == across == 0 and out[-1].startswith("M"):
                out.append("h0")  # a reading on its own: a dot
        else:
            out.append(_step(along, across))
            along, across = dx, dy
    return "".join([*out, _step(along, across)])


@lru_cache(maxsize=1 << 14)  # most steps are two pixels wide: they recur
def _step(x: int, y: int) -> str:
    if y == 0:
        return f"h{_short(x)}" if x else ""
    return f"l{_pair(x, y)}" if x else f"v{_short(y)}"


def _pair(x: int, y: int) -> str:
    first, second = _short(x), _short(y)
    return first + second if second.startswith("-") else f"{first} {second}"


@lru_cache(maxsize=1 << 14)
def _short(tenths: int) -> str:
    sign, (whole, rest) = "-" if tenths < 0 else "", divmod(abs(tenths), 10)
    if not rest:
        return f"{sign}{whole}"
    return f"{sign}{whole or ''}.{rest}"
