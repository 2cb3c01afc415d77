"""Each oracle speaks when what it forbids is planted, and is silent about what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from publisher.domain.ledger_events import EventType, NewEvent
from publisher.ports import Batch, Tips
from publisher.simulation import oracles, stage
from publisher.simulation.doors import ModelRecords
from publisher.simulation.history import History
from publisher.simulation.memo import ACTOR, Memo
from publisher.simulation.oracles import Oracles, Violation, after
from publisher.simulation.people import Ending
from publisher.simulation.talk import Talk
from publisher.simulation.world import Actor

PATH = stage.daily_path(stage.FIRST)
NONCE = "a" * 32


class Scene:
    """A history of one date after ``effects`` of its first run (all of them by default), and somebody who can do wrong."""

    def __init__(self, effects: int = -1, kind: str = "conditional", story: str = "one date") -> None:
        memo = Memo()
        self.history = History(memo, Oracles(memo.shared.contents), kind, stage.BY_NAME[story])
        self.world = self.history.world
        self.history.do(("start", ("run",), 0))
        self.history.do(("step", 0, effects))
        self.first = self.history.actors[0]
        self.actor = self.history.start(("run",))
        self.actor.seen_default, self.actor.seen_state = self.world.default, self.world.state

    def facts(self) -> oracles.Facts:
        return self.history.oracles.facts(self.world.state)

    def push(self, path: str, *events: NewEvent, by: Actor | None = None, on: str | None = None) -> None:
        records = ModelRecords(Talk(lambda effect: (effect, 0)), self.world.contents, ACTOR)
        base = self.world.state if on is None else on
        tips = Tips(default=self.world.default, state=base, drafts="")
        commit = records.compose(tips, Batch(events={path: events}, message="planted"), stage.instant(self.world.now))
        self.world.take_anyway(by or self.actor, commit, ())

    def claim(self, number: int | None = None, nonce: str = NONCE) -> int:
        """The somebody takes the site's claim, as a run would."""
        epoch, epoch_id, last, _ = self.facts().claim
        number = last + 1 if number is None else number
        fields = {"epoch": epoch, "epoch_id": epoch_id, "fence": number, "nonce": nonce, "holder": "x", "plan": "", "until": ""}
        self.actor.nonces.add(nonce)
        self.push(f"{stage.SITE_ID}/claims/2026", NewEvent(type=EventType.CLAIMED, fields=fields, claim=number))
        return number

    def record(self, kind: EventType, **fields: Any) -> None:
        self.push(PATH, NewEvent(type=kind, fields=fields, claim=self.facts().claim[2]))

    def intend(self, release: str = "sha256:new", path: str = PATH) -> None:
        fields = {"deployment": 2, "release": release, "base": self.world.files}
        self.push(path, NewEvent(type=EventType.DEPLOY_INTENT, fields=fields, claim=self.facts().claim[2]))


def ledger_rewritten(scene: Scene) -> None:
    scene.push(PATH, NewEvent(type=EventType.CANCELED, fields={"reason": "r"}), on=scene.world.tips[1])


def stale_holder_wrote(scene: Scene) -> None:
    scene.claim()
    scene.push(PATH, NewEvent(type=EventType.FAILED, fields={"step": "x", "code": "y"}, claim=1), by=scene.first)


def claim_doubled(scene: Scene) -> None:
    scene.claim()
    scene.claim(scene.facts().claim[2], "b" * 32)


def claim_shared(scene: Scene) -> None:
    """Two actors make the same claim, word for word: the second finds it there and takes it for its own."""
    scene.claim()
    scene.world.perform(scene.first, ("push", scene.world.state, scene.world.tips[-2], ()), "")


def not_approved(scene: Scene) -> None:
    scene.claim()
    scene.world.edit(("dismiss", PATH))
    scene.actor.seen_default = scene.world.default
    scene.intend()


def approval_expired(scene: Scene) -> None:
    scene.claim()
    scene.world.now += stage.DAY
    scene.intend()


def too_early(scene: Scene) -> None:
    scene.claim()
    scene.world.now -= 2 * stage.HOUR
    scene.intend()


def while_paused(scene: Scene) -> None:
    scene.claim()
    scene.push(f"{stage.SITE_ID}/controls", NewEvent(type=EventType.PAUSED, fields={"reason": "r"}))
    scene.intend()


def twice_intended(scene: Scene) -> None:
    scene.claim()
    scene.world.edit(stage.plan_edit("merge", stage.SECOND))
    scene.actor.seen_default = scene.world.default
    scene.intend()
    scene.world.now += stage.DAY
    scene.intend(path=stage.daily_path(stage.SECOND))


def public_unintended(scene: Scene) -> None:
    scene.world._now_live(scene.actor, scene.world.another_site, scene.world.files, (1, "e" * 32, 9, NONCE))


def not_as_approved(scene: Scene) -> None:
    scene.claim()
    scene.intend(scene.world.another_site)
    scene.world._now_live(scene.actor, scene.world.another_site, scene.world.files, (1, "e" * 32, 9, NONCE))


def stale_switch(scene: Scene) -> None:
    fence = (1, "e" * 32, 0, NONCE)
    scene.world._now_live(scene.first, scene.world.files, "", fence)


def vanished(scene: Scene) -> None:
    world, live = scene.world, scene.world.files
    world.set_files(world.another_site)
    world._now_live(scene.first, live, "", (1, "e" * 32, 9, NONCE))


def closed_and_public(scene: Scene) -> None:
    """A second deploy of the plan is intended and live, and recorded as not happened."""
    scene.claim()
    scene.intend(scene.world.another_site)
    scene.world.set_files(scene.world.another_site)
    scene.record(EventType.DEPLOY_CLOSED, deployment=2, why="not-switched")


def not_live(scene: Scene) -> None:
    scene.claim()
    scene.record(EventType.DEPLOYED, deployment=2, release="sha256:never", base="", how="switched")


def not_seen(scene: Scene) -> None:
    scene.claim()
    scene.actor.probed = scene.world.another_site
    scene.record(EventType.CONFIRMED, release=scene.world.files, urls=[], pages={})


def told_otherwise(scene: Scene) -> None:
    scene.claim()
    results = {oracles._pseudonym(stage.READERS[0]): "sent"}
    scene.record(EventType.ANNOUNCE_RESULT, channel="mail", results=results, codes={})


def told_twice(scene: Scene) -> None:
    for _ in range(2):
        scene.world.perform(scene.actor, ("send", f"{PATH}/mail/p", stage.READERS[0], "text"), "")


def said_twice(scene: Scene) -> None:
    scene.push(PATH, NewEvent(type=EventType.NOTICED, fields={"notice": "n"}))
    scene.actor.seen_state = scene.world.state
    scene.world.perform(scene.actor, ("alert", f"{PATH}/n", "text"), "")


def leaked_by_alert(scene: Scene) -> None:
    scene.world.perform(scene.actor, ("alert", "n", f"about {stage.word_of(8, 0)}"), "")


def leaked_by_record(scene: Scene) -> None:
    scene.push(PATH, NewEvent(type=EventType.CANCELED, fields={"reason": stage.word_of(8, 0)}))


def leaked_by_message(scene: Scene) -> None:
    scene.world.perform(scene.actor, ("send", "m/mail/p", stage.READERS[0], f"read {stage.word_of(8, 0)}"), "")


PLANTED = [
    ledger_rewritten, stale_holder_wrote, claim_doubled, claim_shared, not_approved, approval_expired, too_early, while_paused,
    twice_intended,
    public_unintended, not_as_approved, stale_switch, vanished, closed_and_public, not_live, not_seen, told_otherwise, told_twice,
    said_twice, leaked_by_alert, leaked_by_record, leaked_by_message,
]  # fmt: skip


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_it_speaks_of_what_is_planted(plant: Callable[[Scene], None]) -> None:
    scene = Scene()
    with pytest.raises(Violation) as spoken:
        plant(scene)
    assert spoken.value.oracle == plant.__name__.split("_by_")[0].replace("_", "-")


def test_every_oracle_of_the_list_is_planted_or_seen_in_the_end_phase() -> None:
    assert oracles.__doc__ is not None
    listed = {line.split()[0] for line in oracles.__doc__.splitlines() if line.startswith("    ")}
    planted = {plant.__name__.split("_by_")[0].replace("_", "-") for plant in PLANTED}
    assert listed - planted == {"crashed", "ledger-forgot"}, "these two: below, and in the corpus"


def test_what_is_allowed_is_not_spoken_of() -> None:
    scene = Scene()
    scene.claim()
    scene.push(f"{stage.SITE_ID}/controls", NewEvent(type=EventType.PAUSED, fields={"reason": "r"}))
    scene.push(f"{stage.SITE_ID}/controls", NewEvent(type=EventType.RESUMED, fields={"reason": "r"}))
    scene.intend()
    assert scene.facts().open_intents == {PATH}


def test_a_run_that_breaks_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from publisher.simulation.programs import PROGRAMS

    monkeypatch.setitem(PROGRAMS, "run", lambda doors: (doors.records.refresh(), {}["nothing"]))
    with pytest.raises(Violation, match="crashed: run: KeyError"):
        Scene()


@pytest.mark.parametrize(
    ("plant", "oracle"),
    [
        (lambda scene: scene.world.set_files(scene.world.another_site), "never-ends|ledger-differs"),
        (
            lambda scene: scene.history.oracles.facts_at.update({scene.world.state: oracles.Facts(last_release="x")}),
            "ledger-differs",
        ),
    ],
    ids=["a target that cannot be mended", "a ledger that says something else"],
)
def test_the_end_phase_speaks(plant: Callable[[Scene], None], oracle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    plant(scene)
    monkeypatch.setattr(Ending, "_mend_target", lambda ending: False)
    with pytest.raises(Violation, match=oracle):
        Ending(scene.history).reach()


def test_a_further_run_that_adds_something_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    ending = Ending(scene.history)
    everything = iter([1, 2])
    monkeypatch.setattr(Ending, "_everything", lambda ending: next(everything))
    with pytest.raises(Violation, match="not-at-rest"):
        ending.reach()


def test_what_a_plan_makes_public_is_computed_from_the_plan_alone() -> None:
    first = after((), stage.daily(stage.FIRST))
    assert first == (("a-0001", 0), ("a-0002", 0))
    second = after(first, stage.daily(stage.SECOND))
    assert second == (*first, ("a-0003", 0), ("a-0004", 0))
    assert after(second, stage.change(stage.SECOND, "correct")) == (("a-0001", 1), *second[1:])
    assert after(first, stage.change(stage.SECOND, "withdraw")) == (("a-0001", 0),)
