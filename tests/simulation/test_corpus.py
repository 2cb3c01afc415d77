"""Histories that went wrong once, made short: each is replayed, and must come to a good end on every later version."""

from __future__ import annotations

from pathlib import Path

import pytest

from publisher.simulation.shrinking import as_file, keep, read_file, replayed, shrunk, table
from publisher.simulation.volume import Found

CORPUS = sorted(Path(__file__).with_name("corpus").glob("*.json"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_it_does_not_go_wrong_again(path: Path) -> None:
    known = read_file(path)
    found = replayed(known)
    assert found is None, f"{found.oracle}: {found.says}" if found else ""


def test_there_is_a_corpus() -> None:
    assert len(CORPUS) >= 4
    assert len({read_file(path).oracle for path in CORPUS}) >= 3


def test_a_history_survives_its_file(tmp_path: Path) -> None:
    known = read_file(CORPUS[0])
    kept = keep(known, tmp_path / "new")
    assert as_file(read_file(kept)) == as_file(known)
    assert [who for who, _ in table(known)][:2] == ["story", "actor 0"]


def test_shrinking_leaves_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that the ledger does not bind, a history of nine moves is one of two."""
    from publisher.simulation import volume

    def replay(runner: object, story: str, moves: tuple[tuple[object, ...], ...]) -> Found | None:
        wrong = ("trouble", 1, "late") in moves or ("trouble", 0, "late") in moves
        return Found(kind="joined", seed="", number=0, story=story, oracle="o", says="s", moves=tuple(moves)) if wrong else None

    monkeypatch.setattr(volume.Runner, "replay", replay)
    moves = (
        ("start", ("run",), 0), ("step", 0, 3), ("tick", 660), ("start", ("run",), 0), ("trouble", 1, "late"), ("step", 1, -1),
        ("edit", "theme"), ("start", ("pause",), 0), ("step", 2, -1),
    )  # fmt: skip
    small = shrunk(Found(kind="joined", seed="s", number=5, story="one date", oracle="o", says="s", moves=moves))
    assert small.moves == (("start", ("run",), 0), ("trouble", 0, "late"))
    assert (small.seed, small.number) == ("s", 5)
