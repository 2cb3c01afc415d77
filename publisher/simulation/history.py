"""One history: a world, its actors, and the moves that are made. A move is a tuple of plain values, so that a history can be kept,
shrunk and replayed; a move that makes no sense where it stands (its actor is gone) changes nothing.

    start PROGRAM SKEW    an actor begins, its clock off by so many seconds
    step ACTOR COUNT      it does so many effects, or goes on to its end
    trouble ACTOR WHAT    its next effect goes wrong in this way, or it is killed before or after it
    tick SECONDS          time passes
    edit ...              an editor changes the default branch
    decide WHAT           the oldest open request is granted, rejected, or its branch deleted
    rewind COUNT          an administrator puts the state branch back by so many commits; 0 deletes it
    domain WRONG          the domain shows another site, or the right one again
    wipe / older          the target loses its files, or gets its previous release back
    arrive                something sent long ago arrives
    skew ACTOR SECONDS    an actor's clock is set
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from publisher.domain.ledger_events import EventType, NewEvent
from publisher.ports import Batch, Tips
from publisher.simulation import stage
from publisher.simulation.doors import SITE_COMMITS, ModelRecords
from publisher.simulation.memo import ACTOR, Memo, Player
from publisher.simulation.oracles import Oracles, Violation
from publisher.simulation.talk import Talk
from publisher.simulation.world import CRASHES, ONLY_UNCONDITIONAL, TROUBLES, Actor, Fence, World

Move = tuple[Any, ...]
MOST_EFFECTS = 400
"""Effects of one actor: no program needs as many."""


class History:
    """A history under way. ``moves`` is what was done so far; ``counts`` what came of it."""

    def __init__(self, memo: Memo, oracles: Oracles, kind: str, story: stage.Story) -> None:
        oracles.begin()
        self.memo = memo
        self.oracles = oracles
        self.story = story
        self.world = World(memo.shared.contents, kind, oracles)
        self.actors: list[Actor] = []
        self.alive: list[Actor] = []
        self.moves: list[Move] = []
        self.counts: Counter[str] = Counter()
        self.last: Actor | None = None
        self.restored = True
        for at, edit in story.merged:
            self.world.now = at
            self.world.edit(edit)
        self.world.now = story.start
        self.world.state = _first_ledger(memo, self.world.default)
        self.world.tips.append(self.world.state)

    def do(self, move: Move) -> bool:
        """Makes one move; False where it changed nothing. A move in which something goes wrong is one of the history's too."""
        try:
            done: bool = MOVES[move[0]](self, *move[1:])
        except Violation:
            self.moves.append(move)
            raise
        if done:
            self.moves.append(move)
            if move[0] not in ("start", "step", "trouble"):
                self.counts[f"{move[0]}: {move[1]}" if move[0] in ("edit", "decide") else move[0]] += 1
        return done

    # --- actors ---------------------------------------------------------------------------------------------------------------------

    def start(self, program: tuple[Any, ...], skew: int = 0) -> Actor:
        player = Player(self.memo, self.world.kind, program)
        actor = Actor(len(self.actors), program, player, skew)
        self.actors.append(actor)
        self.alive.append(actor)
        return actor

    def _start(self, program: tuple[Any, ...], skew: int) -> bool:
        self.start(tuple(program), skew)
        return True

    def living(self, number: int) -> Actor | None:
        return next((actor for actor in self.alive if actor.number == number), None)

    def _step(self, number: int, count: int) -> bool:
        actor = self.living(number)
        if actor is None:
            return False
        while count and actor.player.node.effect is not None:
            self.one_effect(actor, "")
            count -= 1
        return True

    def advance_to(self, actor: Actor, places: Sequence[tuple[str, int]]) -> int:
        """The actor goes on until it is about to do the n-th effect of a kind, or has ended: as one move. Which place it reached."""
        steps, player, seen = 0, actor.player, Counter[str]()
        try:
            while (following := player.node.effect) is not None:
                seen[following[0]] += 1
                if (following[0], seen[following[0]]) in places:
                    return places.index((following[0], seen[following[0]]))
                steps += 1
                self.one_effect(actor, "")
            return -1
        finally:
            if steps:
                self.moves.append(("step", actor.number, steps))

    def _trouble(self, number: int, what: str) -> bool:
        actor = self.living(number)
        effect = actor.player.node.effect if actor else None
        if actor is None or effect is None or not applicable(self.world.kind, effect[0], what):
            return False
        self.one_effect(actor, what)
        return True

    def one_effect(self, actor: Actor, trouble: str) -> None:
        """The actor's next effect happens, and the actor goes on to the one after that, unless it is killed."""
        world, player = self.world, actor.player
        effect = player.node.effect
        assert effect is not None
        if self.last is not actor:
            # It stood still while another did something.
            self.counts["pauses"] += self.last is not None and bool(player.trail)
            self.last = actor
        self.counts["effects"] += 1
        if trouble != "crash before":
            answer = world.perform(actor, effect, trouble)
            if trouble != "crash after":
                player.answer(answer, world.now + actor.skew)
                outcome = player.node.outcome
                if outcome is not None:
                    self._ended(actor, outcome)
                elif len(player.trail) > MOST_EFFECTS:
                    raise Violation("never-ends", f"{actor.program[0]} has done {MOST_EFFECTS} effects")
                return
        self.counts["crashes"] += 1
        world.struck[f"{effect[0]}: {trouble}"] += 1
        self._gone(actor)

    def _ended(self, actor: Actor, outcome: tuple[Any, ...]) -> None:
        self._gone(actor)
        self.counts["ended"] += 1
        if outcome[0] == "crash":
            raise Violation("crashed", f"{actor.program[0]}: {outcome[1]} at {outcome[2]}")
        if outcome[0] == "restored":
            self.restored = True

    def _gone(self, actor: Actor) -> None:
        self.alive.remove(actor)
        self.world.forget(actor)
        actor.player.drop()

    def _skew(self, number: int, seconds: int) -> bool:
        actor = self.living(number)
        if actor is None or actor.skew == seconds:
            return False
        actor.skew = seconds
        return True

    # --- everything else --------------------------------------------------------------------------------------------------------------

    def _tick(self, seconds: int) -> bool:
        # To the next whole minute: equal stories then have equal times.
        before = self.world.now
        self.world.now += seconds
        self.world.now += -self.world.now % 60
        self.counts["midnight"] += before // stage.DAY != self.world.now // stage.DAY
        return True

    def _edit(self, *edit: Any) -> bool:
        return self.world.edit(_tuples(edit))

    def _decide(self, what: str) -> bool:
        world = self.world
        if not world.requests:
            return False
        number = min(world.requests)
        _, path, data = world.requests.pop(number)
        if what != "drop":
            world.edit((what, path, tuple(json.loads(data).items())))
        return True

    def _rewind(self, count: int) -> bool:
        world, states = self.world, self.memo.shared.contents.states
        found = world.state
        dropped: list[str] = []
        while found and (count == 0 or len(dropped) < count) and (count == 0 or states[found].parent):
            dropped.append(found)
            found = states[found].parent
        if not dropped:
            return False
        for oid in dropped:
            self.oracles.told_again |= {path for path, event in states[oid].appended if event.type == "announce-intent"}
        world.rewind(found)
        self.restored = False
        return True

    def _domain(self, wrong: bool) -> bool:
        changed = self.world.wrong_domain != wrong
        self.world.wrong_domain = wrong
        return changed

    def _wipe(self) -> bool:
        world = self.world
        if not world.files:
            return False
        world.set_files("")
        world.claim, world.site_tip = (None, ""), ""
        return True

    def _older(self) -> bool:
        """The release before is put back past publisher, with the claim that it had."""
        world = self.world
        if world.kind == "joined":
            parent = SITE_COMMITS[world.site_tip][0] if world.site_tip else ""
            if not parent:
                return False
            world.site_tip = parent
            _, files, held, base = SITE_COMMITS[parent]
            fence: Fence | None = held
        else:
            files, fence, base = world.last_files, world.older_claim, ""
        if not files or files == world.files or fence is None:
            return False
        world.set_files(files)
        world.claim = (fence, base)
        return True

    def _arrive(self) -> bool:
        if not self.world.pending:
            return False
        self.world.arrive()
        return True


def applicable(kind: str, effect: str, trouble: str) -> bool:
    """Whether a trouble can strike an effect at a target of this kind."""
    if trouble in ONLY_UNCONDITIONAL and kind != "unconditional":
        return False
    return trouble in CRASHES or trouble in TROUBLES[effect]


def _tuples(value: Any) -> Any:
    """Lists, as a corpus file has them, as tuples again."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list | tuple) else value


def _first_ledger(memo: Memo, default: str) -> str:
    """What ``init`` writes: the first epoch."""
    records = ModelRecords(Talk(lambda effect: (effect, 0)), memo.shared.contents, ACTOR)
    epoch = NewEvent(type=EventType.EPOCH, fields={"epoch": 1, "epoch_id": "e" * 32, "reason": "init"})
    batch = Batch(events={f"{stage.SITE_ID}/claims/2026": [epoch]}, message="Begin")
    return records.compose(Tips(default=default, state="", drafts=default), batch, stage.instant(-3600))


MOVES: dict[str, Any] = {
    "start": History._start, "step": History._step, "trouble": History._trouble, "tick": History._tick, "edit": History._edit,
    "decide": History._decide, "rewind": History._rewind, "domain": History._domain, "wipe": History._wipe, "older": History._older,
    "arrive": History._arrive, "skew": History._skew,
}  # fmt: skip
