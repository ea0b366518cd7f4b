"""② What is recognised but holds nothing that can be read: one clear line instead of a guess."""

from __future__ import annotations

import re

_M = re.MULTILINE
# What it is called, and what tells it. The first that matches counts.
FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("an XML document that is no nvidia-smi log", re.compile(r"\A\s*<\?xml")),
    ("an HTML page", re.compile(r"\A\s*<(?:!DOCTYPE html|html)", re.IGNORECASE)),
    ("a list of GPUs (nvidia-smi -L)", re.compile(r"\AGPU \d+: .+ \(UUID: GPU-")),
    ("a log of docker stats", re.compile(r"\A[^\n]*\bcontainer\b[^\n]*cpu", re.IGNORECASE)),
    ("an Ascend log (npu-smi)", re.compile(r"\bnpu-smi\b")),
    ("an AMD log (rocm-smi)", re.compile(r"ROCm System Management Interface|\brocm-smi\b|amd-smi")),
    ("a log of the CPU and the memory without a GPU", re.compile(r"\A[^\n]*\bCPU: [\d.]+ ?%")),
)


def name_of(head: str) -> str:
    """What the text that starts with `head` is; empty if that is not known."""
    return next((name for name, pattern in FORMATS if pattern.search(head)), "")
