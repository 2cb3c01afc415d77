"""Mutated real inputs: every parser takes them or refuses them as it says, and never anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.fuzzing import CORPUS, executions, failure
from tests.fuzz.parsers import PARSERS, Parser
from tests.support.volume import rounds

EXECUTIONS = rounds(2_000, 1_000_000)
SEED = 20_261_201


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", sorted(PARSERS))
def test_mutated(name: str) -> None:
    assert executions(PARSERS[name], SEED, EXECUTIONS) == []


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_seeds_are_taken(name: str) -> None:
    """A corpus of refusals would show nothing: of each parser's seeds at least one goes all the way through."""
    parser = PARSERS[name]
    taken = 0
    for data in parser.seeds:
        try:
            parser.parse(data)
            taken += 1
        except parser.refuses:
            continue
    assert taken, "no seed is taken"


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*/*")), ids=lambda file: f"{file.parent.name}-{file.name}")
def test_what_failed_once(file: Path) -> None:
    assert failure(PARSERS[file.parent.name], file.read_bytes()) == ""


def test_the_fuzzer_finds_what_is_wrong() -> None:
    def careless(data: bytes) -> None:
        data.decode("utf-8")

    assert failure(Parser(name="x", parse=careless, seeds=[b"text"]), b"\xff").startswith("UnicodeDecodeError at ")
    assert failure(Parser(name="x", parse=careless, seeds=[b"text"], refuses=(ValueError,)), b"\xff") == ""
