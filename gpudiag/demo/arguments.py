"""① The command line of the simulated nvidia-smi, in all the spellings that people use."""

from __future__ import annotations

from typing import NamedTuple

DEFAULT_LOOP_S = 5.0  # `-l` without a figure
_NAMES = {
    "-l": "loop",
    "--loop": "loop",
    "-lms": "loop_ms",
    "--loop-ms": "loop_ms",
    "-i": "id",
    "--id": "id",
    "-f": "filename",
    "--filename": "filename",
    "--format": "format",
    "--query-gpu": "query_gpu",
    "--query-compute-apps": "query_apps",
    "--query-apps": "query_apps",
    "-L": "list",
    "--list-gpus": "list",
    "-h": "help",
    "--help": "help",
    "--version": "version",
    "--help-query-gpu": "help_query_gpu",
    "--help-query-compute-apps": "help_query_apps",
    "-x": "xml",
    "--xml-format": "xml",
}
_TAKES_VALUE = {"loop", "loop_ms", "id", "filename", "format", "query_gpu", "query_apps"}
_VALUE_OPTIONAL = {"loop", "loop_ms"}


class ArgumentsError(Exception):
    """The text that the tool prints on stdout before it ends with exit code 2."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Arguments(NamedTuple):
    """What is asked: `action` is one of table, list, help, version, help_query_gpu,
    help_query_apps, query_gpu, query_apps; `loop_s` is None for one pass."""

    action: str
    query: str
    header: bool
    units: bool
    loop_s: float | None
    ids: str | None
    filename: str | None


def parse(argv: list[str]) -> Arguments:
    """Raises ArgumentsError."""
    told: dict[str, str] = {}
    left = list(argv)
    while left:
        word = left.pop(0)
        spelling, equals, value = word.partition("=")
        name = _NAMES.get(spelling)
        if name is None or (equals and name not in _TAKES_VALUE):
            raise ArgumentsError(
                "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n"
                if word.startswith("-")
                else f"ERROR: Option {word} is not recognized. Please run 'nvidia-smi -h'.\n\n"
            )
        if name in _TAKES_VALUE and not equals:
            value = left.pop(0) if left and not left[0].startswith("-") else ""
            if not value and name not in _VALUE_OPTIONAL:
                raise ArgumentsError(f"ERROR: Option {word} requires an argument.\n\n")
        told[name] = value
    return _arguments(told)


def _arguments(told: dict[str, str]) -> Arguments:
    actions = [name for name in told if name not in _TAKES_VALUE or name.startswith("query_")]
    queries = [name for name in actions if name.startswith("query_")]
    if len(actions) > 1 or bool(queries) != ("format" in told) or "xml" in told:
        raise ArgumentsError(
            "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n"
        )
    formats = told.get("format", "csv").split(",")
    if formats[0] != "csv" or not set(formats[1:]) <= {"noheader", "nounits"}:
        raise ArgumentsError(f'Format "{told["format"]}" is not a valid format.\n\n')
    action = actions[0] if actions else "table"
    return Arguments(
        action,
        told.get(action, "") if queries else "",
        "noheader" not in formats,
        "nounits" not in formats,
        _loop(told),
        told.get("id"),
        told.get("filename"),
    )


def _loop(told: dict[str, str]) -> float | None:
    if "loop" not in told and "loop_ms" not in told:
        return None
    name, scale, default = (
        ("loop_ms", 1e-3, 0.0) if "loop_ms" in told else ("loop", 1.0, DEFAULT_LOOP_S)
    )
    text = told[name]
    if text and not text.isdigit():
        raise ArgumentsError(f"Invalid loop interval: {text}\n\n")
    return int(text) * scale if text else default
