"""What a command notices of the program that records it, beside other recorders.

`python benchmarks/transparency.py [--write docs/recording.md] [--venv DIR]`

Prints a Markdown table; with --write it goes between the two marks in that file. Linux only.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import Peer, environment, gnu_time, install, recorders, versions
from wrapped import GOOD, Wrapped

from gpudiag.demo import nvidia_smi

BEGIN = "<!-- made by benchmarks/transparency.py: begin -->"
END = "<!-- made by benchmarks/transparency.py: end -->"

Case = Callable[[Wrapped], str]


def exit_code(wrapped: Wrapped) -> str:
    """Exit code 7."""
    code = wrapped.run("sh", "-c", "exit 7").returncode
    return GOOD if code == 7 else str(code)


def killed(wrapped: Wrapped) -> str:
    """Killed by SIGSEGV."""
    code = wrapped.run("sh", "-c", "ulimit -c 0; kill -SEGV $$").returncode
    return {-11: GOOD, 139: "exit code 139"}.get(code, f"exit code {code}")


def output(wrapped: Wrapped) -> str:
    """Standard output and error to the byte."""
    done = wrapped.run("sh", "-c", "sleep 0.2; printf 'a\\n\\377b'; printf 'c' >&2")
    added = []
    for name, found, expected in (
        ("output", done.stdout, b"a\n\xffb"),
        ("error", done.stderr, b"c"),
    ):
        if found != expected:
            added.append(f"{name} {'has more' if expected in found else 'is changed'}")
    return ", ".join(added) or GOOD


def arguments(wrapped: Wrapped) -> str:
    """Arguments with spaces, quotes and an empty one."""
    given = ["a b", "", "*", "$HOME", "it's", '"', "-x", "--"]
    facts = wrapped.look(*given)
    if facts is None:
        return "command fails"
    return GOOD if facts["arguments"] == given else "changed"


def not_found(wrapped: Wrapped) -> str:
    """Command not found, not executable: 127, 126."""
    plain = wrapped.folder / "plain"
    plain.write_text("text")
    codes = [wrapped.run(name).returncode for name in ("no-such-program", str(plain))]
    return GOOD if codes == [127, 126] else ", ".join(map(str, codes))


def descriptor(wrapped: Wrapped) -> str:
    """An inherited descriptor, as of `<(…)`."""
    read_end, write_end = os.pipe()
    os.write(write_end, b"hello")
    os.close(write_end)
    done = wrapped.run("cat", f"/dev/fd/{read_end}", pass_fds=[read_end])
    os.close(read_end)
    return GOOD if b"hello" in done.stdout else "closed"


def terminal(wrapped: Wrapped) -> str:
    """Standard streams are the terminal."""
    facts = wrapped.look("x", on_terminal=True)
    if facts is None:
        return "command fails"
    return GOOD if all(facts["tty"]) else "not all"


def to_wrapper(name: str) -> Case:
    """A signal to the recorder alone."""

    def case(wrapped: Wrapped) -> str:
        return wrapped.signalled(name, group=False)

    case.__doc__ = f"SIG{name} to the recorder reaches the command"
    return case


def to_group(wrapped: Wrapped) -> str:
    """SIGTERM to the process group arrives once."""
    return wrapped.signalled("TERM", group=True)


def interrupt(wrapped: Wrapped) -> str:
    """Ctrl-C arrives once, and the recorder waits for the command."""
    return wrapped.typed_interrupt()


def suspend(wrapped: Wrapped) -> str:
    """Ctrl-Z stops both, `fg` wakes both."""
    return wrapped.typed_suspend()


def outright(wrapped: Wrapped) -> str:
    """The recorder is killed: the command goes on, no helper is left."""
    return wrapped.killed_outright()


def daemon(wrapped: Wrapped) -> str:
    """The recorder ends with the command, although a daemon of it holds the output."""
    return wrapped.daemon()


CASES: tuple[Case, ...] = (
    *(exit_code, killed, output, arguments, not_found, descriptor, terminal),
    *(to_wrapper("TERM"), to_wrapper("USR1"), to_group, interrupt, suspend, outright, daemon),
)


def driver(binaries: Path, base: Path) -> dict[str, str]:
    """A simulated nvidia-smi, for the recorders that ask one."""
    if not (base / "nvidia-smi").exists():
        nvidia_smi.install(base)
    path = f"{base}:{environment(binaries)['PATH']}"
    return {"PATH": path, nvidia_smi.SIM_DIR: str(base)}


def table(peers: Sequence[Peer], binaries: Path, base: Path) -> str:
    """All cases with all recorders."""
    lines = ["| case | " + " | ".join(peer.name for peer in peers) + " |"]
    lines.append("|---" * (len(peers) + 1) + "|")
    for number, case in enumerate(CASES):
        cells = []
        for peer in peers:
            folder = base / f"{number}-{peer.name.replace(' ', '-')}"
            folder.mkdir()
            wrapped = Wrapped(peer, folder, {**environment(binaries), **driver(binaries, base)})
            try:
                cells.append(case(wrapped))
            finally:
                wrapped.clean_up()
        title = (case.__doc__ or "").rstrip(".").split("\n")[0]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    """Run everything and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="put the table into this file")
    parser.add_argument("--venv", type=Path, help="keep the peers there (default: thrown away)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        binaries = install(args.venv or Path(name) / "peers")
        peers = [peer for peer in recorders(binaries) if peer.name != "resource-tracker"]
        if (time := gnu_time()) is not None:
            peers.append(time)
        names = {peer.name for peer in peers}
        told = ", ".join(f"{n} {v}" for n, v in versions(binaries).items() if n in names)
        made = f"{datetime.now(UTC):%Y-%m-%d}; {told}"
        text = f"{table(peers, binaries, Path(name))}\n\n({made}; a tick: as without a recorder)"
    print(text)
    if args.write:
        before, _, rest = args.write.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        args.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
