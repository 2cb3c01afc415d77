"""From a history that went wrong to a short one that goes wrong in the same way; and the corpus of such histories.

A shorter history is tried by leaving out an actor, or a single move, and kept when the same oracle still speaks. What is left is
written as a table for people and as a JSON file that every later version replays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from publisher.simulation.history import Move
from publisher.simulation.volume import Found, Runner

SCHEMA = "publisher.simulation-history/1"
MOST_TRIES = 600
OF_ACTORS = frozenset({"step", "trouble", "skew"})


def shrunk(found: Found) -> Found:
    """The shortest history that was found with the same oracle; the same one when it cannot be made shorter."""
    runner = Runner(found.kind)
    best, tries, shorter = found, 0, True
    while shorter:
        shorter = False
        for moves in _shorter(best.moves):
            tries += 1
            if tries > MOST_TRIES:
                return best
            again = runner.replay(found.story, moves)
            if again and again.oracle == found.oracle:
                best = _named(found, again, moves)
                shorter = True
                break
    return best


def _named(found: Found, again: Found, moves: Sequence[Move]) -> Found:
    return Found(
        kind=found.kind, seed=found.seed, number=found.number, story=found.story, oracle=again.oracle, says=again.says,
        moves=tuple(moves),
    )  # fmt: skip


def _shorter(moves: Sequence[Move]) -> Iterator[tuple[Move, ...]]:
    actors = [place for place, move in enumerate(moves) if move[0] == "start"]
    for number in reversed(range(len(actors))):
        yield tuple(_without(moves, number, actors[number]))
    for place in reversed(range(len(moves))):
        if place not in actors:
            yield (*moves[:place], *moves[place + 1 :])


def _without(moves: Sequence[Move], number: int, start: int) -> Iterator[Move]:
    """The moves without one actor; those after it move up."""
    for place, move in enumerate(moves):
        if place == start:
            continue
        if move[0] in OF_ACTORS:
            if move[1] == number:
                continue
            yield (move[0], move[1] - (move[1] > number), *move[2:])
        else:
            yield move


# --- for people and for the corpus ----------------------------------------------------------------------------------------------


def replay_command(found: Found) -> str:
    return f"publisher simulate --replay {found.seed}:{found.number} --target {found.kind}"


def table(found: Found) -> list[tuple[str, str]]:
    """(who, what) for each move of a history, in words."""
    rows, actors = [("story", found.story)], 0
    for move in found.moves:
        name, *rest = move
        if name == "start":
            program, skew = rest
            off = f", its clock {skew:+} seconds off" if skew else ""
            rows.append((f"actor {actors}", f"begins: {' '.join(str(item) for item in program)}{off}"))
            actors += 1
        elif name == "step":
            rows.append((f"actor {rest[0]}", "goes on to its end" if rest[1] < 0 else f"goes on for {rest[1]} effects"))
        elif name in ("trouble", "skew"):
            rows.append(
                (f"actor {rest[0]}", f"next effect: {rest[1]}" if name == "trouble" else f"clock {rest[1]:+} seconds off")
            )
        else:
            rows.append(("world", " ".join([name, *(str(item) for item in rest if item != "")])))
    rows.append((found.oracle, found.says))
    return rows


def as_file(found: Found) -> dict[str, Any]:
    """A history as its corpus file has it. ``oracle`` and ``says`` are what it once ended with."""
    return {
        "schema": SCHEMA, "target": found.kind, "story": found.story, "moves": [list(move) for move in found.moves],
        "oracle": found.oracle, "says": found.says, "seed": f"{found.seed}:{found.number}",
    }  # fmt: skip


def read_file(path: Path) -> Found:
    data = json.loads(path.read_text("utf-8"))
    if data.get("schema") != SCHEMA:
        raise ValueError("not a history of the simulation")
    seed, _, number = data["seed"].partition(":")
    return Found(
        kind=data["target"], seed=seed, number=int(number or 0), story=data["story"], oracle=data["oracle"], says=data["says"],
        moves=tuple(_tuples(move) for move in data["moves"]),
    )  # fmt: skip


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def replayed(found: Found) -> Found | None:
    """What is wrong with a kept history today."""
    return Runner(found.kind).replay(found.story, found.moves)


def keep(found: Found, folder: Path) -> Path:
    """Writes a history into a corpus, under a name of its oracle and origin."""
    path = folder / f"{found.oracle}-{found.kind}-{found.seed}-{found.number}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(as_file(found), indent=1) + "\n", encoding="utf-8")
    return path
