"""Pause keeps what was planned; resuming publishes nothing by itself; a missed date is a person's to decide, one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.scene import Done, Scene, daily, scene_of

FIRST, SECOND, THIRD = daily("12-01"), daily("12-02"), daily("12-03")
DATES = (FIRST, SECOND, THIRD)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("pause"), publish_time="09:00") as scene:
        scene.approve(scene.plan("12-01 08:00", "--days", "3"), "12-01 08:05")
        scene.save("approved")
        yield scene


@pytest.fixture
def approved(stage: Scene) -> Scene:
    stage.back_to("approved")
    return stage


def pause(scene: Scene, now: str) -> None:
    scene.do("reviewer", "pause", "blog", "--reason", "away", now=now)


def resume(scene: Scene, now: str) -> None:
    scene.do("reviewer", "resume", "blog", "--reason", "back", now=now)


def codes(done: Done) -> dict[str, str]:
    return {plan["plan"]: done.code_of(plan["plan"]) for plan in done.data["sites"][0]["plans"]}


def test_after_thirty_days_nothing_floods(approved: Scene) -> None:
    scene = approved
    pause(scene, "12-01 08:30")
    done = scene.run("12-01 09:01", check=4)
    assert codes(done) == dict.fromkeys(DATES, "paused")
    assert scene.live == {}

    resume(scene, "12-31 10:00")
    done = scene.run("12-31 10:05", check=4)
    assert codes(done) == dict.fromkeys(DATES, "missed")
    for path in DATES:
        following = done.plan(path)["next"]
        assert f"publisher plan --again {path}" in following["command"]
        assert f"publisher skip {path[-10:]} --site blog" in following["command"]
    assert scene.live == {}
    told = len(scene.instance.alerts)
    before = scene.refs()
    scene.run("12-31 10:15", check=4)
    assert (scene.refs(), scene.live, len(scene.instance.alerts)) == (before, {}, told)

    # One date is asked for again, approved, and goes out with its own date and its own articles in their order.
    again = scene.do("planner", "plan", "--again", SECOND, "--json", now="12-31 11:00").data["proposed"][0]
    waiting = scene.run("12-31 11:05", check=4)
    assert codes(waiting) == {FIRST: "missed", SECOND: "approval-absent", THIRD: "missed"}
    assert waiting.plan(SECOND)["next"]["command"] == f"publisher approve {again['request']}"
    scene.approve(again["request"], "12-31 11:10")
    done = scene.run("12-31 11:15", check=4)
    assert codes(done) == {FIRST: "missed", SECOND: "over", THIRD: "missed"}
    require_the_second_alone(scene)

    # Another is closed for good; the third still waits for a person.
    scene.do("reviewer", "skip", "2026-12-03", "--site", "blog", "--reason", "too late", now="12-31 12:00")
    done = scene.run("12-31 12:05", check=4)
    assert codes(done) == {FIRST: "missed"}
    assert scene.do("ci", "status", THIRD, "--json", now="12-31 12:06").plan(THIRD)["stage"] == "canceled"
    require_the_second_alone(scene)
    refused = scene.do("planner", "plan", "--date", "2026-12-03", now="12-31 12:10", check=2)
    assert "no-plan" in refused.err


def require_the_second_alone(scene: Scene) -> None:
    listed = json.loads(scene.live[".well-known/publisher.json"])["articles"]
    assert [(item["id"], item["date"]) for item in listed] == [
        ("a-0003", "2026-12-02T09:00:00+08:00"),
        ("a-0004", "2026-12-02T09:00:00+08:00"),
    ]
    assert b"2026-12-31" not in scene.page("/article-0003/")  # type: ignore[operator]


def test_a_rejected_second_request_closes_the_date(approved: Scene) -> None:
    assert approved.run("12-05 10:00", check=4).code_of(FIRST) == "missed"
    again = approved.do("planner", "plan", "--again", FIRST, "--json", now="12-05 10:05").data["proposed"][0]
    approved.approve(again["request"], "12-05 10:10", "--reject")
    done = approved.run("12-05 10:15", check=4)
    assert (done.plan(FIRST)["did"], done.plan(FIRST)["stage"]) == (["canceled"], "canceled")
    assert approved.live == {}


def test_what_was_switched_is_finished_while_paused(approved: Scene) -> None:
    """Nothing new begins; what may be public already is seen to its end."""
    approved.killed("12-01 09:01", "after:target.switch:1")
    pause(approved, "12-01 09:10")
    done = approved.run("12-01 09:20")
    assert done.plan(FIRST)["stage"] == "confirmed"
    assert approved.articles() == ["a-0001", "a-0002"]
    assert approved.run("12-02 09:01", check=4).code_of(SECOND) == "paused"
    assert approved.articles() == ["a-0001", "a-0002"]


def test_saying_it_twice_records_it_once(approved: Scene) -> None:
    pause(approved, "12-01 08:30")
    before = approved.refs()
    pause(approved, "12-01 08:31")
    assert approved.refs() == before
    resume(approved, "12-01 08:32")
    before = approved.refs()
    resume(approved, "12-01 08:33")
    assert approved.refs() == before
    approved.run("12-01 09:01")
    assert approved.articles() == ["a-0001", "a-0002"]


def test_a_late_trigger_inside_the_validity_publishes_the_saved_date(approved: Scene) -> None:
    approved.run("12-02 08:30")
    listed = json.loads(approved.live[".well-known/publisher.json"])["articles"]
    assert {item["date"] for item in listed} == {"2026-12-01T09:00:00+08:00"}
