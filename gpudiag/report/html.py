"""⑤ The page: one file, no network, no script needed."""

from __future__ import annotations

import base64
import hashlib
import json
import re

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gpudiag.language import current, tr
from gpudiag.report.view import View
from gpudiag.report.words import sentence, state_words
from gpudiag.resources import templates_dir

_FIGURE = re.compile(r"(?<=\d) (?=(?:%|×|[GMK]iB|GPU|ms|s|min|h|W|MHz|°C)(?!\w))")

_SAID = ("Copy", "Copied", "Selected", "Copy this code", "no reading", "dashed")  # by the scripts
_CHINESE_FONTS = '"PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", '
_SCRIPTS = ("copy.js", "readout.js")


def render_html(view: View) -> str:
    """The page as text: the same for the same view, byte for byte."""
    return render_page("report.html.j2", view=view)


def render_page(template: str, **content: object) -> str:
    """A template of the folder filled with `content`, with the style sheet and the scripts.

    Its Content-Security-Policy allows this one style sheet and this one script, by their hashes.
    """
    folder = templates_dir()
    style = (folder / "style.css").read_text(encoding="utf-8")
    if current() == "zh":
        style = style.replace("sans-serif;", f"{_CHINESE_FONTS}sans-serif;", 1)
    script = "".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    for text in _SAID:
        script = script.replace(f'"{text}"', json.dumps(tr(text), ensure_ascii=False))
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["tr"] = _translated
    environment.globals["state_words"] = state_words
    environment.filters["tied"] = _tied
    environment.filters["capital"] = sentence
    environment.filters["svg"] = Markup  # only for View figures, which hold no text of outside
    page = environment.get_template(template).render(
        **content,
        language="zh-CN" if current() == "zh" else current(),
        style=Markup(style),
        script=Markup(script),
        policy=(
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
    )
    return page.rstrip("\n") + "\n"


def _translated(text: str, **values: object) -> Markup:
    """The text in the language in use, safe: it stands in a template; the values are escaped."""
    said = Markup(tr(text))
    return said.format(**values) if values else said


def _tied(text: str) -> str:
    """The text with figures tied to their units: `64 %` must not be torn apart at a line's end."""
    tied = _FIGURE.sub("\N{NO-BREAK SPACE}", text)
    return Markup(tied) if isinstance(text, Markup) else tied  # what is escaped stays so, once


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
