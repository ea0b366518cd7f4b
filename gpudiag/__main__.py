"""`python -m gpudiag`."""

from gpudiag.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
