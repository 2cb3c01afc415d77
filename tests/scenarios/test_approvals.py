"""Everything that is not an approval, met by a whole run: each plan is refused with its own code, and nothing of it is public.

The forge's own corpus is tests/forge; here the merges lie in a real instance, all due at once, beside one plan whose merge is good.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from publisher.domain.fingerprint import digest
from publisher.domain.ledger_events import EventType, NewEvent, encode
from publisher.wiring import payload_of
from tests.support.instance import INSTANCE_ID
from tests.support.scene import Done, Scene, at, daily, scene_of
from tests.support.signed_forge import World

GOOD = daily("12-01")


@dataclass
class Forger:
    """Somebody with push rights, and plans for many dates that the planner wrote and nobody has reviewed."""

    scene: Scene
    world: World

    def file(self, path: str) -> bytes:
        return (self.scene.instance.clone("planner").path / f"plans/{path}.yaml").read_bytes()

    def push(self, path: str, data: bytes | None = None) -> None:
        self.world.push(self.world.commit({name(path): data or self.file(path)}, [self.world.tips().default]))

    def crafted(self, plan: str, *, who: str = "reviewer", author: str | None = "planner", more: dict[str, bytes] | None = None,
                **fields: Any) -> None:  # fmt: skip
        """A request for one plan, merged with a statement in which single fields are replaced."""
        data = self.file(plan)
        payload, revision = payload_of(name(plan), data)
        plain = {"instance": INSTANCE_ID, "payload": payload, "revision": revision, "path": name(plan)}
        files = {name(plan): data, **(more or {})}
        statement = self.world.signed(who=who, **{**plain, **fields})
        self.world.merge(self.world.branch(1, files, who=author), [statement], files, who)


def name(path: str) -> str:
    return f"plans/{path}.yaml"


def pushed_without_request(forger: Forger, path: str) -> None:
    forger.push(path)


def for_another_hash(forger: Forger, path: str) -> None:
    forger.crafted(path, payload=digest(b"another plan"))


def for_another_path(forger: Forger, path: str) -> None:
    forger.crafted(path, path=name(daily("12-31")))


def for_another_branch(forger: Forger, path: str) -> None:
    forger.crafted(path, branch="next")


def for_another_instance(forger: Forger, path: str) -> None:
    forger.crafted(path, instance="i-" + "0" * 32)


def by_the_author(forger: Forger, path: str) -> None:
    forger.crafted(path, author="reviewer")


def by_an_unknown_key(forger: Forger, path: str) -> None:
    forger.crafted(path, who="second")


def by_a_key_of_the_same_merge(forger: Forger, path: str) -> None:
    public = " ".join((forger.scene.instance.folder / "keys" / "second.pub").read_text().split()[:2])
    rules = (
        forger.scene.text("approval.yaml") + f'  - {{principal: second@example.org, key: "{public}", may: [commit, approve]}}\n'
    )
    forger.crafted(path, who="second", more={"approval.yaml": rules.encode()})


def over_an_unsigned_commit(forger: Forger, path: str) -> None:
    forger.crafted(path, author=None)


def edited_later(forger: Forger, path: str) -> None:
    forger.crafted(path)
    forger.push(path, forger.file(path).replace(b"/article-", b"/an-article-"))


def reverted_and_pushed_again(forger: Forger, path: str) -> None:
    forger.crafted(path)
    forger.world.push(forger.world.commit({name(path): None}, [forger.world.tips().default]))
    forger.push(path)


def copied_to_another_date(forger: Forger, path: str) -> None:
    forger.push(path, forger.file(GOOD))


def recorded_by_hand(forger: Forger, path: str) -> None:
    """An ``approved`` record whose chain is right, for a plan that was only pushed."""
    forger.push(path)
    payload, _ = payload_of(name(path), forger.file(path))
    merge = forger.world.tips().default
    fields = {
        "gate": "plan", "plan_payload": payload, "plan_commit": merge, "payload": payload,
        "path": name(path), "revision": 1, "steps": ["prepare", "build", "deploy", "confirm"], "by": ["reviewer@example.org"],
        "merged_at": "2026-12-01T00:30:00Z", "merge": merge, "request": 1, "evidence": {"merge": merge},
    }  # fmt: skip
    line, _ = encode(
        NewEvent(type=EventType.APPROVED, fields=fields), after=None, at="2026-12-01T00:30:00Z", actor="ci", commit=merge
    )
    forger.world.push(forger.world.commit({f"ledger/{path}.jsonl": line}, [merge]))


ATTACKS: dict[str, tuple[Callable[[Forger, str], None], str]] = {
    daily("12-02"): (pushed_without_request, "approval-no-request"),
    daily("12-03"): (for_another_hash, "approval-other-payload"),
    daily("12-04"): (for_another_path, "approval-other-path"),
    daily("12-05"): (for_another_branch, "approval-other-branch"),
    daily("12-06"): (for_another_instance, "approval-other-instance"),
    daily("12-07"): (by_the_author, "approval-own-approval"),
    daily("12-08"): (by_an_unknown_key, "approval-unknown-key"),
    daily("12-09"): (by_a_key_of_the_same_merge, "approval-key-not-yet-trusted"),
    daily("12-10"): (over_an_unsigned_commit, "approval-unsigned-commit"),
    daily("12-11"): (edited_later, "conflict"),
    daily("12-12"): (reverted_and_pushed_again, "approval-restored-without-request"),
    daily("12-13"): (copied_to_another_date, "plan-rule"),
    daily("12-14"): (recorded_by_hand, "approval-no-request"),
}
EVERYTHING_IS_DUE = "12-15 08:00"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("approvals"), articles=30) as scene:
        yield scene


@pytest.fixture(scope="module")
def forger(stage: Scene) -> Forger:
    stage.do("planner", "plan", "--days", "14", "--local", now="12-01 00:10")
    instance = stage.instance
    instance.fresh_clone("work")
    (instance.remote.path / "objects" / "info" / "alternates").write_text("../../work/.git/objects\n")
    forger = Forger(stage, World(instance.folder, instance.folder / "keys", datetime.fromisoformat(at("12-01 08:00"))))
    for path, (attack, _) in ATTACKS.items():
        attack(forger, path)
    forger.world.now = datetime.fromisoformat(at("12-14 10:00"))
    forger.crafted(GOOD)
    stage.save("attacked")
    return forger


@pytest.fixture(scope="module")
def attacked(forger: Forger) -> Done:
    """One run that meets them all, with everything due."""
    return forger.scene.run(EVERYTHING_IS_DUE, check=4)


@pytest.mark.parametrize("path", ATTACKS, ids=[attack.__name__ for attack, _ in ATTACKS.values()])
def test_it_is_refused_with_a_code_of_its_own(attacked: Done, path: str) -> None:
    assert attacked.code_of(path) == ATTACKS[path][1]
    assert attacked.plan(path)["stage"] in ("planned", "approved")
    assert attacked.plan(path)["next"]["who"] == "person"
    assert attacked.plan(path)["next"]["command"].startswith("publisher ")


def test_the_plan_whose_merge_is_good_is_public_and_nothing_else(forger: Forger, attacked: Done) -> None:
    assert attacked.plan(GOOD)["did"] == ["prepared", "built", "deployed", "confirmed"]
    assert forger.scene.articles() == ["a-0001", "a-0002"]
    for number in range(3, 31):
        assert b"marker-%04d" % number not in forger.scene.everything_public


def test_naming_the_plan_and_saying_yes_does_not_help(forger: Forger, attacked: Done) -> None:
    before = forger.scene.refs(), forger.scene.live
    for path in (daily("12-02"), daily("12-14")):
        assert forger.scene.run(EVERYTHING_IS_DUE, path, "--yes", check=4).code_of(path) == ATTACKS[path][1]
    assert (forger.scene.refs(), forger.scene.live) == before


def test_a_record_by_hand_that_lacks_its_fields_stops_the_site(forger: Forger) -> None:
    """Not a crash: the file and line are named, and nothing is written."""
    scene = forger.scene
    scene.back_to("attacked")
    line, _ = encode(NewEvent(type=EventType.APPROVED), after=None, at="2026-12-01T00:30:00Z", actor="ci", commit="0" * 40)
    scene.edit({f"ledger/{daily('12-02')}.jsonl": line})
    before = scene.refs()
    done = scene.run(EVERYTHING_IS_DUE, check=7)
    assert f"ledger/{daily('12-02')}.jsonl:1" in json.dumps(done.data)
    assert (scene.refs(), scene.live) == (before, {})


# --- a good approval that is used up ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("spent"), publish_time="09:00") as scene:
        scene.approve(scene.plan("12-01 08:00"), "12-01 08:30")
        scene.save("approved")
        yield scene


def test_a_request_that_nobody_decided_is_no_plan_yet(approved: Scene) -> None:
    approved.back_to("new")
    approved.plan("12-01 08:00")
    assert approved.run("12-01 09:01").data["sites"][0] == {"site": "blog", "pushes": 0, "problem": None, "plans": []}
    assert "no-such-plan" in approved.run("12-01 09:01", GOOD, "--yes", check=5).out


@pytest.mark.parametrize(("now", "code", "exit_code"), [("12-02 08:59:30", "", 0), ("12-02 09:00", "missed", 4)])
def test_it_may_be_used_for_a_day(approved: Scene, now: str, code: str, exit_code: int) -> None:
    approved.back_to("approved")
    done = approved.run(now, check=exit_code)
    assert (approved.articles() == ["a-0001", "a-0002"]) is (exit_code == 0)
    if code:
        assert done.code_of(GOOD) == code
        assert f"publisher plan --again {GOOD}" in done.plan(GOOD)["next"]["command"]


def test_a_cancel_spends_it(approved: Scene) -> None:
    approved.back_to("approved")
    approved.do("reviewer", "cancel", GOOD, "--reason", "not today", now="12-01 08:40")
    done = approved.run("12-01 09:01", GOOD, "--yes")
    assert done.plan(GOOD)["stage"] == "canceled"
    assert done.data["sites"][0]["pushes"] == 0
    assert approved.live == {}


def test_a_revert_spends_it(approved: Scene) -> None:
    """The plan is gone, and putting the same bytes back by a push brings no approval back."""
    approved.back_to("approved")
    text = approved.text(name(GOOD))
    approved.edit({name(GOOD): None}, "Revert")
    assert approved.run("12-01 09:01").data["sites"][0]["plans"] == []
    assert "no-such-plan" in approved.run("12-01 09:01", GOOD, "--yes", check=5).out
    approved.edit({name(GOOD): text}, "Revert the revert")
    assert approved.run("12-01 09:02", check=4).code_of(GOOD) == "approval-restored-without-request"
    assert approved.live == {}


def test_a_rejection_is_final(approved: Scene) -> None:
    """Also for the same bytes in another request, which its author signs until somebody says yes."""
    approved.back_to("new")
    scene = approved
    scene.approve(scene.plan("12-01 08:00"), "12-01 08:10", "--reject")
    scene.do("planner", "plan", "--date", "2026-12-01", "--local", now="12-01 08:20", check=4)
    planner = scene.instance.clone("planner")
    planner.git("fetch", "--quiet", "origin")
    planner.git("checkout", "--quiet", "-B", "again", "origin/main")
    rejected = scene.instance.remote.git("log", "--format=%P", "-1", "main").split()[1]
    text = scene.text(name(GOOD), rejected)
    planner.commit({name(GOOD): text}, "The same again", key=scene.instance.folder / "keys" / "planner")
    planner.push("publisher/requests/9")
    assert "reject" in scene.approve(9, "12-01 08:30", check=4).err
    assert scene.run("12-01 09:01").data["sites"][0]["plans"] == []
    assert scene.live == {}


def test_a_run_that_waits_for_the_review(approved: Scene) -> None:
    """``--wait``: the plan is still a request; its merge is what lets the run go on."""
    approved.back_to("new")
    scene = approved
    scene.plan("12-01 09:00")
    process = scene.instance.start_driven("ci", "run", GOOD, "--yes", "--wait", "1h", now=at("12-01 09:01"))
    try:
        scene.approve(1, "12-01 09:01")
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, out + err
    assert scene.articles() == ["a-0001", "a-0002"]
