"""``publisher simulate``: the decision code in thousands of histories of everything that can go wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.boundary import Asked
from publisher.cli.verb import Verb
from publisher.errors import EXIT_BUG, EXIT_OK, UsageProblem

if TYPE_CHECKING:
    from publisher.simulation.volume import Figures, Found

TARGETS = ("conditional", "joined", "unconditional")
ENOUGH = 10_000
"""Histories of each kind of target from which on a fault that never struck counts as a failure."""


@click.command(
    cls=Verb,
    examples=(
        "publisher simulate --histories 1000",
        "publisher simulate --histories 100000 --seed 7 --jobs 2 --json",
        "publisher simulate --replay 7:4711 --target joined",
        "publisher simulate --replay history.json",
    ),
)
@click.option("--histories", type=click.IntRange(1), default=1000, show_default=True, help="How many on each kind of target.")
@click.option("--seed", default="1", show_default=True, help="Any word or number: the same one gives the same histories.")
@click.option(
    "--target", "kind", type=click.Choice((*TARGETS, "all")), default="all", show_default=True, help="Kind of target."
)
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes side by side.")
@click.option("--replay", metavar="SEED:N|FILE", help="Play one history, told move by move.")
@click.option("--keep", metavar="DIR", type=click.Path(file_okay=False), help="Write histories that went wrong into DIR.")
@click.pass_obj
def command(asked: Asked, histories: int, seed: str, kind: str, jobs: int, replay: str | None, keep: str | None) -> int:
    """Run the production decision code against a model of the world in which everything goes wrong.

    Each history has several runs and people at work on one site, with lost answers, crashes, pauses, stale reads, late switches,
    edits, clocks that are off and a ledger put back. Ends with 0 when no rule was broken and every kind of fault struck.
    """
    if replay:
        return _replay(asked, replay, kind)
    from publisher.simulation.volume import simulate

    kinds = TARGETS if kind == "all" else (kind,)
    figures = simulate(kinds, seed, histories, jobs=jobs)
    return _report(asked, figures, seed, Path(keep) if keep else None)


def _report(asked: Asked, figures: Mapping[str, Figures], seed: str, folder: Path | None) -> int:
    from publisher.simulation.volume import as_data, expected_faults

    missing = {
        name: sorted(what for what in expected_faults([name]) if not (item.struck[what] or item.counts[what]))
        for name, item in figures.items()
    }
    broken = [found for item in figures.values() for found in item.found]
    if asked.as_json:
        rows = {name: {**as_data(item), "never_struck": missing[name]} for name, item in figures.items()}
        output.say_json(
            {"schema": "publisher.simulation/1", "seed": seed, "targets": rows, "broken": [_data(b) for b in broken]}
        )
    else:
        for name, item in figures.items():
            _tell(name, item, missing[name])
    for found in broken[:3]:
        _tell_broken(asked, found, folder)
    silent = any(missing[name] for name, item in figures.items() if item.histories >= ENOUGH)
    return EXIT_BUG if broken or silent else EXIT_OK


def _data(found: Found) -> dict[str, Any]:
    from publisher.simulation.shrinking import replay_command

    return {"oracle": found.oracle, "says": found.says, "replay": replay_command(found)}


def _tell(name: str, figures: Figures, missing: list[str]) -> None:
    counts, speed = figures.counts, figures.histories / figures.seconds if figures.seconds else 0.0
    output.say(f"{name}: {figures.histories} histories, {counts['violations']} broken rules", bold=True)
    known = 1 - counts["executed"] / counts["steps"] if counts["steps"] else 0.0
    output.table(
        ("figure", "value"),
        [
            ("effects, crashes, pauses, takeovers",
             f"{counts['effects']}, {counts['crashes']}, {counts['pauses']}, {counts['takeovers']}"),
            ("publications confirmed", counts["confirmed"]),
            *((f"{what} a history (quartiles)", " / ".join(map(str, figures.quartiles(what)))) for what in figures.spread),
            ("distinct courses executed by the production code", counts["courses"]),
            ("steps answered from memory", f"{known:.1%}, of which courses executed again and compared: {counts['rechecked']}"),
            ("histories a second and core", f"{speed:.0f}"),
        ],
    )  # fmt: skip
    rows = [(what, count) for what, count in sorted(figures.struck.items())]
    output.table(("fault", "struck"), [*rows, *((what, 0) for what in missing)])


def _tell_broken(asked: Asked, found: Found, folder: Path | None) -> None:
    """The shrunk history as a table, and how to see it again."""
    from publisher.simulation.shrinking import keep, replay_command, shrunk, table

    small = shrunk(found)
    if folder:
        keep(small, folder)
    if not asked.as_json:
        output.say(f"{found.oracle} in history {found.number}: {found.says}", bold=True)
        output.table(("who", "what"), table(small))
        output.say(f"  replay: {replay_command(found)}")


def _replay(asked: Asked, replay: str, kind: str) -> int:
    from publisher.simulation.shrinking import read_file, replayed, table
    from publisher.simulation.volume import Runner

    seed, _, number = replay.rpartition(":")
    if seed and number.isascii() and number.isdigit():
        if kind == "all":
            raise UsageProblem("which", "--replay SEED:N needs --target", next="publisher simulate --help")
        found = Runner(kind).play(seed, int(number))
    else:
        try:
            known = read_file(Path(replay))
        except (OSError, ValueError, KeyError, json.JSONDecodeError):
            raise UsageProblem(
                "no-history", "--replay takes SEED:N, or a file that simulate kept", next="publisher simulate --help"
            ) from None
        found = replayed(known)
    if asked.as_json:
        output.say_json({"schema": "publisher.simulation/1", "replayed": replay, "broken": [_data(found)] if found else []})
    elif found:
        output.table(("who", "what"), table(found))
    else:
        output.say("no rule was broken")
    return EXIT_BUG if found else EXIT_OK
