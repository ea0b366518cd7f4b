"""② Formats that are recognised but not readable yet: one clear line instead of a guess."""

from __future__ import annotations

import re

_M = re.MULTILINE
# What it is called, and what tells it. The first that matches counts.
FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("an XML document that is no nvidia-smi log", re.compile(r"\A\s*<\?xml")),
    ("an HTML page", re.compile(r"\A\s*<(?:!DOCTYPE html|html)", re.IGNORECASE)),
    ("a dcgmi dmon log", re.compile(r"^#\s*Entity\s+\w+", _M)),
    ("a Prometheus answer (JSON)", re.compile(r"\A\s*\{\s*\"status\"\s*:\s*\"success\"")),
    ("metrics of a Prometheus exporter", re.compile(r"^# (?:HELP|TYPE) \w+", _M)),
    ("a gpustat --json log", re.compile(r"\A\s*\{[^{}]*\"gpus\"\s*:", re.DOTALL)),
    ("a W&B system metrics log", re.compile(r"\A\s*\{.*\"system\.gpu\.\d+\.")),
    ("a con/duct usage log", re.compile(r"\A\s*\{\"timestamp\".*\"num_samples\".*\"processes\"")),
    ("a gpustat log", re.compile(r"^\[\d+\] .+\|\s*\d+\D{1,3}C,\s*\d+ %", _M)),
    ("a log of docker stats", re.compile(r"\A[^\n]*\bcontainer\b[^\n]*cpu", re.IGNORECASE)),
    ("a sar log", re.compile(r"^Linux \d\S+ \(\S+\)|^\S+(?: [AP]M)?\s+CPU\s+%user", _M)),
    ("a psrecord log", re.compile(r"\A# Elapsed time\s+CPU \(%\)")),
)


def name_of(head: str) -> str:
    """What the text that starts with `head` is; empty if that is not known."""
    return next((name for name, pattern in FORMATS if pattern.search(head)), "")
