"""Triggers: late, lost, doubled, evicted. What starts a run is advice; plan and ledger decide."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from publisher.cli import doctor_schedules, doctor_workflows
from publisher.domain.business_calendar import instant_of, parse_clock_time, parse_zone
from publisher.domain.instance import GithubHost, TargetSpec
from publisher.engine.examining import Finding, Level
from publisher.gitstore import workflow_files
from tests.field.stories import FIRST, SECOND, claims, effects, manifest, told
from tests.support.github_instance import GithubInstance
from tests.support.oracle import outside
from tests.support.scene import Scene, at
from tests.support.values import INSTANCE, SITE

SHIPPED = Path(__file__).parents[2] / ".github/workflows"
ON_GITHUB = replace(INSTANCE, forge="github", github=GithubHost(repository="ann/site"))
ON_A_BRANCH = replace(SITE, target=TargetSpec(kind="git-branch", options={"branch": "gh-pages"}))
WINTER = datetime(2026, 12, 1, 10, 30, tzinfo=UTC)


def workflows(folder: Path, **files: str) -> list[Finding]:
    for name, text in files.items():
        path = folder / f".github/workflows/{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(doctor_workflows.look(ON_GITHUB, [ON_A_BRANCH], workflow_files.read(folder), None))


def schedule(folder: Path, publish_time: str, cron: str) -> list[Finding]:
    """What doctor says of one cron line in the site's own zone."""
    policy = folder / "plans" / SITE.id / "policy.yaml"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text(
        f'version: 1\nquantity: 1\nstart: "2026-01-01"\nzone: {SITE.zone_name}\npublish_time: "{publish_time}"\nhorizon_days: 14\n'
    )
    on = f"on:\n  schedule: [{{cron: '{cron}', timezone: {SITE.zone_name}}}]\n" if cron else "on: workflow_dispatch\n"
    flow = folder / ".github/workflows/publish.yml"
    flow.parent.mkdir(parents=True, exist_ok=True)
    flow.write_text(on + "jobs: {a: {steps: [{run: publisher run}]}}\n")
    wired: Any = SimpleNamespace(root=folder, clock=SimpleNamespace(now=lambda: WINTER))
    return list(doctor_schedules.look(wired, ON_GITHUB, [ON_A_BRANCH], workflow_files.read(folder), None))


def coded(findings: list[Finding], code: str) -> Finding:
    (found,) = [item for item in findings if item.code == code]
    return found


def test_S_01_two_starts_in_one_second(approved: Scene) -> None:
    """Two processes at once: one claim, one deploy, one confirmation; the other one wrote nothing."""
    logs = {who: approved.folder / f"{who}.log" for who in ("one", "two")}
    for who, log in logs.items():
        log.unlink(missing_ok=True)
        approved.instance.fresh_clone(who)
    starts = {who: approved.instance.start_driven(who, "run", now=at("12-01 09:01"), log=str(log)) for who, log in logs.items()}
    ends = {who: (*process.communicate(timeout=120), process.returncode) for who, process in starts.items()}
    assert sorted(code for _, _, code in ends.values()) in ([0, 0], [0, 5]), ends
    (loser,) = [who for who, (out, _, _) in ends.items() if "nothing was written" in out]
    assert set(effects(logs[loser])) <= {"records.publish"}, "it tried to claim at the most"
    events = approved.events(FIRST)
    assert (claims(approved), events.count("deployed"), events.count("confirmed")) == (1, 1, 1)


def test_S_02_second_delivery_an_hour_later(public: Scene) -> None:
    before = outside(public.instance)
    done = public.run("12-01 10:02")
    assert done.data["sites"][0]["pushes"] == 0
    assert outside(public.instance) == before


def test_S_04_trigger_that_never_came(approved: Scene) -> None:
    """The absence is an event, told by another schedule, once."""
    for minute, new in (("12-01 09:31", True), ("12-01 10:31", False)):
        alarms = approved.do("watcher", "watch", "--json", now=minute, check=4).data["alarms"]
        assert [(alarm["id"], alarm["new"]) for alarm in alarms] == [(f"due-unclaimed:{FIRST}", new)]
    assert len(approved.instance.alerts) == 1


def test_S_05_trigger_hours_late(approved: Scene) -> None:
    """Inside the approval's time the date goes out as itself; past it, it waits for a person. The ledger shows both instants."""
    late = approved.do("ci", "preview", FIRST, "--fresh", "--now", at("12-02 09:00"), "--json", now="12-01 09:00").data
    assert late["plans"][0]["next"]["code"] == "missed"
    approved.run("12-01 15:38")
    assert {item["date"] for item in manifest(approved.live).values()} == {"2026-12-01T09:00:00+08:00"}
    deployed = next(event for event in approved.instance.ledger(FIRST) if event["type"] == "deployed")
    assert deployed["at"].startswith("2026-12-01T07:38")


def test_S_07_schedule_switched_off_by_the_host(hosted: GithubInstance) -> None:
    hosted.sim.workflows.disable("publish.yml", "disabled_inactivity")
    try:
        found = hosted.driven("owner", "doctor", "--json", now=hosted.go_to("11-30 12:00"))
    finally:
        hosted.sim.workflows.enable("publish.yml")
    (off,) = [item for item in json.loads(found.stdout)["findings"] if item.get("code") == "workflow-off"]
    assert (off["level"], off["next"]) == ("problem", "gh workflow enable publish.yml")
    assert "disabled inactivity" in off["says"]


def test_S_08_feed_and_site_apart(public: Scene) -> None:
    """A watch that publishes nothing compares public facts with the ledger, and names what differs."""
    public.web.missing.add("/article-0002/")
    (alarm,) = public.do("watcher", "watch", "--json", now="12-01 12:00", check=6).data["alarms"]
    assert (alarm["id"], alarm["urls"]) == ("drifted:blog", [f"{public.web.url}article-0002/"])


def test_S_10_run_dropped_from_the_queue(approved: Scene) -> None:
    """No run came on the first date; the next date's run names it, leaves it to a person, and publishes its own."""
    done = approved.run("12-02 09:05", check=4)
    assert done.code_of(FIRST) == "missed"
    assert f"publisher plan --again {FIRST}" in done.plan(FIRST)["next"]["command"]
    assert approved.articles() == ["a-0003", "a-0004"]


def test_S_11_ineligible_run_evicts_the_eligible_one(tmp_path: Path) -> None:
    """What waits in a group of one is driven away; doctor says so. The shipped jobs decide first, and wait in a queue."""
    found = workflows(
        tmp_path,
        publish="on: {schedule: [{cron: '17 9 * * *'}], workflow_dispatch: }\nconcurrency: {group: site}\npermissions: {}\n"
        "jobs: {a: {if: github.event_name == 'schedule', permissions: {contents: write}, steps: [{run: publisher run}]}}\n",
    )
    assert coded(found, "group-drops").where.startswith(".github/workflows/publish.yml:")
    shutil.rmtree(tmp_path / ".github")
    shutil.copytree(SHIPPED, tmp_path / ".github/workflows")
    assert {item.code for item in workflows(tmp_path)} & {"group-drops", "group-cancels"} == set()


def test_S_13_older_build_finishes_last(approved: Scene) -> None:
    """It was about to switch when newer releases went out: its switch is refused by the target, and no byte changes."""
    with approved.stopped("12-01 09:01", "before:target.switch:1") as held:
        approved.run("12-01 09:20", who="second")
        approved.run("12-02 09:01", who="second")
        before = outside(approved.instance)
        done = held.go_on()
    assert (done.code, done.code_of(FIRST)) == (7, "claim-lost")
    after = outside(approved.instance)
    assert {name: state for name, state in after.items() if name != "public/lock"} == {
        name: state for name, state in before.items() if name != "public/lock"
    }
    assert len(approved.articles()) == 4


def test_S_14_identity_from_the_hour(approved: Scene) -> None:
    """Minutes before and after midnight: the plan's date is what is published, and once."""
    approved.run("12-01 23:58")
    assert approved.run("12-02 00:03").data["sites"][0]["pushes"] == 0
    assert {item["date"][:10] for item in manifest(approved.live).values()} == {"2026-12-01"}
    assert (claims(approved), approved.events(SECOND)) == (1, [])


@pytest.mark.parametrize(
    ("cron", "code", "level", "says"),
    [
        ("", "no-schedule", Level.PROBLEM, ""),
        ("3 9 * * *", "schedule-late", Level.WARNING, "23 hours 53 minutes later"),
        ("17 9 * * MON-FRI", "schedule-misses", Level.PROBLEM, "Sat 2026-12-05"),
    ],
    ids=["no cron", "before its time", "working days"],
)
def test_S_16_schedule_that_cannot_keep_the_time(tmp_path: Path, cron: str, code: str, level: Level, says: str) -> None:
    found = coded(schedule(tmp_path, "09:10", cron), code)
    assert found.level is level
    assert says in found.says
    assert found.next


def test_S_17_an_hour_off_when_the_clocks_change() -> None:
    zone, nine = parse_zone("America/New_York"), parse_clock_time("09:00")
    days = [(3, 7), (3, 8), (10, 31), (11, 1)]
    due = [instant_of(date(2026, month, day), nine, zone).astimezone(UTC).strftime("%m-%d %H:%M") for month, day in days]
    assert due == ["03-07 14:00", "03-08 13:00", "10-31 13:00", "11-01 14:00"]


def test_S_19_late_run_finds_its_own_earlier_success(approved: Scene) -> None:
    """The release was switched and nobody recorded it; six hours later it is seen and confirmed, not made again."""
    log = approved.folder / "late.log"
    log.unlink(missing_ok=True)
    approved.killed("12-01 09:01", "after:target.switch:1")
    approved.run("12-01 15:30", log=str(log))
    assert "target.switch" not in effects(log)
    assert [event["how"] for event in approved.instance.ledger(FIRST) if event["type"] == "deployed"] == ["seen"]
    assert {item["date"] for item in manifest(approved.live).values()} == {"2026-12-01T09:00:00+08:00"}
    assert len(told(approved)) == 2
