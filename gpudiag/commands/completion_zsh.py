"""The completion script for zsh: to be sourced, or put on the fpath as `_gpudiag`."""

from __future__ import annotations

from gpudiag import __version__
from gpudiag.commands.completion_bash import quoted, taken
from gpudiag.commands.completion_words import Command, every

_SCRIPT = r"""#compdef gpudiag
# zsh completion of gpudiag @VERSION@; made by: gpudiag completion zsh

# sets for the command $1: its actions, flags, flags with a value, what it takes, whether it runs
_gpudiag_command() {
  _gd_actions=() _gd_flags=() _gd_valued=() _gd_takes='any:' _gd_runs=''
  case "$1" in
@COMMANDS@
  esac
}

# what the option $2 of the command $1 takes
_gpudiag_value() {
  case "$1:$2" in
@VALUES@
    *) _gd_takes='any:' ;;
  esac
}

_gpudiag_offer() {
  local kind="${1%%:*}" rest="${1#*:}"
  case "$kind" in
    words) compadd -- ${=rest} ;;
    folder) _files -/ ;;
    file)
      if [[ -n "$rest" ]]; then _files -g "*.(${rest// /|})(-.)" || _files; else _files; fi ;;
    *) _message 'no completion' ;;
  esac
}

_gpudiag() {
  local -a _gd_actions _gd_flags _gd_valued names
  local _gd_takes _gd_runs cur="${words[CURRENT]}" place='' word waits='' after=''
  integer at=2
  _gpudiag_command ''
  while (( at < CURRENT )); do
    word="${words[at]}"
    names=("${(@)_gd_actions%%:*}")
    if [[ -n "$waits" ]]; then
      waits=''
    elif [[ "$word" == '--' ]]; then
      after=1
      if [[ -n "$_gd_runs" ]]; then (( at++ )); break; fi
    elif [[ -z "$after" && "$word" == -* ]]; then
      (( ${_gd_valued[(Ie)$word]} )) && waits="$word"
    elif [[ -n "$_gd_runs" ]]; then
      after=1
      break
    elif (( ${names[(Ie)$word]} )); then
      place="${place:+$place }$word"
      _gpudiag_command "$place"
    fi
    (( at++ ))
  done
  if [[ -n "$_gd_runs" && -z "$waits" ]] && [[ -n "$after" || "$cur" != -* ]]; then
    shift $(( at - 1 )) words
    (( CURRENT -= at - 1 ))
    _normal
  elif [[ -n "$waits" ]]; then
    _gpudiag_value "$place" "$waits"
    _gpudiag_offer "$_gd_takes"
  elif [[ -z "$after" && "$cur" == --*=* ]]; then
    _gpudiag_value "$place" "${cur%%=*}"
    compset -P '*='
    _gpudiag_offer "$_gd_takes"
  elif [[ -z "$after" && "$cur" == -* ]]; then
    _describe -o 'option' _gd_flags
  elif (( ${#_gd_actions} )); then
    _describe 'command' _gd_actions
  else
    _gpudiag_offer "$_gd_takes"
  fi
}

if [[ "${funcstack[1]}" == '_gpudiag' ]]; then
  _gpudiag "$@"
else
  (( ${+functions[compdef]} )) || { autoload -Uz compinit && compinit -u; }
  compdef _gpudiag gpudiag
fi
"""


def script(gpudiag: Command) -> str:
    """The script."""
    commands, values = [], []
    for command in every(gpudiag):
        below = [_described(a.path.split()[-1], a.help) for a in command.actions]
        flags = [_described(flag, o.help) for o in command.options for flag in o.flags]
        valued = [quoted(flag) for o in command.options if o.takes for flag in o.flags]
        commands.append(
            f"    {quoted(command.path)})\n"
            f"      _gd_actions=({' '.join(below)})\n"
            f"      _gd_flags=({' '.join(flags)})\n"
            f"      _gd_valued=({' '.join(valued)})\n"
            f"      _gd_takes={quoted(taken(command.takes))}\n"
            f"      _gd_runs={quoted('1' if command.runs else '')} ;;"
        )
        for option in command.options:
            if option.takes is not None:
                names = "|".join(quoted(f"{command.path}:{flag}") for flag in option.flags)
                values.append(f"    {names}) _gd_takes={quoted(taken(option.takes))} ;;")
    text = _SCRIPT.replace("@VERSION@", __version__)
    return text.replace("@COMMANDS@", "\n".join(commands)).replace("@VALUES@", "\n".join(values))


def _described(word: str, about: str) -> str:
    """`word:what it is`, as _describe takes it."""
    return quoted(f"{word}:{about.replace(':', ' -')}" if about else word)
