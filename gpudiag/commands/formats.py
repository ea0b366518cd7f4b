"""The options of commands that write a page or another format, and whose a file is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpudiag.errors import UsageError

if TYPE_CHECKING:
    from gpudiag.report import Format

_OUR_MARKS = (b'name="generator" content="gpudiag', b'"made_by": "gpudiag ', b"<!-- gpudiag ")
_VERDICTS = tuple(
    f"{sign}\n".encode()
    for sign in (
        "! Problem", "✓ Healthy", "? Cannot tell", "! 有问题", "✓ 健康", "? 无法判断",
        "↑ Faster", "↓ Slower", "= No difference shown", "↑ 更快", "↓ 更慢", "= 没有显示出差异",
    )
)  # fmt: skip
_SEARCHED_BYTES = 4 << 20
_ENDINGS: dict[str, Format] = {
    ".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".markdown": "markdown",
    ".txt": "text",
}  # fmt: skip
_NOT_OURS = (".pdf", ".png", ".jpg", ".jpeg", ".svg", ".csv", ".docx", ".xlsx")


def add_output_arguments(parser: argparse.ArgumentParser, where: str, default: str) -> None:
    """Declare -o, --format, --open and --force."""
    parser.add_argument("-o", "--output", metavar="OUT", help=where)
    parser.add_argument(
        "--format", choices=("html", "json", "markdown", "text"),
        help=f"default: by the ending of OUT (.html, .json, .md, .txt), else {default}",
    )  # fmt: skip
    parser.add_argument("--open", action="store_true", help="then open the page in the browser")
    parser.add_argument(
        "--force", action="store_true", help="replace OUT even if gpudiag did not make it"
    )


def chosen(args: argparse.Namespace, default: Format) -> Format:
    """The format that the options ask for. Raises UsageError for an ending of another kind."""
    if args.format:
        return cast("Format", args.format)
    if args.output in (None, "-"):
        return default
    ending = Path(args.output).suffix.lower()
    if ending in _NOT_OURS:
        raise UsageError(
            f"a report cannot be written as {ending}",
            "write .html and print it, or say --format",
        )
    return _ENDINGS.get(ending, "html")


def ours(target: Path) -> bool:
    """Whether `target` is empty or something that gpudiag made."""
    with target.open("rb") as file:
        content = file.read(_SEARCHED_BYTES)
    return (
        not content or any(mark in content for mark in _OUR_MARKS) or content.startswith(_VERDICTS)
    )


def open_page(page: Path) -> None:
    """Open it in the browser, or say that there is none."""
    import webbrowser

    try:
        opened = webbrowser.open(page.resolve().as_uri())
    except (OSError, webbrowser.Error):
        opened = False
    if not opened:
        print("no browser was found here: open the file yourself", file=sys.stderr)
