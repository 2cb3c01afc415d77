"""``watch`` at a simulated GitHub: the shipped schedules, alerts as issues, and a host that starts nothing any more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.deadman import monitoring
from tests.support.github_instance import GithubInstance, github_instance
from tests.support.instance import draft, source
from tests.support.scene import at, daily

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("plan.yml", "publish.yml", "watch.yml")
PLAN = daily("12-01")
LABEL = "publisher-alarm"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[GithubInstance]:
    """Alerts are issues; the workflows are the shipped ones; the first date is the first of December."""
    with github_instance(tmp_path, publish_time="09:00", articles=12) as made:
        made.go_to("11-29 08:00")
        text = made.remote.git("show", "main:publisher.yaml") + "\n"
        alerts = next(line for line in text.splitlines() if line.startswith("alerts:"))
        policy = made.remote.git("show", "main:plans/blog/policy.yaml") + "\n"
        flows = {f".github/workflows/{name}": (ROOT / ".github" / "workflows" / name).read_text("utf-8") for name in SHIPPED}
        changed = {
            "publisher.yaml": text.replace(alerts, "alerts: {kind: github-issue}").replace("[ops@example.org]", "[ann]"),
            "plans/blog/policy.yaml": policy.replace("2026-01-01", "2026-12-01"), **flows,
        }  # fmt: skip
        made.sim.commit(made.people["owner"], "main", changed)
        yield made


def watch(instance: GithubInstance, now: str, *argv: str, check: int | None = 0, who: str = "ci") -> Any:
    return json.loads(instance.do(who, "watch", "--json", *argv, now=now, check=check).stdout)


def alarms(data: Any) -> list[str]:
    return [alarm["id"] for alarm in data["alarms"]]


def strike(instance: GithubInstance, now: str, *names: str) -> None:
    """The host's scheduler starts these workflows, as far as it may."""
    instance.go_to(now)
    for name in names or SHIPPED:
        instance.sim.workflows.tick(name)


def issues(instance: GithubInstance) -> list[tuple[str, str]]:
    return [(issue.title.rpartition(" ")[2], issue.state) for issue in instance.sim.issues.all if LABEL in issue.labels]


def published(instance: GithubInstance) -> None:
    number = instance.propose("11-30 08:10", "--days", "2")
    instance.merge(number, "11-30 08:30")
    strike(instance, "11-30 09:13")
    strike(instance, "12-01 09:13")
    instance.do("ci", "run", "--scheduled", "--yes", now="12-01 09:14")


def test_a_day_at_github(instance: GithubInstance) -> None:
    number = instance.propose("11-30 08:10")
    strike(instance, "11-30 09:13")
    evening = watch(instance, "11-30 20:52", "--scheduled")
    assert alarms(evening) == [f"unapproved-tomorrow:{PLAN}"]
    assert f"request {number}" in evening["alarms"][0]["says"]
    assert issues(instance) == [("[unapproved-tomorrow]", "open")]

    instance.merge(number, "11-30 21:30")
    strike(instance, "12-01 09:13")  # and its job dies before it claims anything
    morning = watch(instance, "12-01 11:38", check=4)
    assert alarms(morning) == [f"due-unclaimed:{PLAN}"]
    assert issues(instance) == [("[unapproved-tomorrow]", "closed"), ("[due-unclaimed]", "open")]

    strike(instance, "12-01 12:13")
    instance.do("ci", "run", "--scheduled", "--yes", now="12-01 12:14")
    instance.merge(instance.propose("12-01 12:15", "--date", "2026-12-02"), "12-01 12:16")
    before = len(instance.sim.requests)
    assert alarms(watch(instance, "12-01 12:38")) == []
    asked = [f"{seen.method} {seen.path}" for seen in instance.sim.requests[before:]]
    assert issues(instance) == [("[unapproved-tomorrow]", "closed"), ("[due-unclaimed]", "closed")]
    assert sum("/actions/workflows/" in line for line in asked) == 2 * len(SHIPPED)
    texts = [issue.body for issue in instance.sim.issues.all] + [item.body for item in instance.sim.issues.comments]
    assert not [text for text in texts if "Article number" in text or "marker-" in text]


def test_a_schedule_that_was_switched_off(instance: GithubInstance) -> None:
    published(instance)
    assert alarms(watch(instance, "12-01 11:38")) == []
    instance.sim.workflows.disable("publish.yml", "disabled_inactivity")
    for moment in ("12-01 11:50", "12-01 12:10"):
        data = watch(instance, moment, check=4)
        assert alarms(data) == ["schedule-off:publish.yml"]
    assert "disabled_inactivity" in data["alarms"][0]["says"]
    assert issues(instance) == [("[schedule-off]", "open")]
    assert alarms(watch(instance, "12-01 12:20", "--site", "blog")) == [], "the schedules are the whole instance's matter"
    instance.sim.workflows.enable("publish.yml")
    assert watch(instance, "12-01 12:30")["cleared"] == ["schedule-off:publish.yml"]
    assert issues(instance) == [("[schedule-off]", "closed")]


def test_a_schedule_that_strikes_no_more(instance: GithubInstance) -> None:
    """Every workflow is active, and the host starts none: no run object tells of what was dropped."""
    published(instance)
    instance.do("ci", "run", "--yes", now="12-02 09:14")
    assert alarms(watch(instance, "12-02 11:38", check=None)).count("schedule-off:publish.yml") == 0
    data = watch(instance, "12-03 11:38", check=4)
    assert "schedule-off:publish.yml" in alarms(data)
    assert "schedule-off:watch.yml" in alarms(data)


def test_a_token_that_may_not_look_at_the_schedules_is_an_alarm_and_keeps_the_monitor_waiting(instance: GithubInstance) -> None:
    published(instance)
    may = {"contents": "write", "pull_requests": "write", "issues": "write", "statuses": "write"}
    instance.people["blind"] = instance.sim.app("blind[bot]", permissions=may)
    with monitoring(datetime.fromisoformat(at("12-01 11:38"))) as monitor:
        instance.environment["PUBLISHER_PING_URL"] = monitor.url
        data = watch(instance, "12-01 11:38", check=4, who="blind")
        assert monitor.calls == []
        watch(instance, "12-01 11:50")
        assert len(monitor.calls) == 1
    assert (alarms(data), data["complete"]) == (["instance-unreadable:.github/workflows"], False)
    assert "[host-forbidden]" in data["alarms"][0]["says"]
    assert issues(instance) == [("[instance-unreadable]", "closed")]


def test_a_host_that_is_busy_is_another_time(instance: GithubInstance) -> None:
    published(instance)
    instance.sim.faults.next("GET /repos/ann/site/actions/workflows/*", kind="secondary", times=3)
    data = watch(instance, "12-01 11:38", "--scheduled")
    assert (alarms(data), [item["code"] for item in data["problems"]], data["complete"]) == ([], ["host-busy"], False)


def test_runs_and_watch_speak_of_a_plan_in_issues_of_their_own(instance: GithubInstance) -> None:
    """A run's notices about one plan are one issue, closed by its recovery."""
    number = instance.propose("11-30 08:10")
    instance.sim.commit(
        instance.people["owner"], "main", {f"{source(1)}/index.md": draft(1, "guide", body="Edited before the review.\n")}
    )
    instance.merge(number, "11-30 08:30")
    strike(instance, "12-01 09:13")
    instance.do("ci", "run", "--scheduled", "--yes", now="12-01 09:14", check=4)
    instance.do("ci", "run", "--scheduled", "--yes", now="12-01 10:14", check=4)
    assert issues(instance) == [("[fingerprint-differs]", "open")]
    revision = json.loads(instance.do("planner", "revise", PLAN, "--reason", "as edited", "--json", now="12-01 10:20").stdout)[
        "proposed"
    ][0]["request"]
    instance.merge(int(revision), "12-01 10:30")
    instance.do("ci", "run", "--scheduled", "--yes", now="12-01 10:40")
    assert issues(instance) == [("[fingerprint-differs]", "closed")]
    assert len(instance.sim.issues.all) == 1


# --- nothing of ours runs any more ------------------------------------------------------------------------------------------------


def test_with_every_workflow_disabled_an_alarm_still_fires(instance: GithubInstance) -> None:
    """The host's scheduler is all that starts anything here: ``watch`` calls the monitor until the scheduler is told to stop."""
    published(instance)
    start = datetime.fromisoformat(at("12-01 11:38"))
    with monitoring(start, period=timedelta(hours=12), grace=timedelta(hours=6)) as monitor:
        instance.environment["PUBLISHER_PING_URL"] = monitor.url

        def hours(first: int, last: int) -> None:
            for hour in range(first, last):
                now = start + timedelta(hours=hour)
                monitor.pass_to(now)
                instance.sim.set_now(now)
                if hour % 12 == 0 and instance.sim.workflows.tick("watch.yml"):
                    instance.driven("ci", "watch", "--scheduled", now=now.isoformat())

        hours(0, 24)
        assert (len(monitor.calls), monitor.alarms) == (2, [])
        instance.sim.workflows.disable_all("disabled_inactivity")
        began = len(instance.sim.runs)
        hours(24, 29)
        assert monitor.alarms == [], "the grace is not over"
        hours(29, 96)
        assert len(instance.sim.runs) == began, "nothing was started"
        assert (len(monitor.calls), len(monitor.alarms)) == (2, 1)
        assert monitor.is_down
