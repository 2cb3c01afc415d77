"""``watch`` over real instances: one alert per change, recorded after it was said, and a monitor that hears when nothing runs."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.deadman import SECRET, Monitor, monitoring
from tests.support.instance import draft, source
from tests.support.scene import Done, Scene, at, daily, scene_of

PLAN, NEXT = daily("12-01"), daily("12-02")
WATCH = "blog/watch"
WHO = "watcher"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("watch"), publish_time="09:00", articles=20) as scene:
        scene.edit({"plans/blog/policy.yaml": scene.text("plans/blog/policy.yaml").replace("2026-01-01", "2026-12-01")})
        scene.plan("11-30 08:00", "--days", "4")
        scene.save("planned")
        scene.approve(1, "11-30 08:05")
        scene.save("approved")
        scene.run("12-01 09:01")
        scene.save("published")
        yield scene


def watch(scene: Scene, now: str, *argv: str, check: int | None = 0, **driver: str) -> Done:
    return scene.do(WHO, "watch", "--json", *argv, now=now, check=check, **driver)


def alarms(done: Done) -> list[str]:
    return [alarm["id"] for alarm in done.data["alarms"]]


def subjects(scene: Scene) -> list[str]:
    return [alert["subject"] for alert in scene.instance.alerts]


def recorded(scene: Scene) -> list[tuple[str, str]]:
    return [(event["type"], event["alarm"]) for event in scene.instance.ledger(WATCH, scene.state)]


# --- a good day ---------------------------------------------------------------------------------------------------------------


def test_while_all_is_well_nothing_is_written_or_said(stage: Scene) -> None:
    stage.back_to("published")
    before, said = stage.refs(), subjects(stage)
    done = watch(stage, "12-01 10:00")
    assert (alarms(done), done.data["problems"], done.data["complete"]) == ([], [], True)
    assert done.data["plain"] == {"blog": "confirmed"}
    assert done.data["ping"] == "none"
    assert (stage.refs(), subjects(stage)) == (before, said)
    assert "all is well" in stage.do(WHO, "watch", now="12-01 10:01").out


# --- due and nobody came --------------------------------------------------------------------------------------------------------


def test_due_and_unclaimed_is_told_once_and_once_more_when_it_is_over(stage: Scene) -> None:
    stage.back_to("approved")
    assert alarms(watch(stage, "12-01 09:29")) == []
    for minute, new in (("12-01 09:31", True), ("12-01 10:31", False), ("12-01 11:31", False)):
        done = watch(stage, minute, check=4)
        assert [(alarm["id"], alarm["new"]) for alarm in done.data["alarms"]] == [(f"due-unclaimed:{PLAN}", new)]
    assert subjects(stage) == [f"{PLAN} is due and no run has claimed it [due-unclaimed]"]
    assert f"next: publisher run {PLAN}" in stage.instance.alerts[0]["text"]
    assert watch(stage, "12-01 11:40", "--scheduled", check=4).data["exit"] == 4, "an alarm turns a timer's run red"

    stage.run("12-01 12:00")
    for minute in ("12-01 12:05", "12-01 13:05"):
        watch(stage, minute)
    assert subjects(stage)[1:] == [f"no longer so: {PLAN} is due and no run has claimed it [due-unclaimed]"]
    assert recorded(stage) == [("alarm-raised", f"due-unclaimed:{PLAN}"), ("alarm-cleared", f"due-unclaimed:{PLAN}")]

    # What watch writes holds no run up, and the audit knows it.
    stage.run("12-02 09:01")
    audit = stage.do(WHO, "audit", "--json", now="12-02 09:10")
    assert [finding["code"] for finding in audit.data["problems"]] == []
    log = stage.do(WHO, "log", "--site", "blog", now="12-02 09:11").out
    assert f"raised the alarm due-unclaimed:{PLAN}" in log


def test_an_alarm_that_comes_back_is_told_again(stage: Scene) -> None:
    stage.back_to("published")
    for minute, code, up in (("12-01 10:00", 6, False), ("12-01 11:00", 0, True), ("12-01 12:00", 6, False)):
        stage.web.foreign = None if up else b"another site"
        watch(stage, minute, check=code)
    assert [line for line in subjects(stage) if "drifted" in line] == [
        "blog: the public site is not what the ledger records [drifted]",
        "no longer so: blog: the public site is not what the ledger records [drifted]",
        "blog: the public site is not what the ledger records [drifted]",
    ]


@pytest.mark.parametrize("where", ["after:alerts.say:1", "before:records.publish:1", "after:records.publish:1"])
def test_a_watch_that_dies_is_made_up_for_and_loses_nothing(stage: Scene, where: str) -> None:
    """The file of alerts knows a repetition by its id; a mailbox would get it a second time, and never a third."""
    stage.back_to("approved")
    log = stage.folder / "said.log"
    log.unlink(missing_ok=True)
    watch(stage, "12-01 09:40", check=-signal.SIGKILL, at=f"kill:{where}", log=str(log))
    for minute in ("12-01 09:50", "12-01 10:00"):
        watch(stage, minute, check=4, log=str(log))
    said = [line.split(" ")[0] for line in log.read_text().splitlines()].count("alerts.say")
    assert said == (1 if where == "after:records.publish:1" else 2)
    assert subjects(stage) == [f"{PLAN} is due and no run has claimed it [due-unclaimed]"]
    assert recorded(stage) == [("alarm-raised", f"due-unclaimed:{PLAN}")]


def test_an_alarm_is_said_though_nothing_can_be_recorded(stage: Scene) -> None:
    stage.back_to("approved")
    hook = stage.instance.folder / "remote.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    done = watch(stage, "12-01 09:40", check=4)
    assert subjects(stage) == [f"{PLAN} is due and no run has claimed it [due-unclaimed]"]
    assert [problem["code"] for problem in done.data["problems"]] == ["push-refused"]
    hook.unlink()
    watch(stage, "12-01 09:50", check=4)
    assert recorded(stage) == [("alarm-raised", f"due-unclaimed:{PLAN}")]


def test_an_alarm_that_nobody_got_is_said_again(stage: Scene) -> None:
    stage.back_to("approved")
    place = stage.instance.folder / "alerts.jsonl"
    place.mkdir()
    assert [item["code"] for item in watch(stage, "12-01 09:40", check=4).data["problems"]] == ["alert-undelivered"]
    assert recorded(stage) == []
    place.rmdir()
    watch(stage, "12-01 09:50", check=4)
    assert len(subjects(stage)) == len(recorded(stage)) == 1


def test_two_watchers_at_once_record_one_alarm(stage: Scene) -> None:
    stage.back_to("approved")
    with stage.stopped("12-01 09:40", "before:records.publish:1", "watch", "--json", who=WHO) as held:
        stage.do("second-watcher", "watch", "--json", now="12-01 09:41", check=4)
        done = held.go_on()
    assert (done.code, done.data["problems"]) == (4, [])
    assert recorded(stage) == [("alarm-raised", f"due-unclaimed:{PLAN}")]


# --- decisions that are missing -------------------------------------------------------------------------------------------------


def test_the_evening_before_an_unapproved_date(stage: Scene) -> None:
    stage.back_to("planned")
    assert alarms(watch(stage, "11-30 14:59")) == []
    done = watch(stage, "11-30 15:01", check=4)
    assert alarms(done) == [f"unapproved-tomorrow:{PLAN}"]
    assert done.data["alarms"][0]["next"] == "publisher approve 1"
    watch(stage, "11-30 16:01", "--scheduled")  # a reminder is no trouble yet
    assert subjects(stage) == [f"{PLAN} waits for a decision before its date [unapproved-tomorrow]"]
    stage.approve(1, "11-30 20:00")
    watch(stage, "11-30 20:05")
    assert subjects(stage)[1:] == [f"no longer so: {PLAN} waits for a decision before its date [unapproved-tomorrow]"]


def test_what_was_pushed_without_a_review_is_told(stage: Scene) -> None:
    stage.back_to("planned")
    stage.edit({f"plans/{PLAN}.yaml": stage.text(f"plans/{PLAN}.yaml", "publisher/requests/1")})
    done = watch(stage, "11-30 09:00", check=4)
    assert alarms(done) == [f"approval-not-proven:{PLAN}"]
    assert "[approval-no-request]" in done.data["alarms"][0]["says"]


def test_a_missed_date_replaces_the_alarm_before_it_and_is_closed_by_a_person(stage: Scene) -> None:
    stage.back_to("approved")
    watch(stage, "12-01 10:00", check=4)
    stage.run("12-02 09:30", check=4)  # the run of the next day says so too
    done = watch(stage, "12-02 10:00", check=4)
    assert f"missed:{PLAN}" in alarms(done)
    assert subjects(stage) == [
        f"{PLAN} is due and no run has claimed it [due-unclaimed]",
        f"{PLAN} stopped at prepare [missed]",
    ], "what a run has said is not said again, and an alarm that is replaced is not called over"
    assert [kind for kind, name in recorded(stage) if name == f"missed:{PLAN}"] == ["alarm-raised"]
    stage.do("reviewer", "skip", "2026-12-01", "--reason", "too late", now="12-02 11:00")
    watch(stage, "12-02 11:05")
    assert recorded(stage)[-1] == ("alarm-cleared", f"missed:{PLAN}")
    assert len(subjects(stage)) == 2


def test_tomorrow_without_a_plan_and_a_queue_that_runs_short(stage: Scene) -> None:
    stage.back_to("published")
    for day in ("12-02", "12-03", "12-04"):
        stage.run(f"{day} 09:01")
    assert alarms(watch(stage, "12-04 14:59")) == []
    done = watch(stage, "12-04 15:01", check=4)
    assert alarms(done) == [f"no-plan:{daily('12-05')}"]
    stage.plan("12-04 15:10", "--days", "2")
    assert alarms(watch(stage, "12-04 15:20", check=4)) == [f"unapproved-tomorrow:{daily('12-05')}"]

    stage.edit({"plans/blog/queue.yaml": "articles:\n  - {id: a-0001, source: drafts/blog/article-0001}\n"})
    done = watch(stage, "12-04 15:30", "--scheduled")
    assert alarms(done) == [f"unapproved-tomorrow:{daily('12-05')}", "queue-low:blog"]
    assert "[queue-short]" in done.data["alarms"][1]["says"]


def test_a_paused_site_is_left_alone(stage: Scene) -> None:
    stage.back_to("approved")
    watch(stage, "12-01 09:40", check=4)
    stage.do("reviewer", "pause", "blog", "--reason", "holidays", now="12-01 10:00")
    for minute in ("12-01 10:05", "12-05 10:05"):
        assert alarms(watch(stage, minute)) == []
    assert recorded(stage)[-1] == ("alarm-cleared", f"due-unclaimed:{PLAN}")


# --- runs that stopped ----------------------------------------------------------------------------------------------------------


def test_a_run_that_died_is_told_when_nobody_finishes_its_work(stage: Scene) -> None:
    stage.back_to("approved")
    stage.killed("12-01 09:01", "before:target.switch:1")
    assert alarms(watch(stage, "12-01 09:50")) == []
    done = watch(stage, "12-01 10:10", check=6)
    assert alarms(done) == [f"unknown-open:{PLAN}"]
    stage.run("12-01 10:20")
    assert alarms(watch(stage, "12-01 10:30")) == []


def test_a_claim_that_nobody_took_over(stage: Scene) -> None:
    stage.back_to("approved")
    stage.killed("12-01 09:01", "before:target.store:1")
    assert alarms(watch(stage, "12-01 10:00")) == []
    done = watch(stage, "12-01 10:12", check=6)
    assert alarms(done) == [f"claim-stuck:{PLAN}"]


def test_taken_up_and_not_finished_is_late(stage: Scene) -> None:
    stage.back_to("planned")
    stage.edit({f"{source(1)}/index.md": draft(1, "guide", body="Edited before the review.\n")})
    stage.approve(1, "11-30 08:05")
    stage.run("12-01 09:01", check=4)
    assert alarms(watch(stage, "12-01 10:59")) == []
    done = watch(stage, "12-01 11:01", check=4)
    assert alarms(done) == [f"late:{PLAN}"]
    assert subjects(stage) == [f"{PLAN} stopped [fingerprint-differs]"], "the run has told the people of it already"


def test_days_of_silence(stage: Scene) -> None:
    stage.back_to("published")
    stage.edit({"publisher.yaml": stage.text("publisher.yaml") + "watch: {nothing_confirmed_after: 1d}\n"})
    done = watch(stage, "12-02 11:30", check=4)
    assert "nothing-confirmed:blog" in alarms(done)
    assert f"the last confirmed plan is {PLAN}" in done.data["alarms"][-1]["says"]


# --- the public -----------------------------------------------------------------------------------------------------------------


def test_a_page_that_was_changed_from_outside_is_drift(stage: Scene) -> None:
    stage.back_to("published")
    page = (stage.instance.public / "current").resolve() / "article-0001" / "index.html"
    page.chmod(0o644)
    page.write_text("<p>something else</p>")
    done = watch(stage, "12-01 10:00", check=6)
    assert alarms(done) == ["drifted:blog"]
    assert done.data["alarms"][0]["urls"] == [f"{stage.web.url}article-0001/"]
    assert f"{stage.web.url}article-0001/" in stage.instance.alerts[-1]["text"]


@pytest.mark.parametrize("path", ["/feed.xml", "/.well-known/publisher.json", "/"])
def test_what_every_publication_changes_is_looked_at(stage: Scene, path: str) -> None:
    stage.back_to("published")
    stage.web.statuses[path] = 404
    try:
        done = watch(stage, "12-01 10:00", check=6)
    finally:
        stage.web.statuses.clear()
    assert done.data["alarms"][0]["urls"] == [f"{stage.web.url}{path.lstrip('/')}"]


def test_a_cache_alone_is_no_drift(stage: Scene) -> None:
    """Readers may get an old copy for a while; what caches pass on decides."""
    stage.back_to("published")
    stage.run("12-02 09:01")
    stage.web.cache()
    try:
        stage.run("12-03 09:01")
        done = watch(stage, "12-03 10:00")
    finally:
        stage.web.purge()
    assert alarms(done) == []
    assert done.data["plain"] == {"blog": "absent"}


def test_a_site_that_does_not_answer_is_another_alarm_and_hides_no_drift(stage: Scene) -> None:
    stage.back_to("published")
    stage.web.foreign = b"another site"
    watch(stage, "12-01 10:00", check=6)
    stage.web.foreign = None
    paths = {
        f"/{page}" for page in ("", "feed.xml", "atom.xml", ".well-known/publisher.json", "article-0001/", "article-0002/")
    }
    stage.web.statuses.update(dict.fromkeys(paths, 503))
    try:
        assert alarms(watch(stage, "12-01 11:00", check=5)) == ["public-unreachable:blog"]
    finally:
        stage.web.statuses.clear()
    assert [name for kind, name in recorded(stage) if kind == "alarm-cleared"] == [], "drift was not seen to be over"
    watch(stage, "12-01 12:00")
    over = {name for kind, name in recorded(stage) if kind == "alarm-cleared"}
    assert over == {"drifted:blog", "public-unreachable:blog"}


def test_an_answer_that_fails_once_is_nothing(stage: Scene) -> None:
    stage.back_to("published")
    plain_answer = stage.web.answer
    seen: list[str] = []

    def answer(request: Any) -> Any:
        """The ordinary look and the first that counts meet a server in trouble; the second does not."""
        seen.append(request.path)
        return (503, b"", {}) if seen.count(request.path) <= 2 else plain_answer(request)

    stage.web.answer = answer  # type: ignore[method-assign]
    try:
        done = watch(stage, "12-01 10:00")
    finally:
        del stage.web.answer
    assert alarms(done) == []
    assert {seen.count(path) for path in seen} == {3}


def test_a_deploy_under_way_is_no_drift(stage: Scene) -> None:
    """The switch happened and its record did not yet: what is public is another release than the ledger has."""
    stage.back_to("published")
    with stage.stopped("12-02 09:01", "after:target.switch:1"):
        assert alarms(watch(stage, "12-02 09:02")) == []


def test_a_deploy_that_comes_between_two_looks_is_no_drift(stage: Scene) -> None:
    """The ledger was read, then the next date went public: the second look is at what the ledger says by then."""
    stage.back_to("published")
    plain_answer, came = stage.web.answer, []

    def answer(request: Any) -> Any:
        if not came:
            came.append(request.path)
            run = stage.instance.start_driven("ci", "run", now=at("12-02 09:01"))
            run.communicate(timeout=60)
            assert run.returncode == 0
        return plain_answer(request)

    stage.web.answer = answer  # type: ignore[method-assign]
    try:
        done = watch(stage, "12-02 09:00")
    finally:
        del stage.web.answer
    assert (alarms(done), done.data["complete"]) == ([], True)
    assert len(stage.articles()) == 4


# --- what cannot be read --------------------------------------------------------------------------------------------------------


def test_an_instance_that_cannot_be_read_is_told_by_what_the_last_readable_one_says(stage: Scene) -> None:
    stage.back_to("published")
    good = stage.text("publisher.yaml")
    stage.edit({"publisher.yaml": good.replace("zone: Asia/Hong_Kong", "zone: Asia/Nowhere")})
    done = watch(stage, "12-01 10:00", check=3)
    assert (alarms(done), done.data["complete"]) == (["instance-unreadable:publisher.yaml"], False)
    assert "publisher.yaml:10:11" in done.data["alarms"][0]["says"]
    assert subjects(stage)[-1] == "publisher.yaml cannot be read or judged [instance-unreadable]"
    stage.edit({"publisher.yaml": good})
    assert alarms(watch(stage, "12-01 11:00")) == []


@pytest.mark.parametrize(
    ("path", "text", "alarm", "code"),
    [
        ("plans/blog/policy.yaml", "version: one\n", "instance-unreadable:plans/blog/policy.yaml", 3),
        ("plans/blog/queue.yaml", "articles: 7\n", "instance-unreadable:plans/blog/queue.yaml", 3),
        (f"plans/{daily('12-05')}.yaml", "kind: publication\n", f"instance-unreadable:{daily('12-05')}", 3),
    ],
)
def test_a_file_that_cannot_be_read_is_told(stage: Scene, path: str, text: str, alarm: str, code: int) -> None:
    stage.back_to("published")
    stage.edit({path: text})
    (told,) = watch(stage, "12-01 10:00", check=code).data["alarms"]
    assert told["id"] == alarm
    assert f"{path}:1:" in told["says"] or "[schema-" in told["says"]


def test_a_broken_ledger_is_told_and_holds_no_other_alarm_back(stage: Scene) -> None:
    stage.back_to("published")
    path = f"ledger/{PLAN}.jsonl"
    stage.edit({path: stage.text(path).replace('"n":2', '"n":7')})
    done = watch(stage, "12-01 10:00", check=7)
    assert (alarms(done), done.data["complete"]) == (["instance-unreadable:blog"], False)
    assert "[ledger-broken]" in done.data["alarms"][0]["says"]
    watch(stage, "12-01 11:00", check=7)
    assert subjects(stage).count("blog cannot be read or judged [instance-unreadable]") == 1
    assert recorded(stage) == [("alarm-raised", "instance-unreadable:blog")]


def test_an_unreachable_remote_is_no_alarm_and_no_call(stage: Scene) -> None:
    stage.back_to("published")
    with monitoring(datetime(2026, 12, 1, tzinfo=UTC)) as monitor:
        stage.instance.environment["PUBLISHER_PING_URL"] = monitor.url
        try:
            done = watch(stage, "12-01 10:00", "--scheduled", check=5, unreachable="1")
        finally:
            del stage.instance.environment["PUBLISHER_PING_URL"]
        assert monitor.calls == []
    assert (done.data["alarms"], [item["code"] for item in done.data["problems"]]) == ([], ["remote-unreachable"])


# --- the dead man's switch --------------------------------------------------------------------------------------------------------


@pytest.fixture
def monitor(stage: Scene) -> Iterator[Monitor]:
    start = datetime.fromisoformat(at("12-01 10:00")).astimezone(UTC)
    with monitoring(start, period=timedelta(hours=1), grace=timedelta(hours=2)) as made:
        stage.instance.environment["PUBLISHER_PING_URL"] = made.url
        yield made
        del stage.instance.environment["PUBLISHER_PING_URL"]


def test_with_everything_switched_off_an_alarm_still_fires(stage: Scene, monitor: Monitor) -> None:
    """While its schedule runs, ``watch`` calls the monitor; then no process of ours runs any more, and the monitor speaks."""
    stage.back_to("published")
    for hour in ("10:00", "11:00", "12:00", "13:00"):
        now = at(f"12-01 {hour}")
        monitor.pass_to(datetime.fromisoformat(now).astimezone(UTC))
        assert watch(stage, now, "--scheduled").data["ping"] == "sent"
    assert (len(monitor.calls), monitor.alarms) == (4, [])
    last = monitor.calls[-1]
    # Every workflow is disabled: publish, watch, all of them. Nothing is started here any more.
    monitor.pass_to(last + timedelta(hours=2, minutes=59))
    assert monitor.alarms == []
    monitor.pass_to(last + timedelta(hours=3))
    assert monitor.alarms == [last + timedelta(hours=3)]
    monitor.pass_to(last + timedelta(days=2))
    assert monitor.is_down
    assert len(monitor.alarms) == 1
    # Switched on again, the first round that looks ends it; what happened meanwhile is told by watch itself.
    done = watch(stage, (last + timedelta(days=2)).isoformat(), check=4)
    assert done.data["ping"] == "sent"
    assert not monitor.is_down
    assert f"missed:{NEXT}" in alarms(done)


def test_the_call_means_that_a_round_could_look_and_not_that_all_is_well(stage: Scene, monitor: Monitor) -> None:
    stage.back_to("approved")
    done = watch(stage, "12-01 10:00", check=4)
    assert (alarms(done), done.data["ping"], len(monitor.calls)) == ([f"due-unclaimed:{PLAN}"], "sent", 1)


@pytest.mark.parametrize("argv", [("--no-ping",), ("--site", "blog")])
def test_whoever_looks_by_hand_or_at_a_part_makes_no_call(stage: Scene, monitor: Monitor, argv: tuple[str, ...]) -> None:
    stage.back_to("published")
    assert watch(stage, "12-01 10:00", *argv).data["ping"] == "none"
    assert monitor.calls == []


def test_a_call_that_does_not_arrive_is_said_without_the_address(stage: Scene, monitor: Monitor) -> None:
    stage.back_to("published")
    monitor.statuses = [503] * 6
    assert watch(stage, "12-01 10:00", "--scheduled").data["ping"] == "ping-failed"
    done = stage.do(WHO, "watch", now="12-01 10:05", check=5)
    assert "[ping-failed]" in done.err
    assert SECRET not in done.text
    stage.instance.environment["PUBLISHER_PING_URL"] = f"http://hc.example/{SECRET}"
    done = stage.do(WHO, "watch", "--scheduled", now="12-01 10:10", check=3)
    assert "[ping-url]" in done.err
    assert SECRET not in done.text


# --- in a CI --------------------------------------------------------------------------------------------------------------------


def test_a_job_reads_as_a_report_and_shows_no_title(stage: Scene, tmp_path: Path) -> None:
    stage.back_to("approved")
    summary = tmp_path / "summary.md"
    more = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    stage.instance.environment |= more
    try:
        done = watch(stage, "12-01 09:40")
        assert (done.data["alarms"], subjects(stage)) == ([], []), "a repository that is not set up yet is green"
        stage.instance.environment["PUBLISHER_ROOT"] = stage.instance.remote.git(
            "rev-list", "--max-parents=0", "main", "--", "approval.yaml"
        )
        done = watch(stage, "12-01 09:40", check=4)
    finally:
        for name in (*more, "PUBLISHER_ROOT"):
            stage.instance.environment.pop(name, None)
    text = summary.read_text()
    assert "not set up" in text.lower()
    assert "Watch: 1 alarms" in text
    assert "`due-unclaimed`" in text
    assert "Article number" not in text + done.text + json.dumps(stage.instance.alerts)
