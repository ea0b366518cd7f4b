"""⑤ The page: one file, no network, no script needed."""

from __future__ import annotations

import base64
import hashlib
import re

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gpudiag.report.view import View
from gpudiag.report.words import sentence
from gpudiag.resources import templates_dir

_FIGURE = re.compile(r"(?<=\d) (?=(?:%|×|[GMK]iB|GPU|ms|s|min|h|W|MHz|°C)(?!\w))")

_SCRIPTS = ("copy.js", "readout.js")


def render_html(view: View) -> str:
    """The page as text: the same for the same view, byte for byte.

    Its Content-Security-Policy allows this one style sheet and this one script, by their hashes.
    """
    folder = templates_dir()
    style = (folder / "style.css").read_text(encoding="utf-8")
    script = "".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["tied"] = _tied
    environment.filters["capital"] = sentence
    environment.filters["svg"] = Markup  # only for View figures, which hold no text of outside
    page = environment.get_template("report.html.j2").render(
        view=view,
        style=Markup(style),
        script=Markup(script),
        policy=(
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
    )
    return page.rstrip("\n") + "\n"


def _tied(text: str) -> str:
    """The text with figures tied to their units: `64 %` must not be torn apart at a line's end."""
    return _FIGURE.sub("\N{NO-BREAK SPACE}", text)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
