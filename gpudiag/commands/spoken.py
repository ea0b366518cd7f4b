"""The option --lang, and the language in which a command speaks."""

from __future__ import annotations

import argparse
import os
from contextlib import AbstractContextManager

from gpudiag.language import LANGUAGES, from_environment, speaking


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Declare --lang."""
    parser.add_argument(
        "--lang", choices=LANGUAGES,
        help="language of the output: en, zh (default: of the locale in a terminal, else en)",
    )  # fmt: skip


def language(args: argparse.Namespace, *, terminal: bool = True) -> AbstractContextManager[None]:
    """Speak as --lang says; without it as the locale does, or English in what is no `terminal`
    text: a file is read by others too."""
    chosen = args.lang or (from_environment(os.environ) if terminal else "en")
    return speaking(chosen)
