"""The completion script for fish."""

from __future__ import annotations

from gpudiag import __version__
from gpudiag.commands.completion_words import Command, Takes, every

_HEAD = r"""# fish completion of gpudiag @VERSION@; made by: gpudiag completion fish

# the words so far that are no options, without `gpudiag`; $argv: options that take a value
function __gpudiag_words
    set -l waits 0
    for word in (commandline -opc)[2..-1]
        if test $waits = 1
            set waits 0
        else if test "$word" = --
            return
        else if contains -- $word $argv
            set waits 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

# the words of the user's own command after `gpudiag record`, the unfinished one not among them
function __gpudiag_own
    set -l words (commandline -opc)
    test "$words[2]" = record; or return
    set -l waits 0
    for at in (seq 3 (count $words))
        if test $waits = 1
            set waits 0
        else if test "$words[$at]" = --
            echo --
            set -l next (math $at + 1)
            test $next -le (count $words); and printf '%s\n' $words[$next..-1]
            return
        else if contains -- $words[$at] @VALUED@
            set waits 1
        else if not string match -q -- '-*' $words[$at]
            echo --
            printf '%s\n' $words[$at..-1]
            return
        end
    end
end

function __gpudiag_runs
    set -l own (__gpudiag_own)
    test (count $own) -gt 0
end

function __gpudiag_run
    set -l own (__gpudiag_own)
    complete -C (string join -- ' ' (string escape -- $own[2..-1]) (commandline -ct))
end

# whether the command line is at exactly this command, with whatever else it takes
function __gpudiag_at
    __gpudiag_runs; and return 1
    set -l words (__gpudiag_words @ALL_VALUED@)
    test (count $words) -ge (count $argv); or return 1
    for at in (seq (count $argv))
        test "$words[$at]" = "$argv[$at]"; or return 1
    end
end

# the same, and no further word yet
function __gpudiag_just
    __gpudiag_at $argv; or return 1
    test (count (__gpudiag_words @ALL_VALUED@)) -eq (count $argv)
end

# files with one of these endings, and folders; any file if there is none
function __gpudiag_files
    set -l all (__fish_complete_path (commandline -ct))
    set -l fit
    for path in $all
        set -l name (string split \t -- $path)[1]
        if string match -q -- '*/' $name
            set -a fit $path
            continue
        end
        for ending in $argv
            string match -q -- "*.$ending" $name; and set -a fit $path; and break
        end
    end
    test (count $fit) -gt 0; and printf '%s\n' $fit; or printf '%s\n' $all
end

complete -c gpudiag -f
complete -c gpudiag -n __gpudiag_runs -a '(__gpudiag_run)'
"""


def script(gpudiag: Command) -> str:
    """The script."""
    said = []
    for command in every(gpudiag):
        at = f"__gpudiag_at {command.path}" if command.path else "__gpudiag_just"
        just = f"__gpudiag_just {command.path}".rstrip()
        said += [
            f"complete -c gpudiag -n {_quoted(just)} -a {_quoted(action.path.split()[-1])} "
            f"-d {_quoted(action.help)}"
            for action in command.actions
        ]
        for option in command.options:
            words = [f"complete -c gpudiag -n {_quoted(at)}"]
            words += [
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in option.flags
            ]
            if option.takes is not None:
                words.append(f"-x{_offer(option.takes)}")
            said.append(" ".join([*words, f"-d {_quoted(option.help)}"]))
        if command.takes is not None and (offer := _offer(command.takes)):
            said.append(f"complete -c gpudiag -n {_quoted(at)}{offer}")
        if command.runs:
            own = "(__fish_complete_command)"
            said.append(f"complete -c gpudiag -n {_quoted(at)} -a {_quoted(own)}")
    head = _HEAD.replace("@VERSION@", __version__)
    everything = list(every(gpudiag))
    head = head.replace("@VALUED@", _valued([c for c in everything if c.runs]))
    return head.replace("@ALL_VALUED@", _valued(everything)) + "\n".join(said) + "\n"


def _valued(commands: list[Command]) -> str:
    flags = [flag for c in commands for o in c.options if o.takes for flag in o.flags]
    return " ".join(dict.fromkeys(flags))


def _offer(takes: Takes) -> str:
    match takes.what:
        case "words":
            return f" -a {_quoted(' '.join(takes.words))}"
        case "folder":
            return " -a '(__fish_complete_directories)'"
        case "file":
            return f" -a {_quoted('(' + ' '.join(['__gpudiag_files', *takes.words]) + ')')}"
        case _:
            return ""


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
