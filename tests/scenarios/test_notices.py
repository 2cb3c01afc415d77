"""People on call hear of a change once: a plan that keeps failing is one notice, a person's retry that fails again is one more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from publisher.domain.fingerprint import short
from publisher.engine.running import run_site
from publisher.wiring import open_instance
from tests.support.instance import draft, source
from tests.support.scene import Scene, at, daily, scene_of

PLAN = daily("12-01")
RUNS_IN_PROCESSES = 3
RUNS = 50


class StandingClock:
    """A clock that stands at one instant."""

    def __init__(self, now: str) -> None:
        self._now = datetime.fromisoformat(now).astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing is worth waiting for")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("notices"), publish_time="09:00") as scene:
        scene.plan("12-01 08:00")
        scene.save("planned")
        scene.approve(1, "12-01 08:05")
        scene.save("approved")
        yield scene


def run_often(scene: Scene, now: str, times: int, *, code: int) -> None:
    """The same run again and again, through the engine and the real repository, in this process."""
    wired = open_instance(scene.instance.clone("ci").path, clock=StandingClock(at(now)), environment={"PUBLISHER_ACTOR": "ci"})
    doors = wired.doors()
    for _ in range(times):
        assert run_site(doors, "blog").exit_code == code


def subjects(scene: Scene) -> list[str]:
    return [alert["subject"] for alert in scene.instance.alerts]


def test_fifty_failing_runs_speak_once_and_a_retry_once_more(stage: Scene) -> None:
    stage.back_to("planned")
    stage.edit({f"{source(1)}/index.md": draft(1, "guide", body="Edited before the review.\n")})
    stage.approve(1, "12-01 08:05")
    for _ in range(RUNS_IN_PROCESSES):
        stage.run("12-01 09:01", check=4)
    before = stage.refs()
    run_often(stage, "12-01 09:01:30", RUNS - RUNS_IN_PROCESSES, code=4)
    assert subjects(stage) == [f"{PLAN} stopped [fingerprint-differs]"]
    assert stage.refs() == before, "a run that finds the same again writes nothing"

    stage.do("reviewer", "retry", PLAN, "prepare", "--reason", "once more", now="12-01 09:30")
    for _ in range(2):
        stage.run("12-01 09:31", check=4)
    assert subjects(stage) == [f"{PLAN} stopped [fingerprint-differs]"] * 2

    # The finished recovery names the release and the addresses; and then there is no more to say.
    stage.approve(stage.propose("12-01 10:00", "revise", PLAN, "--reason", "as edited"), "12-01 10:01")
    stage.run("12-01 10:02")
    stage.run("12-01 10:03")
    assert subjects(stage)[2:] == [f"{PLAN} is public and confirmed"]
    require_recovery(stage)


def require_recovery(scene: Scene) -> None:
    text = scene.instance.alerts[-1]["text"]
    release = next(event["release"] for event in scene.instance.ledger(PLAN) if event["type"] == "confirmed")
    assert short(release) in text
    for number in (1, 2):
        assert f"{scene.instance.url}/article-{number:04d}/" in text


def test_what_is_not_seen_in_public_speaks_once_until_it_is(stage: Scene) -> None:
    stage.back_to("approved")
    stage.web.missing.add("/article-0002/")
    stage.run("12-01 09:01", check=6)
    for minute in ("12-01 09:10", "12-01 09:20"):
        before = stage.refs()
        stage.run(minute, check=6)
        assert stage.refs() == before
    assert subjects(stage) == [f"{PLAN} stopped [public-partial]"]
    stage.web.missing.clear()
    stage.run("12-01 09:30")
    assert subjects(stage)[1:] == [f"{PLAN} is public and confirmed"]
    require_recovery(stage)


def test_a_plan_that_is_due_and_not_approved_speaks_once(stage: Scene) -> None:
    """Merged by a push, without a review: silent until it is due, then one notice with the next command."""
    stage.back_to("new")
    stage.do("planner", "plan", "--local", now="12-01 08:00")
    path = f"plans/{PLAN}.yaml"
    stage.edit({path: (stage.instance.clone("planner").path / path).read_bytes()})
    stage.run("12-01 08:30")
    assert subjects(stage) == []
    for minute in ("12-01 09:01", "12-01 09:11", "12-01 09:21"):
        stage.run(minute, check=4)
    assert subjects(stage) == [f"{PLAN} stopped at prepare [approval-no-request]"]
    assert f"publisher plan --again {PLAN}" in stage.instance.alerts[0]["text"]
    assert "Article number" not in stage.instance.alerts[0]["text"], "no draft's title leaves by a notice"


def test_a_notice_that_nobody_got_is_said_again(stage: Scene) -> None:
    stage.back_to("approved")
    folder = stage.instance.folder / "alerts.jsonl"
    folder.mkdir()
    assert stage.run("12-03 10:00", check=4).code_of(PLAN) == "missed"
    assert stage.run("12-03 10:10", check=4).data["sites"][0]["pushes"] == 0
    folder.rmdir()
    stage.run("12-03 10:20", check=4)
    stage.run("12-03 10:30", check=4)
    assert subjects(stage) == [f"{PLAN} stopped at prepare [missed]"]
