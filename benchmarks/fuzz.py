"""Damage every fixture at random, byte by byte, and read it: nothing but a Timeline or one line.

    python benchmarks/fuzz.py --mutations 20000 --seed 1

Prints the mutations, what came of them, the slowest file and the peak memory; exit code 1 if any
ended in another exception, took over 5 s, or lost account of a line.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from gpudiag.errors import GpudiagError
from gpudiag.timeline.model import Source
from gpudiag.timeline.read import read

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures"
SLOW_S = 5.0
CHUNKS = (
    b"\n", b"\r\n", b"\0", b"\0" * 100, b",", b"#", b'"', b"[N/A]", b"%", b"-", b"9" * 40,
    b"\xff\xfe", b"\xef\xbb\xbf", b"1e308", b"<!DOCTYPE", b"{", b"|", b"\x1b[2J", b"nan",
)  # fmt: skip


def mutated(data: bytes, random_: random.Random) -> bytes:
    """`data` with one to eight byte-level changes: replace, insert, delete, repeat, cut, swap."""
    changed = bytearray(data)
    for _ in range(random_.randint(1, 8)):
        at = random_.randrange(len(changed) + 1)
        span = random_.randint(1, 60)
        match random_.randrange(7):
            case 0 if changed:
                changed[at % len(changed)] = random_.randrange(256)
            case 1:
                changed[at:at] = random_.choice(CHUNKS)
            case 2:
                del changed[at : at + span]
            case 3:
                changed[at:at] = changed[at : at + span] * random_.randint(1, 5)
            case 4 if random_.random() < 0.3:
                del changed[at:]
            case 5:
                piece = bytes(changed[at : at + span])
                del changed[at : at + span]
                to = random_.randrange(len(changed) + 1)
                changed[to:to] = piece
            case _:
                changed[at : at + 1] = random_.choice(CHUNKS)
    return bytes(changed)


def accounted(source: Source) -> bool:
    """Whether every line of the file is a reading, a header, another line, or dropped."""
    return source.unaccounted == 0


def attempt(path: Path) -> str:
    """What reading `path` came to; `FAULT …` if it must not happen."""
    try:
        timeline = read(path)
    except GpudiagError as error:
        return "one line" if "\n" not in error.message else f"FAULT message: {error.message!r}"
    except Exception:
        return "FAULT " + traceback.format_exc(limit=-2)
    return "timeline" if accounted(timeline.source) else "FAULT lines not accounted for"


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mutations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    random_ = random.Random(args.seed)
    fixtures = sorted(
        path
        for folder in ("logs", "tutorial", "runs")
        for path in (FIXTURES / folder).rglob("*")
        if path.is_file() and path.suffix != ".py" and path.stat().st_size < 200_000
    )
    contents = [path.read_bytes() for path in fixtures]
    tally: Counter[str] = Counter()
    slowest, bad = (0.0, ""), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        for number in range(args.mutations):
            which = random_.randrange(len(fixtures))
            path.write_bytes(mutated(contents[which], random_))
            began = time.process_time()
            result = attempt(path)
            took = time.process_time() - began
            slowest = max(slowest, (took, fixtures[which].name))
            if result.startswith("FAULT") or took > SLOW_S:
                bad += 1
                kept = Path(tempfile.gettempdir()) / f"fuzz-{args.seed}-{number}.log"
                kept.write_bytes(path.read_bytes())
                print(f"{fixtures[which].name} → {kept}: {took:.1f} s: {result}", flush=True)
            tally[result.split()[0]] += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{args.mutations} mutations of {len(fixtures)} fixtures, seed {args.seed}: {dict(tally)}"
    )
    print(
        f"slowest {slowest[0]:.2f} s of CPU ({slowest[1]}), peak memory {peak:.0f} MiB, bad {bad}"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
