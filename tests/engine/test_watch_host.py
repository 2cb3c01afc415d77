"""Whether the host still starts the scheduled workflows: its states, its runs, and what a schedule had promised since."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from publisher.domain.alarms import Code
from publisher.engine.schedules import Cron
from publisher.engine.watch_host import HostSays, Scheduled, ask, schedule_alarms, silent_since
from publisher.errors import NeedsPerson
from publisher.forge.github_api import GithubApi
from tests.support.github.accounts import Account
from tests.support.github.simulator import Simulator

NOW = datetime(2026, 12, 10, 3, 38, tzinfo=UTC)
HOUR, DAYS = timedelta(hours=1), timedelta(days=1)
DAILY = Scheduled(name="publish.yml", crons=(Cron(expression="13 9 * * *", zone_name="Asia/Hong_Kong"),))
WEEKLY = Scheduled(name="plan.yml", crons=(Cron(expression="7 8 * * SUN"),))
FILE = "on:\n  schedule:\n    - cron: '13 9 * * *'\n      timezone: Asia/Hong_Kong\njobs: {}\n"


def says(workflow: Scheduled = DAILY, last: datetime | None = None, known: datetime | None = NOW - 60 * DAYS) -> HostSays:
    return HostSays(workflow=workflow, state="active", known_since=known, last=last)


# --- silence ------------------------------------------------------------------------------------------------------------------


def test_a_tick_without_a_run_is_told_a_day_later() -> None:
    """The run of the 8th at 09:13 came; the ninth's did not, nor any since."""
    last, missed = datetime(2026, 12, 8, 1, 13, tzinfo=UTC), datetime(2026, 12, 9, 1, 13, tzinfo=UTC)
    assert silent_since(says(last=last), missed + 26 * HOUR) is None
    assert silent_since(says(last=last), missed + 26 * HOUR + timedelta(seconds=1)) == missed


def test_a_run_that_came_late_is_one() -> None:
    assert silent_since(says(last=datetime(2026, 12, 9, 6, 40, tzinfo=UTC)), NOW) is None


def test_a_weekly_schedule_is_not_silent_all_week() -> None:
    """Sunday the 6th came."""
    sunday = datetime(2026, 12, 6, 8, 7, tzinfo=UTC)
    assert silent_since(says(WEEKLY, last=sunday), NOW + 3 * DAYS) is None
    assert silent_since(says(WEEKLY, last=sunday - 7 * DAYS), NOW) == sunday


def test_a_workflow_that_is_new_or_was_switched_on_again_has_time() -> None:
    assert silent_since(says(known=NOW - 5 * HOUR), NOW) is None
    assert silent_since(says(known=NOW - 3 * DAYS), NOW) is not None
    assert silent_since(says(known=None), NOW) is not None, "a host that says nothing of it is not believed to be new"


def test_lines_that_no_host_would_take_promise_nothing() -> None:
    odd = Scheduled(name="x.yml", crons=(Cron(expression="13 9 * *"), Cron(expression="0 0 30 2 *")))
    assert silent_since(says(odd), NOW) is None
    both = Scheduled(name="x.yml", crons=(*odd.crons, *DAILY.crons))
    assert silent_since(says(both), NOW) is not None


# --- what the host says ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Simulator]:
    with Simulator(tmp_path / "host", checked=True) as made:
        made.set_now(NOW - 9 * DAYS)
        made.commit(made.user("ann", permission="admin"), "main", {".github/workflows/publish.yml": FILE})
        yield made


def host(sim: Simulator, who: Account | None = None) -> GithubApi:
    bot = who or sim.app("watch[bot]", permissions={"actions": "read"})
    return GithubApi(sim.repository, bot.token, api=sim.api_url, timeout=5.0, patience=5.0, pause=0.01)


def found(sim: Simulator, *workflows: Scheduled) -> list[str]:
    return [alarm.says for alarm in schedule_alarms(ask(host(sim), workflows or (DAILY,)), sim.now)]


def test_a_schedule_that_runs_is_no_alarm(sim: Simulator) -> None:
    for _ in range(4):
        sim.advance(DAYS)
        assert sim.workflows.tick("publish.yml")
    assert found(sim) == []
    before = len(sim.requests)
    list(ask(host(sim), (DAILY,)))
    assert len(sim.requests) - before == 2


@pytest.mark.parametrize("state", ["disabled_inactivity", "disabled_manually", "disabled_fork"])
def test_whatever_is_not_active_is_told_with_the_hosts_own_word(sim: Simulator, state: str) -> None:
    sim.workflows.disable("publish.yml", state)
    (alarm,) = schedule_alarms(ask(host(sim), (DAILY,)), sim.now)
    assert (alarm.code, alarm.id, alarm.site) == (Code.SCHEDULE_OFF, "schedule-off:publish.yml", "")
    assert f"the host says {state}" in alarm.says
    sim.workflows.enable("publish.yml")
    assert found(sim) == []


def test_a_file_that_the_host_does_not_know(sim: Simulator) -> None:
    assert ["not-found" in said for said in found(sim, Scheduled(name="other.yml", crons=DAILY.crons))] == [True]


def test_a_host_that_starts_nothing_any_more_is_told(sim: Simulator) -> None:
    """Its workflow is active, and its scheduler is not: only a run by hand there was, which is not what was promised."""
    assert sim.workflows.tick("publish.yml")
    sim.advance(4 * DAYS)
    on = FILE.replace("on:\n", "on:\n  workflow_dispatch:\n")
    sim.commit(sim.user("ann"), "main", {".github/workflows/publish.yml": on})
    sim.workflows.dispatch(sim.user("ann"), "publish.yml", "main", {})
    (alarm,) = schedule_alarms(ask(host(sim), (DAILY,)), sim.now)
    assert alarm.since == datetime(2026, 12, 2, 1, 13, tzinfo=UTC)
    assert "2026-12-02 01:13 UTC" in alarm.says
    assert sim.workflows.tick("publish.yml")
    assert found(sim) == []


def test_a_token_that_may_not_look_is_refused(sim: Simulator) -> None:
    with pytest.raises(NeedsPerson) as caught:
        list(ask(host(sim, sim.app("blind[bot]", permissions={"issues": "write"})), (DAILY,)))
    assert caught.value.code == "host-forbidden"


def test_a_word_that_is_none_is_not_passed_on() -> None:
    class Odd:
        repository = "ann/site"

        def get(self, path: str, **_: object) -> object:
            return {"state": "::add-mask::x\n", "created_at": "yesterday", "updated_at": 7}

        def pages(self, path: str, **_: object) -> list[object]:
            return []

    (answer,) = ask(Odd(), (DAILY,))
    assert (answer.state, answer.known_since, answer.last) == ("unknown", None, None)
