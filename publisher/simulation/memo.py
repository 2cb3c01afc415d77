"""The memo: what actors do, remembered by what they were answered.

A run is a function of its program and of the answers it got (each with its clock). So its courses form a tree: a node is what the
actor asks for next, an edge one answer. While a history walks known nodes, no production code runs. At the first unknown answer
the actor is brought to life: the production code is started, given the answers so far, compared with the tree on the way, and goes
on from there. So **every distinct course was executed by the production code itself, once**; a course that is met again is not
executed again. ``recheck`` does execute it again, from the start, and compares: a difference is a bug of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from publisher.errors import UsageProblem
from publisher.simulation.doors import Shared, doors_of
from publisher.simulation.programs import Outcome, Program, carry_out
from publisher.simulation.talk import Answer, Dropped, Effect, Talk

if TYPE_CHECKING:
    from greenlet import greenlet

Step = tuple[Answer, int]
ACTOR = "ci"
"""Every actor signs its records with the same name, as the runs of one CI do: what tells them apart are their nonces."""


class Node:
    """What an actor asks for (``effect``), or what it ended with (``outcome``)."""

    __slots__ = ("edges", "effect", "outcome")

    def __init__(self, effect: Effect | None, outcome: Outcome | None) -> None:
        self.effect = effect
        self.outcome = outcome
        self.edges: dict[Step, Node] = {}


class MemoBroken(AssertionError):
    """The production code did something else than it did before, given the same answers."""


class Living:
    """The production code of one actor, started and waiting for an answer."""

    def __init__(self, shared: Shared, kind: str, program: Program) -> None:
        self._greenlet, parent = _coroutine(self._body)
        self._talk = Talk(lambda effect: parent.switch((effect, None)))
        self._doors = doors_of(shared, self._talk, kind, ACTOR)
        self._program = program

    def _body(self) -> tuple[Effect | None, Outcome | None]:
        try:
            return None, carry_out(self._doors, self._program)
        except Dropped:
            return None, ("dropped",)

    def start(self) -> Node:
        return Node(*self._greenlet.switch())

    def answer(self, step: Step) -> Node:
        return Node(*self._greenlet.switch(step))

    def drop(self) -> None:
        """The actor is killed: its clean-up code runs in vain, since every door refuses."""
        if not self._greenlet.dead:
            self._talk.dropped = True
            self._greenlet.throw(Dropped)


def _coroutine(body: Callable[[], Any]) -> tuple[greenlet, greenlet]:
    try:
        from greenlet import getcurrent, greenlet
    except ImportError:
        raise UsageProblem(
            "no-greenlet", "the simulation needs the package greenlet", next="pip install 'publisher[simulation]'"
        ) from None
    return greenlet(body), getcurrent()


@dataclass
class Memo:
    """The trees of one process. ``nodes`` counts them; ``courses`` counts the starts of production code, ``steps`` all steps."""

    shared: Shared = field(default_factory=Shared.fresh)
    roots: dict[tuple[str, Program], Node] = field(default_factory=dict)
    nodes: int = 0
    courses: int = 0
    steps: int = 0
    new_steps: int = 0
    rechecked: int = 0

    def root(self, kind: str, program: Program) -> Node:
        found = self.roots.get((kind, program))
        if found is None:
            life = Living(self.shared, kind, program)
            found = self.roots[kind, program] = life.start()
            life.drop()
            self.nodes += 1
        return found

    def recheck(self, kind: str, program: Program, trail: list[Step]) -> None:
        """Executes a remembered course again from its start; ``MemoBroken`` when anything differs."""
        self.rechecked += 1
        self.revive(kind, program, trail)[0].drop()

    def revive(self, kind: str, program: Program, trail: list[Step]) -> tuple[Living, Node]:
        """The production code of a course, brought to where its last answer has been given. The node is the tree's."""
        life = Living(self.shared, kind, program)
        node, made = self.root(kind, program), life.start()
        self.courses += 1
        for step in trail:
            _compare(node, made)
            node, made = node.edges[step], life.answer(step)
        _compare(node, made)
        return life, node


def _compare(known: Node, made: Node) -> None:
    if (known.effect, known.outcome) != (made.effect, made.outcome):
        raise MemoBroken(f"known: {known.effect or known.outcome}; now: {made.effect or made.outcome}")


class Player:
    """One actor of one history, walking its tree."""

    __slots__ = ("_kind", "_life", "_memo", "_synced", "node", "program", "trail")

    def __init__(self, memo: Memo, kind: str, program: Program) -> None:
        self._memo = memo
        self._kind = kind
        self._life: Living | None = None
        self._synced = 0
        self.program = program
        self.trail: list[Step] = []
        self.node = memo.root(kind, program)

    def answer(self, answer: Answer, now: int) -> None:
        """Goes on with an answer, executing production code only where it was never given before."""
        step = (answer, now)
        known = self.node.edges.get(step)
        self._memo.steps += 1
        if known is None:
            known = self._live(step)
        self.trail.append(step)
        self.node = known

    def _live(self, step: Step) -> Node:
        memo = self._memo
        memo.new_steps += 1
        if self._life is None:
            self._life, _ = memo.revive(self._kind, self.program, self.trail)
        else:
            for known in self.trail[self._synced :]:
                self._life.answer(known)
        made = self._life.answer(step)
        self._synced = len(self.trail) + 1
        self.node.edges[step] = made
        memo.nodes += 1
        return made

    def drop(self) -> None:
        if self._life:
            self._life.drop()
            self._life = None

    def recheck(self) -> None:
        self._memo.recheck(self._kind, self.program, self.trail)


def nodes_below(node: Node) -> Iterator[Node]:
    """A node and everything that is known to follow, for reports."""
    yield node
    for following in node.edges.values():
        yield from nodes_below(following)
