"""One execution of a parser, and what counts as a failure.

    python -m tests.fuzz.fuzzing --minutes 10 [--parser NAME] [--seed S]

runs every parser in turn and keeps each input that fails below ``tests/fuzz/corpus``, where the tests replay it from then on.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import traceback
from pathlib import Path

from tests.fuzz.mutations import mutated
from tests.fuzz.parsers import PARSERS, Parser

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 2.0
"""Processor time of one execution on at most 16 KiB; what is honest needs some thousandths."""
BATCH = 200


def failure(parser: Parser, data: bytes) -> str:
    """ "" when the parser takes the input or refuses it as it may; else what happened instead."""
    start = time.process_time()
    try:
        parser.parse(data)
    except parser.refuses:
        pass
    except Exception as error:  # whatever else comes out is the failure that is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
    used = time.process_time() - start
    return f"{used:.1f} s" if used > SECONDS else ""


def kept(parser: Parser, data: bytes) -> Path:
    """Where a failing input is kept."""
    file = CORPUS / parser.name / hashlib.sha256(data).hexdigest()[:16]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def executions(parser: Parser, seed: int, count: int, first: int = 0) -> list[str]:
    """Runs that many inputs; every kind of failure once, with the place where its input is kept."""
    found: dict[str, str] = {}
    for number in range(first, first + count):
        data = mutated(parser.seeds, seed, number)
        what = failure(parser, data)
        if what and what not in found:
            found[what] = f"{parser.name}, seed {seed}, number {number}: {what}; kept as {kept(parser, data).name}"
    return list(found.values())


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--parser", choices=sorted(PARSERS))
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--executions", type=int, default=0, help="of each parser, whatever the time")
    asked = options.parse_args()
    chosen = [PARSERS[asked.parser]] if asked.parser else list(PARSERS.values())
    until, done, used, found = time.monotonic() + asked.minutes * 60, 0, {parser.name: 0.0 for parser in chosen}, []
    while (done < asked.executions) if asked.executions else (time.monotonic() < until):
        for parser in chosen:
            start = time.process_time()
            found += executions(parser, asked.seed, BATCH, first=done)
            used[parser.name] += time.process_time() - start
        done += BATCH
    for name, seconds in used.items():
        sys.stdout.write(f"{name}: {done} executions, {done / max(seconds, 0.001):.0f} a second\n")
    sys.stdout.write("".join(f"FAILED {what}\n" for what in found))
    sys.stdout.write(f"{done} executions of each of {len(chosen)} parsers with seed {asked.seed}, {len(found)} failures\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
