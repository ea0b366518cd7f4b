"""What can be completed: every command, its options and what they take, read from the parsers."""

from __future__ import annotations

import argparse
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from gpudiag import commands

# endings of the files that a command reads; a file with another ending is offered if none fits
LOGS = ("csv", "csv.gz", "gz", "log", "txt", "xml", "json", "jsonl", "prom", "tsv", "out")
_ENDINGS = {
    "thresholds": ("toml",),
    "file": LOGS,
    "files": LOGS,
    "paths": ("toml",),
    "before": LOGS,
    "after": LOGS,
}
_FILES = ("FILE", "PATH", "RUN", "LOG")


@dataclass(frozen=True)
class Takes:
    """What a word may be: one of `words`, or (`what`) a file with an ending, a folder, anything."""

    what: str = "any"  # words, file, folder, any
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """The spellings of an option; `takes` is None if it takes no value."""

    flags: tuple[str, ...]
    help: str
    takes: Takes | None


@dataclass(frozen=True)
class Command:
    """A command or an action of one; `path` is "report" or "rules show", "" for gpudiag itself.

    `runs` says that the first word that is no option starts a command line of the user's own.
    """

    path: str
    help: str
    options: tuple[Option, ...]
    takes: Takes | None
    actions: tuple[Command, ...]
    runs: bool


def grammar() -> Command:
    """The whole command line of gpudiag."""
    found = []
    for module_info in pkgutil.iter_modules(commands.__path__):
        module = import_module(f"{commands.__name__}.{module_info.name}")
        if not hasattr(module, "NAME"):
            continue  # what several commands share
        parser = argparse.ArgumentParser(prog=module.NAME, allow_abbrev=False)
        module.add_arguments(parser)
        found.append(_command(parser, module.NAME, module.HELP))
    options = (
        Option(("-h", "--help"), "show the help", None),
        Option(("--version",), "show the version", None),
    )
    return Command("", "", options, None, tuple(found), False)


def every(command: Command) -> Iterator[Command]:
    """The command and all below it."""
    yield command
    for action in command.actions:
        yield from every(action)


def _command(parser: argparse.ArgumentParser, path: str, about: str) -> Command:
    options: list[Option] = []
    takes: Takes | None = None
    actions: list[Command] = []
    runs = False
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):
            abouts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            actions += [
                _command(below, f"{path} {name}", abouts.get(name, ""))
                for name, below in action.choices.items()
            ]
        elif action.option_strings:
            value = None if action.nargs == 0 else _takes(action)
            options.append(Option(tuple(action.option_strings), _plain(action), value))
        elif action.nargs == argparse.REMAINDER:
            runs = True
        elif takes is None:
            takes = _takes(action)
    return Command(path, about, tuple(options), takes, tuple(actions), runs)


def _takes(action: argparse.Action) -> Takes:
    if action.choices is not None:
        return Takes("words", tuple(map(str, action.choices)))
    metavar: Any = action.metavar
    if metavar == "DIR" and action.dest != "paths":
        return Takes("folder")
    if action.dest in _ENDINGS:
        return Takes("file", _ENDINGS[action.dest])
    if isinstance(metavar, str) and metavar.startswith(_FILES):
        return Takes("file")
    return Takes()


def _plain(action: argparse.Action) -> str:
    """The help of an option in one line, its holes filled."""
    text = (action.help or "") % {**vars(action), "prog": "gpudiag"}
    return " ".join(text.split())
