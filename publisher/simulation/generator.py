"""What happens in history number N of a seed: moves drawn by a generator that depends on nothing else.

A new actor is given a fate (the n-th effect of one kind, and what goes wrong there) and goes on until it meets it. An actor that is
left standing is picked up again later, or not before the end: that is a pause. Two kinds of histories are mixed: *narrow* ones draw
from the troubles that strike while something is being pushed, switched or looked at, and are many; *wide* ones draw from everything.
The weights are chosen so that the median history has three actors, two faults and a completed publication.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Any

from publisher.simulation import stage
from publisher.simulation.history import History, applicable
from publisher.simulation.world import CRASHES, TROUBLES, Actor

STAND = "stand still"


class Weighted:
    """A table of things and weights, drawn from with one random number."""

    def __init__(self, *rows: tuple[float, Any]) -> None:
        self._things = [thing for _, thing in rows]
        self._sums = list(accumulate(weight for weight, _ in rows))

    def draw(self, random: Random) -> Any:
        return self._things[bisect(self._sums, random.random() * self._sums[-1])]


Fate = tuple[str, int, str]
"""Effect, the how manieth of its kind, and the trouble; or to stand still before it."""


NTH = {"push": (5, 4, 3), "refresh": (4, 3, 2, 2, 1)}


WITHOUT: dict[str, frozenset[str]] = {
    "conditional": frozenset({"became"}),
    "joined": frozenset({"became", "store", "switch", "raise"}),
    "unconditional": frozenset({"raise"}),
}
"""Effects that a run does not have at a kind of target."""


def _wide_fates(kind: str) -> Weighted:
    effects = {
        "push": 30, "switch": 14, "refresh": 12, "probe": 8, "look": 6, "raise": 6, "store": 4, "became": 6, "send": 9, "nonce": 2,
        "alert": 5, "request": 6, "show": 2, "sleep": 4,
    }  # fmt: skip
    rows = []
    for effect in effects.keys() - WITHOUT[kind]:
        troubles = [what for what in TROUBLES[effect] if applicable(kind, effect, what)]
        for nth, chance in enumerate(NTH.get(effect, (5, 1)), start=1):
            for what in (*troubles, *CRASHES, STAND):
                share = {"crash before": 0.6, "crash after": 0.6, STAND: 0.8}.get(what, 1.8 / max(len(troubles), 1))
                rows.append((effects[effect] * chance * share, (effect, nth, what)))
    return Weighted(*sorted(rows, key=str))


def _narrow_fates(kind: str) -> Weighted:
    rows: list[tuple[float, Fate]] = [
        (5, ("push", 1, "crash after")), (4, ("push", 2, "crash after")), (3, ("push", 2, STAND)), (3, ("refresh", 1, "unreachable")),
        (4, ("push", 2, "lost response")), (2, ("probe", 2, "silent")), (3, ("push", 3, "lost request")), (3, ("push", 1, "re-post")),
        (2, ("look", 1, "unreachable")),
        (0.4, ("push", 1, STAND)),
    ]  # fmt: skip
    if kind == "joined":
        rows += [(4, ("push", 2, "late")), (4, ("push", 2, "crash before")), (4, ("refresh", 3, "stale read"))]
    else:
        rows += [(4, ("switch", 1, "crash after")), (4, ("switch", 1, STAND)), (4, ("switch", 1, "lost response"))]
        rows += [(3, ("switch", 1, "late"))]
    return Weighted(*rows)


WIDE = {kind: _wide_fates(kind) for kind in stage.KINDS}
NARROW = {kind: _narrow_fates(kind) for kind in stage.KINDS}
SHARE_OF_WIDE = 0.3
SKEWS = Weighted((88, 0), (3, 90), (3, -90), (2, 600), (2, -600), (1, 86400), (1, -86400))
SLOTS = Weighted((2, 3), (4, 4), (4, 5), (3, 6), (2, 8))
TICKS = Weighted((1, 6 * 60), (8, stage.LEASE + 60), (2, "midnight"), (1, stage.DAY))
PROGRAMS = Weighted(
    (60, ("run",)), (4, ("reconcile",)), (3, ("approve",)), (3, ("pause",)), (2, ("resume",)), (1, "skip"), (2, "cancel"),
    (1, ("repair",)), (2, "again"), (2, "retry"),
)  # fmt: skip
SLOT = Weighted((58, "actor"), (16, "tick"), (8, "edit"), (5, "decide"), (5, "arrive"), (8, "upset"))
UPSETS = Weighted((4, "rewind"), (1, "lose"), (3, "domain"), (2, "wipe"), (4, "older"), (4, "skew"))
NARROW_ACTORS = Weighted((1, 2), (5, 3), (3, 4))
AFTERWARDS = Weighted((6, "lease"), (3, "on"), (1, "arrive"))
DECISIONS = Weighted((6, "grant"), (2, "reject"), (1, "drop"))


def play(history: History, random: Random) -> None:
    """Makes the moves of one history, up to its end phase."""
    if random.random() >= SHARE_OF_WIDE:
        _play_narrow(history, random)
        return
    _actor(history, random)
    for _ in range(SLOTS.draw(random)):
        SLOT_MOVES[SLOT.draw(random)](history, random)


def _play_narrow(history: History, random: Random) -> None:
    """Runs that meet a fate each; a lease that runs out in between; what stood still goes on."""
    for _ in range(NARROW_ACTORS.draw(random)):
        history.do(("start", ("run",), 0))
        actor = history.actors[-1]
        _meet(history, random, actor, NARROW[history.world.kind].draw(random))
        following = AFTERWARDS.draw(random)
        if following == "lease":
            history.do(("tick", stage.LEASE + 60))
        elif following == "on" and history.alive:
            history.do(("step", history.alive[0].number, -1))
        elif following == "arrive":
            history.do(("arrive",))


def _actor(history: History, random: Random) -> None:
    """An actor that stands still goes on, or a new one begins."""
    standing = history.alive
    if standing and (len(standing) > 2 or random.random() < 0.35):
        actor = standing[int(random.random() * len(standing))]
    else:
        program = PROGRAMS.draw(random)
        if isinstance(program, str):
            program = _named(history, random, program)
        history.do(("start", program, SKEWS.draw(random)))
        actor = history.actors[-1]
    _advance(history, random, actor)


def _named(history: History, random: Random, verb: str) -> tuple[Any, ...]:
    day = history.story.days[int(random.random() * len(history.story.days))]
    if verb == "skip":
        return (verb, day)
    path = stage.daily_path(day)
    return (verb, path, ("deploy", "announce", "confirm")[int(random.random() * 3)]) if verb == "retry" else (verb, path)


def _advance(history: History, random: Random, actor: Actor) -> None:
    """On to the fate that is drawn for it, through it, and (if it lives) perhaps on to the end."""
    if random.random() < 0.15:
        history.do(("step", actor.number, -1))
        return
    fates = WIDE[history.world.kind]
    _meet(history, random, actor, fates.draw(random), fates.draw(random))
    if actor in history.alive and random.random() < 0.5:
        _meet(history, random, actor, fates.draw(random))


def _meet(history: History, random: Random, actor: Actor, *fates: Fate) -> None:
    """On to the first of these fates that comes, through it, and (if the actor lives) perhaps on to the end."""
    place = history.advance_to(actor, [fate[:2] for fate in fates])
    if place < 0 or fates[place][2] is STAND:
        return
    history.do(("trouble", actor.number, fates[place][2]))
    if random.random() < 0.6:
        history.do(("step", actor.number, -1))


def _tick(history: History, random: Random) -> None:
    seconds = TICKS.draw(random)
    if seconds == "midnight":
        seconds = stage.DAY - history.world.now % stage.DAY
    history.do(("tick", seconds))


def _edit(history: History, random: Random) -> None:
    later: Sequence[Any] = history.story.later
    history.do(("edit", *later[int(random.random() * len(later))]))


def _decide(history: History, random: Random) -> None:
    if not history.do(("decide", DECISIONS.draw(random))):
        _actor(history, random)


def _arrive(history: History, random: Random) -> None:
    if not history.do(("arrive",)):
        _actor(history, random)


def _upset(history: History, random: Random) -> None:
    what = UPSETS.draw(random)
    if what == "rewind":
        done = history.do(("rewind", 1 + int(random.random() * 4)))
    elif what == "lose":
        done = history.do(("rewind", 0))
    elif what == "domain":
        done = history.do(("domain", not history.world.wrong_domain))
    elif what == "skew":
        done = bool(history.alive) and history.do(("skew", history.alive[0].number, SKEWS.draw(random)))
    else:
        done = history.do((what,))
    if not done:
        _actor(history, random)
    elif what in ("rewind", "lose") and random.random() < 0.7:
        history.do(("start", ("restore",), 0))
        _advance(history, random, history.actors[-1])


SLOT_MOVES: dict[str, Any] = {
    "actor": _actor, "tick": _tick, "edit": _edit, "decide": _decide, "arrive": _arrive, "upset": _upset,
}  # fmt: skip
