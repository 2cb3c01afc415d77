"""Publications whose gate is a pull request: the whole way on a simulated GitHub, with real git over http and the real command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github_instance import GithubInstance, github_instance

PLAN = "blog/daily/2026/2026-12-01"
NEXT = "blog/daily/2026/2026-12-02"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[GithubInstance]:
    with github_instance(tmp_path, publish_time="09:00", articles=12) as made:
        yield made


def articles(instance: GithubInstance) -> list[str]:
    return sorted(item["id"] for item in json.loads(instance.live()[".well-known/publisher.json"])["articles"])


@pytest.mark.parametrize("method", ["merge", "squash", "rebase", "queue"])
def test_a_reviewed_pull_request_becomes_public_once(instance: GithubInstance, method: str) -> None:
    number = instance.propose("11-30 18:00", "--date", "2026-12-01")
    merge = instance.merge(number, "11-30 20:00", method)
    recorded = json.loads(instance.do("ci", "approve", "--record", "--json", now="11-30 20:01").stdout)
    assert [(row["plan"], row["by"], row["request"]) for row in recorded["approvals"]] == [(PLAN, "rae", str(number))]

    early = instance.do("ci", "run", "--scheduled", now="12-01 08:59")
    assert "nothing was written" in early.stdout and instance.live() == {}

    instance.do("ci", "run", "--scheduled", now="12-01 09:07")
    assert articles(instance) == ["a-0001", "a-0002"]
    events = instance.ledger(PLAN)
    assert events[0]["type"] == "approved"
    assert events[0]["merge"] == merge and events[0]["request"] == number and events[-1]["type"] == "confirmed"

    before, pushes = instance.commits(), len(instance.sim.pushes)
    again = instance.do("ci", "run", "--scheduled", now="12-01 09:37")
    assert "nothing was written" in again.stdout
    assert (instance.commits(), len(instance.sim.pushes)) == (before, pushes)
    audit = json.loads(instance.do("ci", "audit", "--fresh", "--json", now="12-01 10:00").stdout)
    assert (audit["problems"], [item["code"] for item in audit["not_proven"]]) == ([], [])


def test_a_merge_that_nobody_reviewed_is_told_at_once_and_never_published(instance: GithubInstance) -> None:
    number = instance.propose("11-30 18:00", "--date", "2026-12-01")
    instance.merge(number, "11-30 20:00", review=False)
    told = instance.do("ci", "approve", "--record", now="11-30 20:01", check=4)
    assert "[approval-" in told.stderr and PLAN in told.stderr + told.stdout
    instance.do("ci", "run", "--scheduled", now="12-01 09:07", check=4)
    assert instance.live() == {}
    assert "approved" not in [event["type"] for event in instance.ledger(PLAN)]
    assert [alert for alert in instance.alerts if PLAN in json.dumps(alert)]


def test_what_is_shown_without_a_connection_is_what_was_recorded(instance: GithubInstance) -> None:
    number = instance.propose("11-30 18:00", "--date", "2026-12-01")
    instance.merge(number, "11-30 20:00")
    ci = instance.clone("ci")
    ci.git("fetch", "--quiet", str(instance.sim.bare), "+refs/heads/*:refs/remotes/origin/*")
    requests = len(instance.sim.requests)
    shown = json.loads(instance.do("ci", "status", "--json", now="11-30 20:01").stdout)["plans"][0]
    assert (shown["stage"], shown["approval"]) == ("planned", None)
    assert shown["next"]["command"] == "publisher status --fresh"
    assert len(instance.sim.requests) == requests
    fresh = json.loads(instance.do("ci", "status", "--fresh", "--json", now="11-30 20:01").stdout)["plans"][0]
    assert (fresh["stage"], fresh["approval"]["by"]) == ("approved", "rae")
    instance.do("ci", "approve", "--record", now="11-30 20:02")
    requests = len(instance.sim.requests)
    recorded = json.loads(instance.do("ci", "status", "--json", now="11-30 20:03").stdout)["plans"][0]
    assert (recorded["stage"], recorded["approval"]["by"]) == ("approved", "rae")
    assert len(instance.sim.requests) == requests


def test_an_unreachable_host_means_later_and_nothing_is_published(instance: GithubInstance) -> None:
    number = instance.propose("11-30 18:00", "--date", "2026-12-01")
    instance.merge(number, "11-30 20:00")
    instance.do("ci", "approve", "--record", now="11-30 20:01")
    instance.sim.faults.next("GET /repos/*", status=503, times=1000)
    instance.do("ci", "run", now="12-01 09:07", check=5)
    assert instance.live() == {}
    instance.sim.faults.clear()
    instance.do("ci", "run", now="12-01 09:37")
    assert articles(instance) == ["a-0001", "a-0002"]


@pytest.mark.parametrize("where", ["before:target.switch:1", "after:target.switch:1", "after:records.publish:1"])
def test_a_killed_run_is_finished_by_a_fresh_checkout(instance: GithubInstance, where: str) -> None:
    number = instance.propose("11-30 18:00", "--date", "2026-12-01")
    instance.merge(number, "11-30 20:00", "squash")
    killed = instance.do("ci", "run", now="12-01 09:07", check=None, at=f"kill:{where}")
    assert killed.returncode < 0
    instance.fresh_clone("ci-2")
    instance.do("ci-2", "run", now="12-01 09:37")
    assert articles(instance) == ["a-0001", "a-0002"]
    types = [event["type"] for event in instance.ledger(PLAN)]
    assert types.count("deployed") == types.count("confirmed") == 1


def test_a_week_is_one_pull_request_and_each_day_is_approved_on_its_own(instance: GithubInstance) -> None:
    number = instance.propose("11-30 18:00", "--days", "3")
    assert instance.propose("11-30 18:05", "--days", "3") == number
    instance.merge(number, "11-30 20:00")
    # Its first day is the one on which it was planned, whose hour had passed.
    instance.do("ci", "run", "--scheduled", now="12-01 09:07")
    assert articles(instance) == [f"a-{n:04d}" for n in range(1, 5)]
    instance.do("ci", "run", "--scheduled", now="12-02 09:07")
    assert articles(instance) == [f"a-{n:04d}" for n in range(1, 7)]
    assert [event["type"] for event in instance.ledger(NEXT)][-1] == "confirmed"


def test_a_fork_never_acts(instance: GithubInstance) -> None:
    instance.environment = {"GITHUB_REPOSITORY": "eve/site"}
    done = instance.do("ci", "run", "--scheduled", now="12-01 09:07", check=None)
    assert done.returncode in (4, 7) and "[other-repository]" in done.stderr


def test_a_clock_that_the_host_contradicts_stops_the_run(instance: GithubInstance) -> None:
    number = instance.propose("11-30 18:00", "--date", "2026-12-01")
    instance.merge(number, "11-30 20:00")
    instance.go_to("12-01 08:00")
    done = instance.driven("ci", "run", now="2026-12-01T09:07:00+08:00", check=7)
    assert "[clocks-apart]" in done.stderr and instance.live() == {} and instance.ledger(PLAN) == []


def test_a_pause_waits_for_no_host(instance: GithubInstance) -> None:
    instance.sim.faults.next("* /repos/*", status=503, times=1000)
    asked = len(instance.sim.requests)
    instance.do("ci", "pause", "blog", "--reason", "legal asks", now="12-01 08:00")
    assert [event["type"] for event in instance.ledger("blog/controls")] == ["paused"]
    assert len(instance.sim.requests) == asked


def test_one_person_revises_by_the_runs_own_hand_and_may_then_approve(instance: GithubInstance) -> None:
    """The site's only person asks for a revision from the form, reviews it and merges it."""
    instance.merge(instance.propose("11-30 18:00", "--date", "2026-12-01"), "11-30 19:00")
    editor = instance.clone("editor")
    editor.git("fetch", "--quiet", str(instance.sim.bare), "main")
    editor.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    source = "drafts/blog/article-0001/index.md"
    editor.commit({source: (editor.path / source).read_text() + "One more sentence.\n"}, "A better text")
    instance.sim.push_as(instance.people["reviewer"], editor.head(), "main", folder=editor.path)
    form = {"decision": "revise", "plan": PLAN, "reason": "a better text"}
    instance.environment = {"PUBLISHER_DECISION": json.dumps(form)}
    instance.do("planner", "decide", now="11-30 20:00")
    instance.environment = {}
    (number,) = (one.number for one in instance.sim.pulls.all if not one.closed_at)
    assert instance.sim.pulls.numbered(number).user is instance.people["planner"]
    instance.merge(number, "11-30 20:10", "squash")
    instance.do("ci", "run", "--scheduled", now="12-01 09:07")
    assert b"One more sentence." in instance.live()["article-0001/index.html"]
    assert [event["payload"] for event in instance.ledger(PLAN) if event["type"] == "approved"]
