"""`gpudiag completion`: a static script for a shell, made from the parsers of all commands."""

from __future__ import annotations

import argparse
import sys

NAME = "completion"
HELP = "print the completion script of a shell: commands, options, file names"
EPILOG = """\
examples:
  eval "$(gpudiag completion bash)"          now; add the line to ~/.bashrc to keep it
  eval "$(gpudiag completion zsh)"           the same in ~/.zshrc
  gpudiag completion fish > ~/.config/fish/completions/gpudiag.fish

The script is static: pressing Tab starts no Python. Print it again after an upgrade.
"""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read the script")


def run(args: argparse.Namespace) -> int:
    """Print the script; 0."""
    from gpudiag.commands import completion_bash, completion_fish, completion_zsh
    from gpudiag.commands.completion_words import grammar

    makers = {
        "bash": completion_bash.script,
        "zsh": completion_zsh.script,
        "fish": completion_fish.script,
    }
    sys.stdout.write(makers[args.shell](grammar()))
    return 0
