"""Alerts as issues at a simulated GitHub, over real HTTP: one issue per matter, whatever is lost on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from publisher.domain import wording
from publisher.domain.instance import ChannelSpec
from publisher.errors import ComeBackLater, InputProblem, NeedsPerson, OutcomeUnknown
from publisher.forge.github_api import GithubApi
from publisher.notify.alerts import make_alerts
from publisher.notify.github_issue import LABEL, MOST_CLOSED
from publisher.ports import Alerts
from tests.support.github.issues import Issue
from tests.support.github.simulator import Simulator

PLAN = "blog/daily/2026/2026-12-01"
MATTER, OTHER = f"watch/due-unclaimed:{PLAN}", "watch/drifted:blog"
TEXT = wording.alarm(PLAN, "due-unclaimed", "due 2026-12-01 09:00 HKT (01:00Z)", f"publisher run {PLAN}")
OVER = wording.cleared(PLAN, "due-unclaimed")
ISSUES, COMMENTS = "POST /repos/ann/site/issues", "POST /repos/ann/site/issues/1/comments"


@dataclass
class Heard:
    """The real door, and what went through it."""

    host: GithubApi
    sent: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def repository(self) -> str:
        return self.host.repository

    def get(self, path: str, **query: str | int) -> Any:
        return self.host.get(path, **query)

    def pages(self, path: str, **query: str | int) -> Any:
        return self.host.pages(path, **query)

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        self.sent.append((method, path, body))
        return self.host.send(method, path, body)


@dataclass
class World:
    sim: Simulator
    folder: Path
    heard: Heard

    def alerts(self, *on_call: str, **options: Any) -> Alerts:
        spec = ChannelSpec(name="alerts", kind="github-issue", options=options)
        return make_alerts(spec, self.folder, {}, on_call, lambda: self.heard)

    def raise_it(self, number: int = 1, matter: str = MATTER, text: str = TEXT) -> None:
        self.sim.advance(timedelta(minutes=1))
        self.alerts().say(f"{matter}/{number}", text, thread=matter)

    def clear_it(self, number: int = 1, matter: str = MATTER) -> None:
        self.sim.advance(timedelta(minutes=1))
        self.alerts().say(f"{matter}/{number}/over", OVER, thread=matter, over=True)

    @property
    def issues(self) -> list[Issue]:
        return self.sim.issues.all

    def comments(self, number: int = 1) -> list[str]:
        return [comment.body for comment in self.sim.issues.comments_of(number)]

    def writes(self) -> list[str]:
        return [f"{method} {path}" for method, path, _ in self.heard.sent]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Simulator(tmp_path / "host", checked=True) as sim:
        bot = sim.app("site-watch[bot]", permissions={"issues": "write"})
        api = GithubApi(sim.repository, bot.token, api=sim.api_url, timeout=5.0, patience=5.0, pause=0.01)
        yield World(sim, tmp_path, Heard(api))


def test_an_alarm_is_an_issue_with_label_and_next_command(world: World) -> None:
    world.raise_it()
    (issue,) = world.issues
    assert (issue.title, issue.state, issue.labels) == (
        f"{PLAN} is due and no run has claimed it [due-unclaimed]",
        "open",
        [LABEL],
    )
    assert f"    next: publisher run {PLAN}" in issue.body.splitlines()


def test_the_text_renders_nothing_and_mentions_nobody(world: World) -> None:
    """All of it stands in an indented block; the marks are comments that are not shown, and hold digests alone."""
    world.raise_it(matter="watch/late:--> @ann <b>", text="first @ann\n--> <img src=x>\n```\n# big\nnext: x\n")
    lines = [line for line in world.issues[0].body.splitlines() if line]
    shown = [line for line in lines if not line.startswith("<!-- ")]
    assert all(line.startswith("    ") for line in shown)
    marks = [line for line in lines if line.startswith("<!-- ")]
    assert len(marks) == 2
    assert all(line.count("-->") == 1 and line.endswith(" -->") and "@" not in line for line in marks)


def test_a_notice_that_is_repeated_is_there_already(world: World) -> None:
    """A round that died after it spoke and before it recorded that speaks again."""
    for _ in range(3):
        world.raise_it()
    assert world.writes() == ["POST issues"]
    world.clear_it()
    world.clear_it()
    assert world.writes() == ["POST issues", "POST issues/1/comments", "PATCH issues/1"]


def test_an_alarm_that_is_over_closes_its_issue_with_a_comment(world: World) -> None:
    world.raise_it()
    world.raise_it(matter=OTHER)
    world.clear_it()
    first, second = world.issues
    assert (first.state, second.state) == ("closed", "open")
    assert "no longer so" in world.comments(1)[0]
    assert world.heard.sent[-1][2]["state_reason"] == "completed"
    world.clear_it(matter="watch/late:nobody-was-told")
    assert len(world.issues) == 2, "what was not told here needs no end here"


def test_a_matter_that_ends_without_a_word_closes_its_issue(world: World) -> None:
    world.raise_it()
    for _ in range(2):
        world.alerts().say(f"{MATTER}/1/over", "", thread=MATTER, over=True)
    assert (world.issues[0].state, world.comments(), world.writes()) == ("closed", [], ["POST issues", "PATCH issues/1"])


def test_an_alarm_that_comes_back_reopens_its_issue(world: World) -> None:
    world.raise_it(1)
    world.clear_it(1)
    world.raise_it(2)
    (issue,) = world.issues
    assert (issue.state, len(world.comments())) == ("open", 2)
    world.clear_it(2)
    assert (issue.state, len(world.comments())) == ("closed", 3)


def test_a_matter_is_found_among_many_and_by_its_mark_alone(world: World) -> None:
    """Other people's issues, the label on somebody's pull request, a look-alike without the label, and pages of old alarms."""
    world.raise_it()
    ann, mark = world.sim.user("ann"), world.issues[0].body
    world.sim.issues.open(ann, world.issues[0].title, mark)  # copied text, and no label
    world.sim.issues.open(ann, world.issues[0].title, "a question", (LABEL,))
    for number in range(120):
        world.sim.advance(timedelta(minutes=1))
        made = world.sim.issues.open(ann, "old", f"old {number}", (LABEL,))
        world.sim.issues.numbered(made).state = "closed" if number % 2 else "open"
    world.clear_it()
    assert [issue.state for issue in world.issues[:3]] == ["closed", "open", "open"]
    world.raise_it(2)
    assert world.issues[0].state == "open"
    assert world.writes().count("POST issues") == 1


def test_a_matter_of_long_ago_gets_a_new_issue(world: World) -> None:
    world.raise_it(1)
    world.clear_it(1)
    ann = world.sim.user("ann")
    for number in range(MOST_CLOSED):
        world.sim.advance(timedelta(minutes=1))
        world.sim.issues.numbered(world.sim.issues.open(ann, "old", f"old {number}", (LABEL,))).state = "closed"
    world.raise_it(2)
    assert (world.issues[0].state, world.issues[-1].state, len(world.issues)) == ("closed", "open", MOST_CLOSED + 2)


def test_a_pull_request_is_never_taken_for_an_alarm(world: World) -> None:
    ann = world.sim.user("ann", permission="admin")
    world.sim.commit(ann, "main", {"a": "a"})
    world.raise_it()
    body = world.issues[0].body
    world.sim.issues.all.clear()
    world.sim.commit(ann, "other", {"a": "b"})
    pull = world.sim.pulls.open(ann, head="other", base="main", title="x", body=body)
    world.sim.pulls.numbered(pull).labels.append(LABEL)
    world.raise_it()
    assert len(world.issues) == 1


# --- what is lost on the way ----------------------------------------------------------------------------------------------------


def test_a_lost_answer_makes_no_second_issue(world: World) -> None:
    world.sim.faults.next(ISSUES, status=502, after=True)
    world.raise_it()
    assert (len(world.issues), world.writes()) == (1, ["POST issues"])


def test_an_issue_that_was_surely_not_made_is_not_said(world: World) -> None:
    world.sim.faults.next(ISSUES, status=502)
    with pytest.raises(OutcomeUnknown):
        world.raise_it()
    world.raise_it()
    assert len(world.issues) == 1


def test_a_lost_comment_is_not_made_twice_and_the_issue_is_closed_all_the_same(world: World) -> None:
    world.raise_it()
    world.sim.faults.next(COMMENTS, status=502, after=True)
    world.clear_it()
    assert (world.issues[0].state, len(world.comments())) == ("closed", 1)
    world.raise_it(2)
    world.sim.faults.next(COMMENTS, status=502)
    with pytest.raises(OutcomeUnknown):
        world.clear_it(2)
    world.clear_it(2)
    assert (world.issues[0].state, len(world.comments())) == ("closed", 3)


def test_a_comment_without_its_state_is_made_good(world: World) -> None:
    world.raise_it()
    world.sim.faults.next("PATCH /repos/ann/site/issues/1", status=502)
    with pytest.raises(OutcomeUnknown):
        world.clear_it()
    assert (world.issues[0].state, len(world.comments())) == ("open", 1)
    world.clear_it()
    assert (world.issues[0].state, len(world.comments())) == ("closed", 1)


@pytest.mark.parametrize(
    ("fault", "refusal", "code"),
    [({"kind": "forbidden"}, NeedsPerson, "host-forbidden"), ({"kind": "secondary"}, ComeBackLater, "host-busy")],
)
def test_a_host_that_refuses_leaves_it_unsaid(world: World, fault: Any, refusal: type[Exception], code: str) -> None:
    world.sim.faults.next(ISSUES, **fault)
    with pytest.raises(refusal) as caught:
        world.raise_it()
    assert getattr(caught.value, "code", "") == code
    assert world.issues == []


def test_an_issue_that_could_not_be_labelled_counts_as_unsaid(world: World) -> None:
    """GitHub drops labels silently for whoever may not set them; unlabelled, the issue would be made again and again."""
    plain = world.heard.host.send

    def send(method: str, path: str, body: Mapping[str, Any]) -> Any:
        return plain(method, path, {name: value for name, value in body.items() if name != "labels"})

    world.heard.host.send = send  # type: ignore[method-assign]
    with pytest.raises(NeedsPerson) as caught:
        world.raise_it()
    assert (caught.value.code, "issues: write" in caught.value.next) == ("alert-undelivered", True)


# --- who is told ----------------------------------------------------------------------------------------------------------------


def test_people_on_call_whose_names_are_logins_are_assigned(world: World) -> None:
    world.alerts("ann", "@rae", "ops@example.org", "The Editors", "-x").say("n", TEXT)
    assert world.heard.sent[0][2]["assignees"] == ["ann", "rae"]
    world.alerts("ann", assign=False).say("m", TEXT)
    assert "assignees" not in world.heard.sent[-1][2]
    world.alerts("ops@example.org").say("o", TEXT)
    assert "assignees" not in world.heard.sent[-1][2]
    assert len(world.issues) == 3, "notices without a matter of their own are one each"


def test_somebody_who_cannot_be_assigned_keeps_nobody_from_being_told(world: World) -> None:
    world.sim.faults.next(ISSUES, status=422)
    world.alerts("ann").say("n", TEXT)
    assert len(world.issues) == 1
    assert [("assignees" in body) for _, _, body in world.heard.sent] == [True, False]


@pytest.mark.parametrize("options", [{"assign": "yes"}, {"path": "x"}])
def test_options_are_read_strictly(world: World, options: dict[str, Any]) -> None:
    with pytest.raises(InputProblem) as caught:
        world.alerts("ann", **options)
    assert caught.value.code == "channel-option"


def test_issues_need_a_host_when_something_is_said_and_not_before(tmp_path: Path) -> None:
    alerts = make_alerts(ChannelSpec(name="alerts", kind="github-issue", options={}), tmp_path, {}, ())
    with pytest.raises(InputProblem) as caught:
        alerts.say("n", TEXT)
    assert caught.value.code == "alerts-without-host"
