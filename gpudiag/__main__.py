"""`python -m gpudiag`, and what the installed command `gpudiag` calls."""

import signal


def main() -> int:
    """Run one command; return its exit code.

    Until `cli.main` can answer an interrupt, it ends the process without a traceback of Python's.
    What another program had set for it (`nohup`, a shell's background job) stays.
    """
    python = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if python:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from gpudiag import cli

    if python:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
