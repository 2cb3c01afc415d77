"""``publisher simulate``: the decision code in thousands of histories of everything that can go wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
        "publisher simulate --broken all --histories 2000 --jobs 2",
    ),
)
@click.option("--histories", type=click.IntRange(1), default=1000, show_default=True, help="How many on each kind of target.")
@click.option("--seed", default="1", show_default=True, help="Any word or number: the same one gives the same histories.")
@click.option(
    "--target", "kind", type=click.Choice((*TARGETS, "all")), default="all", show_default=True, help="Kind of target."
)
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes side by side.")
@click.option("--replay", metavar="SEED:N|FILE", help="Play one history, told move by move.")
@click.option("--broken", metavar="NAME", help="Break one rule on purpose (or each in turn: all), and see it found.")
@click.option("--keep", metavar="DIR", type=click.Path(file_okay=False), help="Write histories that went wrong into DIR.")
@click.pass_obj
def command(
    asked: Asked, histories: int, seed: str, kind: str, jobs: int, replay: str | None, broken: str | None, keep: str | None
) -> int:  # fmt: skip
    """Run the production decision code against a model of the world in which everything goes wrong.

    Each history has several runs and people at work on one site, with lost answers, crashes, pauses, stale reads, late switches,
    edits, clocks that are off and a ledger put back. Ends with 0 when no rule was broken and every kind of fault struck; with
    --broken, when every variant was found on every kind of target on which it shows.
    """
    if replay:
        return _replay(asked, replay, kind)
    from publisher.simulation.volume import simulate

    kinds = TARGETS if kind == "all" else (kind,)
    if broken:
        return _break(asked, broken, kinds, seed, histories, jobs)
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
    silent = {name: missing[name] for name, item in figures.items() if missing[name] and item.histories >= ENOUGH}
    if silent and not asked.as_json:
        for name, what in silent.items():
            output.say(f"{name}: never struck in {figures[name].histories} histories: {', '.join(what)}", bold=True)
    return EXIT_BUG if broken or silent else EXIT_OK


def _break(asked: Asked, name: str, kinds: Sequence[str], seed: str, histories: int, jobs: int) -> int:
    from publisher.simulation.known_bad import BY_NAME, VARIANTS, detect_all

    if name != "all" and name not in BY_NAME:
        raise UsageProblem("no-variant", f"no known-bad variant has that name; there are: {', '.join(BY_NAME)}")
    names = [variant.name for variant in VARIANTS] if name == "all" else [name]
    seen = detect_all(names, kinds, seed, histories, jobs=jobs)
    missed = [item for item in seen if not item.found]
    if asked.as_json:
        output.say_json({"schema": "publisher.known-bad/1", "seed": seed, "variants": [item.as_data() for item in seen]})
    else:
        rows = [
            (item.variant, item.kind, "-" if item.first is None else item.first, f"{item.rate:.2%}", ", ".join(item.oracles))
            for item in seen
        ]
        output.table(("broken rule", "target", "first found", "rate", "by"), rows)
        output.say(f"{len(names)} broken rules, {len(seen) - len(missed)} of {len(seen)} found in {histories} histories each")
    return EXIT_BUG if missed else EXIT_OK


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
