"""The shipped workflows through a week, executed from the files as ``init --github`` and this repository have them: planned by a
schedule, reviewed, merged, recorded, published, confirmed, watched; with a step killed, a second attempt, two runs at once, a run that
wakes too late, and a run by hand during a scheduled one. Concurrency groups do not exist here, so everything is left to the claim.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.support.act_log import Ran
from tests.support.actions import Actions, Running, actions_at
from tests.support.command_line import publisher
from tests.support.deadman import monitoring
from tests.support.github_instance import GithubInstance, github_instance
from tests.support.gitrepos import Repository
from tests.support.shipped import Shipped

FIRST = "blog/daily/2026/2026-12-01"
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds a step's process in /proc")


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[GithubInstance]:
    with github_instance(tmp_path, publish_time="09:00", articles=16) as made:
        yield made


@pytest.fixture
def actions(instance: GithubInstance, shipped: Shipped, tmp_path: Path) -> Iterator[Actions]:
    with actions_at(instance.sim, shipped, tmp_path / "actions") as made:
        made.variables["PUBLISHER_ROOT"] = instance.sim.git.branch("main")
        made.app = instance.people["planner"]
        made.variables["PUBLISHER_APP_CLIENT_ID"] = made.app.login
        editor = Repository(instance.folder / "editor", "editor")
        said = publisher(
            "init", "--github", "--repository", instance.sim.repository, "--site", "blog", "--uses", shipped.uses, "--no-example",
            at=editor.path,
        )  # fmt: skip
        assert said.code == 0, said.err
        editor.commit({}, "Workflows")
        instance.sim.push_as(instance.people["owner"], editor.head(), "refs/heads/main", folder=editor.path)
        yield made


def green(*runs: Ran) -> None:
    for ran in runs:
        assert ran.conclusion == "success", ran.log


def articles(instance: GithubInstance) -> list[str]:
    manifest = instance.live().get(".well-known/publisher.json")
    return sorted(item["id"] for item in json.loads(manifest)["articles"]) if manifest else []


def types(instance: GithubInstance, plan: str) -> list[str]:
    return [event["type"] for event in instance.ledger(plan)]


def approved(instance: GithubInstance) -> None:
    """The first days planned, reviewed, merged and recorded, by the command line alone: what the story below does by workflows."""
    number = instance.propose("11-30 23:30", "--days", "3")
    instance.merge(number, "11-30 23:40", "squash")
    instance.do("ci", "approve", "--record", now="11-30 23:41")


def test_a_week_goes_out_day_by_day_and_nothing_is_done_twice(instance: GithubInstance, actions: Actions) -> None:
    instance.go_to("11-30 23:30")
    planned = actions.tick("plan.yml")
    green(planned)
    (number,) = (one.number for one in instance.sim.pulls.all if not one.closed_at)
    (reviewed,) = actions.pending()
    green(reviewed)
    instance.merge(number, "11-30 23:40", "rebase")
    (recorded,) = actions.pending()
    green(recorded)
    assert f"#{number}" in recorded.summary
    days = [f"blog/daily/2026/2026-12-0{day}" for day in (1, 2, 3)]
    assert [types(instance, plan) for plan in days] == [["approved"]] * 3
    for day, plan in enumerate(days, start=1):
        instance.go_to(f"12-0{day} 09:13")
        published = actions.tick("publish.yml")
        green(published)
        assert published.ids == ["due", "publish"] and plan in published.summary and "confirmed" in published.summary
        assert types(instance, plan)[-1] == "confirmed"
        instance.go_to(f"12-0{day} 10:47")
        later, before = actions.tick("publish.yml"), instance.remote.refs()
        green(later)
        assert later.ids == ["due"] and instance.remote.refs() == before
    # The day on which it was planned had passed its hour; its articles went out with the first run.
    assert articles(instance) == [f"a-{n:04d}" for n in range(1, 9)]
    assert {event["request"] for plan in days for event in instance.ledger(plan) if event["type"] == "approved"} == {number}
    instance.go_to("12-03 11:38")
    watched = actions.tick("watch.yml")
    assert "drifted" not in watched.log and "late" not in watched.log, watched.log


def test_a_killed_step_is_finished_by_the_runs_second_attempt_though_its_commit_is_old(
    instance: GithubInstance, actions: Actions
) -> None:
    approved(instance)
    instance.go_to("12-01 09:13")
    run = instance.sim.workflows.tick("publish.yml")
    killed = actions.execute(run, at="kill:after:target.switch:1")
    assert (killed.conclusion, killed.job("publish").step("publisher run").result) == ("failure", "failure")
    editor = Repository(instance.folder / "editor", "editor")
    editor.git("fetch", "--quiet", str(instance.sim.bare), "main")
    editor.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    editor.commit({"README.md": "moved on\n"}, "Somebody works on")
    instance.sim.push_as(instance.people["owner"], editor.head(), "refs/heads/main", folder=editor.path)
    instance.go_to("12-01 09:40")
    instance.sim.workflows.rerun(instance.people["owner"], run)
    green(actions.execute(run))
    for plan in ("blog/daily/2026/2026-11-30", FIRST):
        assert types(instance, plan).count("deployed") == 1 and "confirmed" in types(instance, plan)
    assert articles(instance) == [f"a-{n:04d}" for n in range(1, 5)]


def test_two_runs_at_once_publish_once(instance: GithubInstance, actions: Actions) -> None:
    approved(instance)
    instance.go_to("12-01 09:13")
    runs = [instance.sim.workflows.tick("publish.yml") for _ in range(2)]
    done: list[Ran] = []
    racing = [threading.Thread(target=lambda run=run: done.append(actions.execute(run))) for run in runs]
    for one in racing:
        one.start()
    for one in racing:
        one.join()
    green(*done)
    for plan in ("blog/daily/2026/2026-11-30", FIRST):
        assert [types(instance, plan).count(kind) for kind in ("deploy-intent", "deployed", "confirmed")] == [1, 1, 1]
    assert articles(instance) == [f"a-{n:04d}" for n in range(1, 5)]


@needs_proc
def test_a_run_that_wakes_too_late_changes_nothing(instance: GithubInstance, actions: Actions) -> None:
    approved(instance)
    instance.go_to("12-01 09:13")
    late = actions.begin(instance.sim.workflows.tick("publish.yml"), at="stop:before:target.switch:1")
    process = stopped_step(late)
    # Its claim has run out by the catch-up run, which takes over.
    instance.go_to("12-01 10:47")
    green(actions.tick("publish.yml"))
    live, refs = instance.live(), instance.remote.refs()
    assert articles(instance) == [f"a-{n:04d}" for n in range(1, 5)]
    os.kill(process, signal.SIGCONT)
    woken = late.wait()
    assert woken.conclusion == "failure", woken.log
    assert (instance.live(), instance.remote.refs()) == (live, refs)
    assert types(instance, FIRST).count("deployed") == 1


@needs_proc
def test_a_run_by_hand_during_a_scheduled_one_leaves_it_alone(instance: GithubInstance, actions: Actions) -> None:
    approved(instance)
    instance.go_to("12-01 09:13")
    scheduled = actions.begin(instance.sim.workflows.tick("publish.yml"), at="stop:before:target.switch:1")
    process = stopped_step(scheduled)
    by_hand = actions.dispatch(instance.people["reviewer"], "publish.yml")
    green(by_hand)
    assert "busy" in by_hand.log and instance.live() == {}
    os.kill(process, signal.SIGCONT)
    green(scheduled.wait())
    assert articles(instance) == [f"a-{n:04d}" for n in range(1, 5)]
    assert types(instance, FIRST).count("deployed") == 1


def stopped_step(running: Running, seconds: float = 120.0) -> int:
    """The step of publisher in a run, once it has stopped itself; the process of its interpreter."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for process in running.steps_of_publisher():
            with contextlib.suppress(OSError):  # it has ended since
                if Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1].startswith("T"):
                    return process
        assert running.process.poll() is None, running.wait().log
        time.sleep(0.05)
    raise AssertionError(f"it never stopped: {running.wait().log}")


def test_with_every_workflow_switched_off_an_alarm_still_comes_from_outside(instance: GithubInstance, actions: Actions) -> None:
    sim = instance.sim
    with monitoring(datetime.fromisoformat(instance.go_to("11-30 23:00"))) as outside:
        outside.period, outside.grace = timedelta(hours=16), timedelta(hours=2)
        actions.secrets["PUBLISHER_PING_URL"] = outside.url
        approved(instance)
        instance.go_to("12-01 09:13")
        green(actions.tick("publish.yml"))
        outside.pass_to(datetime.fromisoformat(instance.go_to("12-01 11:38")))
        watched = actions.tick("watch.yml")
        assert outside.calls and not outside.alarms, watched.log
        assert outside.url not in watched.log
        sim.workflows.disable_all("disabled_inactivity")
        assert [sim.workflows.tick(name) for name in ("publish.yml", "watch.yml", "plan.yml")] == [None] * 3
        outside.pass_to(datetime.fromisoformat(instance.go_to("12-02 09:13")))
        assert outside.alarms


if sys.platform == "darwin":  # act's host mode was tried on Linux only
    pytestmark = pytest.mark.skip(reason="the workflows are executed on Linux")
