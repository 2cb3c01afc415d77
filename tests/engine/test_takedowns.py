"""A takedown: which leftovers it lists, when it may be opened, and what its records make true."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from publisher.domain.ledger_events import EventType
from publisher.domain.takedown import ALWAYS, RISKS, risks_of
from publisher.domain.tasks import IllegalTransition
from tests.domain.test_history import PLAN, Record, history_of, up_to
from tests.support.scene import Scene, daily, scene_of

OPENED: Record = (EventType.TAKEDOWN, {"articles": ["a-1"], "risks": ["caches", "archives"], "reason": "r"})
CLOSED: Record = (EventType.FOLLOWED_UP, {"risk": "caches", "outcome": "done", "reason": "r"})


@pytest.mark.parametrize(
    ("announced", "on_a_branch", "more"),
    [
        (False, False, ()),
        (True, False, ("mails",)),
        (False, True, ("branch-history",)),
        (True, True, ("mails", "branch-history")),
    ],
)
def test_which_steps_there_are(announced: bool, on_a_branch: bool, more: tuple[str, ...]) -> None:
    steps = risks_of(announced=announced, on_a_branch=on_a_branch)
    assert steps == (*ALWAYS, *more)
    assert set(steps) <= RISKS.keys()


def test_its_records_are_folded() -> None:
    public = up_to("confirmed", PLAN)
    assert history_of(PLAN, *public).takedown is None
    assert history_of(PLAN, *public, OPENED).takedown == {"caches": "", "archives": ""}
    assert history_of(PLAN, *public, OPENED, CLOSED).takedown == {"caches": "done", "archives": ""}
    assert history_of(PLAN, *public, OPENED, CLOSED, OPENED).takedown == {"caches": "done", "archives": ""}


@pytest.mark.parametrize("records", [(OPENED,), (*up_to("confirmed", PLAN), CLOSED)])
def test_out_of_turn_they_are_no_history(records: tuple[Record, ...]) -> None:
    with pytest.raises(IllegalTransition):
        history_of(PLAN, *records)


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("takedown"), publish_time="09:00") as scene:
        scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
        scene.run("12-01 09:01")
        yield scene


def refused(scene: Scene, now: str, *argv: str, check: int) -> str:
    return str(scene.do("oncall", "takedown", *argv, "--json", now=now, check=check).data["error"]["code"])


def test_it_is_opened_when_the_page_is_gone_and_not_before(public: Scene) -> None:
    scene, why = public, ("--reason", "a test")
    assert refused(scene, "12-01 10:00", "a-0001", *why, check=2) == "no-withdrawal"
    assert refused(scene, "12-01 10:00", daily("12-01"), *why, check=2) == "no-withdrawal"
    number = scene.propose("12-01 10:00", "change", "withdraw", "a-0001", *why)
    scene.approve(number, "12-01 10:01")
    assert refused(scene, "12-01 10:02", "a-0001", *why, check=4) == "not-taken-down"
    scene.run("12-01 10:03")
    assert refused(scene, "12-01 10:04", "a-0001", "caches", "--done", *why, check=4) == "no-takedown"
    shown = scene.do("oncall", "takedown", "a-0001", now="12-01 10:05", check=4)
    assert "was opened" in shown.out
    assert '--reason "…"' in shown.err
    scene.do("oncall", "takedown", "blog/changes/2026/2026-12-01-1", *why, now="12-01 10:06", check=4)
    assert refused(scene, "12-01 10:07", "a-0001", "dreams", "--done", *why, check=2) == "no-such-risk"
    assert refused(scene, "12-01 10:07", "a-0001", "caches", "--done", check=2) == "which"
    assert refused(scene, "12-01 10:07", "a-0001", "caches", *why, check=2) == "which"
    refs = scene.refs()
    scene.do("oncall", "takedown", "a-0001", "caches", "--done", *why, now="12-01 10:08", check=4)
    once = scene.refs()
    assert once != refs
    scene.do("oncall", "takedown", "a-0001", "caches", "--done", *why, now="12-01 10:09", check=4)
    assert scene.refs() == once, "the same word twice is one record"
    story = scene.do("oncall", "log", "--site", "blog", now="12-01 10:10").out
    assert "opened a takedown with 6 steps: a test" in story
    assert "takedown, caches: done: a test" in story


def test_its_article_is_never_planned_again(public: Scene) -> None:
    """Also where its draft is still queued: it is withdrawn, not a draft."""
    made = public.do("planner", "plan", "--date", "2026-12-02", "--json", now="12-01 12:00").data["proposed"][0]["plans"][0]
    assert "a-0001" not in [article["id"] for article in made["articles"]]
