"""The completion script for bash, from version 3.2 (macOS) on; it needs no bash-completion."""

from __future__ import annotations

from gpudiag import __version__
from gpudiag.commands.completion_words import Command, Takes, every

_SCRIPT = r"""# bash completion of gpudiag @VERSION@; made by: gpudiag completion bash

# sets for the command $1: its actions, flags, flags with a value, what it takes, whether it runs
_gpudiag_command() {
  _gpudiag_actions='' _gpudiag_flags='' _gpudiag_valued='' _gpudiag_takes='any' _gpudiag_runs=''
  case "$1" in
@COMMANDS@
  esac
}

# what the option $2 of the command $1 takes
_gpudiag_value() {
  case "$1:$2" in
@VALUES@
    *) _gpudiag_takes='any' ;;
  esac
}

# COMPREPLY from what is taken ($1) for the word $2
_gpudiag_offer() {
  local kind="${1%%:*}" rest="${1#*:}" line ending
  case "$kind" in
    words) COMPREPLY=($(compgen -W "$rest" -- "$2")) ;;
    folder)
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$2") ;;
    file)
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do
        if [ -d "$line" ]; then COMPREPLY+=("$line"); continue; fi
        for ending in $rest; do
          case "$line" in *."$ending") COMPREPLY+=("$line"); break ;; esac
        done
      done < <(compgen -f -- "$2")
      if [ "${#COMPREPLY[@]}" -eq 0 ]; then
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$2")
      fi ;;
  esac
}

_gpudiag() {
  local _gpudiag_actions _gpudiag_flags _gpudiag_valued _gpudiag_takes _gpudiag_runs
  local cur="${COMP_WORDS[COMP_CWORD]}" path='' word at=1 waits='' after='' line
  COMPREPLY=()
  _gpudiag_command ''
  while [ "$at" -lt "$COMP_CWORD" ]; do
    word="${COMP_WORDS[at]}"
    if [ "$word" = '=' ]; then at=$((at + 1)); [ "$at" -lt "$COMP_CWORD" ] && waits=''; continue; fi
    if [ -n "$waits" ]; then
      waits=''
    elif [ "$word" = '--' ]; then
      after=1
      if [ -n "$_gpudiag_runs" ]; then at=$((at + 1)); break; fi
    elif [ -z "$after" ] && [ "${word:0:1}" = '-' ]; then
      case " $_gpudiag_valued " in *" $word "*) waits="$word" ;; esac
    elif [ -n "$_gpudiag_runs" ]; then
      after=1
      break
    else
      case " $_gpudiag_actions " in
        *" $word "*) path="${path:+$path }$word"; _gpudiag_command "$path" ;;
      esac
    fi
    at=$((at + 1))
  done
  if [ -n "$_gpudiag_runs" ] && [ -z "$waits" ] && { [ -n "$after" ] || [ "${cur:0:1}" != '-' ]; }
  then
    if [ "$at" -lt "$COMP_CWORD" ] && declare -F _command_offset >/dev/null; then
      _command_offset "$at"
    else
      compopt -o filenames 2>/dev/null
      [ "$at" -ge "$COMP_CWORD" ] && COMPREPLY=($(compgen -c -- "$cur"))
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
    fi
    return
  fi
  if [ -n "$waits" ]; then
    [ "$cur" = '=' ] && cur=''
    _gpudiag_value "$path" "$waits"
    _gpudiag_offer "$_gpudiag_takes" "$cur"
  elif [ -z "$after" ] && [ "${cur:0:1}" = '-' ]; then
    COMPREPLY=($(compgen -W "$_gpudiag_flags" -- "$cur"))
  elif [ -n "$_gpudiag_actions" ]; then
    COMPREPLY=($(compgen -W "$_gpudiag_actions" -- "$cur"))
  else
    _gpudiag_offer "$_gpudiag_takes" "$cur"
  fi
}

complete -F _gpudiag gpudiag
"""


def script(gpudiag: Command) -> str:
    """The script."""
    commands, values = [], []
    for command in every(gpudiag):
        flags = [flag for option in command.options for flag in option.flags]
        valued = [flag for option in command.options if option.takes for flag in option.flags]
        below = [action.path.split()[-1] for action in command.actions]
        commands.append(
            f"    {quoted(command.path)})\n"
            f"      _gpudiag_actions={quoted(' '.join(below))}\n"
            f"      _gpudiag_flags={quoted(' '.join(flags))}\n"
            f"      _gpudiag_valued={quoted(' '.join(valued))}\n"
            f"      _gpudiag_takes={quoted(taken(command.takes))}\n"
            f"      _gpudiag_runs={quoted('1' if command.runs else '')} ;;"
        )
        for option in command.options:
            if option.takes is not None:
                names = "|".join(quoted(f"{command.path}:{flag}") for flag in option.flags)
                values.append(f"    {names}) _gpudiag_takes={quoted(taken(option.takes))} ;;")
    text = _SCRIPT.replace("@VERSION@", __version__)
    return text.replace("@COMMANDS@", "\n".join(commands)).replace("@VALUES@", "\n".join(values))


def taken(takes: Takes | None) -> str:
    """`words:a b`, `file:csv log`, `folder:`, `any:`."""
    return "any:" if takes is None else f"{takes.what}:{' '.join(takes.words)}"


def quoted(text: str) -> str:
    """In single quotes, for any POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"
