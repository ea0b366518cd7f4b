"""⑤ Matplotlib's SVG made fit for a page: classes instead of styles, short paths, a title, no ids.

A strict Content-Security-Policy forbids style attributes, and dark mode needs colours that the
style sheet decides: a group id `t-line f-gpu` becomes `class="t-line f-gpu"`, and every style goes.
Coordinates are rounded to a tenth of a pixel and written as steps, which makes a page a third as
large.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

_SVG = "{http://www.w3.org/2000/svg}"
_CLASS = re.compile(r"t-[a-z]+(?: [a-z]+-[a-z]+)*")
_TOKEN = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[A-Za-z]")


def clean_svg(raw: str, ident: str, title: str, description: str) -> str:
    """An `<svg>` element with role, title and description from what matplotlib wrote.

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
        },
    )
    ET.SubElement(svg, "title", {"id": f"{ident}-title"}).text = title
    ET.SubElement(svg, "desc", {"id": f"{ident}-desc"}).text = description
    _copy(source, svg, "")
    return ET.tostring(svg, encoding="unicode", short_empty_elements=True)


def _copy(source: ET.Element, target: ET.Element, css: str) -> None:
    """Append the paths and texts below `source` that belong to a class."""
    for child in source:
        name = child.tag.removeprefix(_SVG)
        if name == "g":
            ident = child.get("id", "")
            _copy(child, target, ident if _CLASS.fullmatch(ident) else css)
        elif name == "path" and css:
            drawn = shorten(child.get("d", ""))
            if drawn:
                ET.SubElement(target, "path", {"class": css, "d": drawn})
        elif name == "text" and css and child.text:
            _text(child, target, css)


def _text(source: ET.Element, target: ET.Element, css: str) -> None:
    style = dict(
        part.split(": ", 1) for part in source.get("style", "").split("; ") if ": " in part
    )
    place = re.match(r"translate\(([-\d.]+)[ ,]+([-\d.]+)\)", source.get("transform", ""))
    x, y = place.groups() if place else (source.get("x", "0"), source.get("y", "0"))
    attributes = {
        "class": css,
        "x": _short(round(float(x) * 10)),
        "y": _short(round(float(y) * 10)),
    }
    anchor = style.get("text-anchor", "start").rstrip(";")
    if anchor != "start":
        attributes["text-anchor"] = anchor
    ET.SubElement(target, "text", attributes).text = source.text


def shorten(path: str) -> str:
    """The path in tenths of a pixel and steps: `M.5 2l1-.3h4v-2z`; level stretches are joined."""
    out: list[str] = []
    x = y = 0
    command = ""
    numbers: list[int] = []
    level = (0, 0)  # a step along one axis that may still grow
    for token in _TOKEN.findall(path):
        if token.isalpha():
            command = token
            if token in "zZ":
                out += [_step(level), "z"]
                level = (0, 0)
            continue
        numbers.append(round(float(token) * 10))
        if len(numbers) < 2:
            continue
        (new_x, new_y), numbers = numbers, []
        if command == "M":
            out += [_step(level), f"M{_pair(new_x, new_y)}"]
            level = (0, 0)
        elif command == "L":
            dx, dy = new_x - x, new_y - y
            same = (dx == 0 == level[0] and dy * level[1] >= 0) or (
                dy == 0 == level[1] and dx * level[0] >= 0
            )
            if same:
                level = (level[0] + dx, level[1] + dy)
            else:
                out.append(_step(level))
                level = (dx, dy)
            if level == (0, 0) and out[-1].startswith("M"):
                out.append("h0")  # a reading on its own: a dot
        else:
            raise ValueError(f"a path with {command!r}")
        x, y = new_x, new_y
    return "".join([*out, _step(level)])


def _step(step: tuple[int, int]) -> str:
    if step[1] == 0:
        return f"h{_short(step[0])}" if step[0] else ""
    return f"l{_pair(*step)}" if step[0] else f"v{_short(step[1])}"


def _pair(x: int, y: int) -> str:
    first, second = _short(x), _short(y)
    return first + second if second.startswith("-") else f"{first} {second}"


def _short(tenths: int) -> str:
    sign, (whole, rest) = "-" if tenths < 0 else "", divmod(abs(tenths), 10)
    if not rest:
        return f"{sign}{whole}"
    return f"{sign}{whole or ''}.{rest}"
