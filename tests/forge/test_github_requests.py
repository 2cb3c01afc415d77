"""Requests at a simulated GitHub, over real HTTP and real git: opened once, found again, and never taken out of people's hands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from publisher.errors import Bug, ComeBackLater, NeedsPerson, Refusal
from publisher.forge.github_api import GithubApi
from publisher.forge.github_forge import GithubForge
from publisher.forge.github_requests import NOBODY, GithubRequests, branch_of, title_of
from publisher.gitstore.gateway import Git
from publisher.ports import Tips
from publisher.wiring import _parse_rules, payload_of
from tests.support.github.accounts import Account
from tests.support.github.simulator import Simulator
from tests.support.gitrepos import Repository, clone

START = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
PLAN = "plans/handbook/daily/2026/2026-12-01.yaml"
OTHER = "plans/handbook/daily/2026/2026-12-02.yaml"
ABROAD = "plans/shop/daily/2026/2026-12-01.yaml"
RULES = "approval.yaml"
POST = "POST /repos/ann/site/pulls"
WRITES = {"contents": "write", "pull_requests": "write"}


def text(article: str = "a-0001") -> bytes:
    return f"kind: publication\nrevision: 1\narticles: [{article}]\n".encode()


def files(article: str = "a-0001", path: str = PLAN) -> dict[str, bytes]:
    return {path: text(article)}


@dataclass
class World:
    """The simulator, a bot that opens requests, people, and a clone in this process that acts as the bot."""

    sim: Simulator
    folder: Path
    bot: Account
    now: datetime = START
    people: dict[str, Account] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.editor = Repository(self.folder / "editor", "ann")
        self.git = Git(self.folder / "work")
        self.requests = self.as_somebody(self.bot)

    def tick(self) -> datetime:
        self.now += timedelta(minutes=1)
        self.sim.set_now(self.now)
        return self.now

    def as_somebody(self, account: Account, git: Git | None = None, wrap: Any = lambda host: host) -> GithubRequests:
        api = wrap(GithubApi(self.sim.repository, account.token, api=self.sim.api_url, timeout=3, pause=0.01))
        git = git or self.git
        forge = GithubForge(
            git, api, branch="main", parse_rules=_parse_rules, payload_of=payload_of, clock=lambda: self.now, sleep=lambda _: None
        )  # fmt: skip
        return GithubRequests(git, forge, api, clock=lambda: self.now)

    def tips(self, git: Git | None = None) -> Tips:
        git = git or self.git
        refs = git.remote_refs("origin", ["refs/heads/*"])
        git.fetch("origin", ["+refs/heads/*:refs/remotes/origin/*"])
        named = {number: f"refs/heads/{branch}" for number, branch in self.requests.branches().items()}
        main = refs["refs/heads/main"]
        return Tips(
            default=main, state=main, drafts=main, requests={n: refs[name] for n, name in named.items() if name in refs}
        )

    def open(self, what: Mapping[str, bytes] | None = None, marker: str = "m1", body: str = "Text.", **more: Any) -> int:
        """As a run of the planner does it: a fresh look, then the request."""
        self.tick()
        requests = more.pop("requests", self.requests)
        return int(
            requests.open(more.pop("tips", None) or self.tips(), what or files(), "handbook: publish", marker, body=body)
        )

    def pull(self, number: int) -> Any:
        return self.sim.pulls.numbered(number)

    def commit(self, what: Mapping[str, bytes | None], onto: str = "main") -> str:
        """A person's commit on a branch of the remote, made in their own clone and pushed as ann."""
        self.tick()
        self.editor.git("fetch", "--quiet", "origin")
        self.editor.git("checkout", "--quiet", "--detach", f"origin/{onto}")
        made = self.editor.commit(what, "by hand")
        self.sim.push_as(self.people["ann"], made, onto, folder=self.editor.path)
        return made

    def opened(self) -> list[int]:
        return [one.number for one in self.sim.pulls.all if one.state == "open"]

    def asked(self, method: str, ending: str = "") -> int:
        return sum(seen.method == method and seen.path.endswith(ending) for seen in self.sim.requests)

    def pushes(self) -> int:
        return len(self.sim.activity.pushes)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with Simulator(tmp_path / "hub") as sim:
        sim.set_now(START)
        bot = sim.app("publisher-bot[bot]", {**WRITES, "metadata": "read"})
        people = {name: sim.user(name, role) for name, role in (("ann", "admin"), ("rae", "write"), ("eve", "read"))}
        editor = clone(Repository(sim.bare, "remote"), tmp_path / "editor", "ann")
        rae = people["rae"].id
        rules = f"approvals: 1\nexpires_after: 24h\nmax_lead: 14d\ncontent: plan\napprovers: [{{login: rae, id: {rae}}}]\n"
        first = editor.commit({"publisher.yaml": "x\n", RULES: rules, "plans/handbook/queue.yaml": "articles: []\n"}, "start")
        sim.push_as(people["ann"], first, "main", folder=editor.path)
        monkeypatch.setenv("PUBLISHER_TOKEN", bot.token)
        monkeypatch.setenv("GITHUB_SERVER_URL", sim.server_url)
        work = clone(Repository(sim.bare, "remote"), tmp_path / "work", "bot")
        work.git("remote", "set-url", "origin", sim.clone_url)
        yield World(sim=sim, folder=tmp_path, bot=bot, people=people)


@pytest.fixture
def one(world: World) -> World:
    """Request 1 is open."""
    assert world.open() == 1
    return world


# --- opened -----------------------------------------------------------------------------------------------------------------------


def test_a_request_is_one_commit_one_branch_and_one_pull_request(world: World) -> None:
    number = world.open({**files(), **files(path=OTHER)}, body="What it is about.")
    pull, tips = world.pull(number), world.tips()
    assert (pull.head, pull.base, pull.title, pull.body) == (branch_of("m1"), "main", "handbook: publish", "What it is about.")
    assert (pull.user, pull.head_sha) == (world.bot, tips.requests[number])
    commit = world.git.commit(pull.head_sha)
    assert commit.parents == (tips.default,)
    assert {path: world.git.blob_at(commit.oid, path) for path in (PLAN, OTHER)} == {PLAN: text(), OTHER: text()}
    assert (world.asked("POST", "/pulls"), world.pushes()) == (1, 2)


def test_an_app_signs_with_nobodys_name_and_a_person_with_their_own(world: World) -> None:
    number = world.open()
    commit = world.git.commit(world.tips().requests[number])
    assert (commit.author_name, commit.author_email) == NOBODY
    ann = world.people["ann"]
    number = world.open(files(path=OTHER), "m2", requests=world.as_somebody(ann))
    commit = world.git.commit(world.tips().requests[number])
    assert commit.author_name == "ann"
    assert commit.author_email.startswith(f"{ann.id}+ann@users.noreply.")


def test_only_requests_of_this_repository_for_the_default_branch_are_listed(one: World) -> None:
    ann, head = one.people["ann"], one.tips().default
    made = one.editor.commit({"notes.txt": b"x"})
    for name in ("publisher/requests/by-hand", "other/branch"):
        one.sim.push_as(ann, made, name, folder=one.editor.path)
    one.sim.push_as(ann, head, "release")
    by_hand = one.sim.pulls.open(ann, "publisher/requests/by-hand")
    one.sim.pulls.open(ann, "other/branch")
    one.sim.push_as(ann, made, "publisher/requests/elsewhere", folder=one.editor.path)
    one.sim.pulls.open(ann, "publisher/requests/elsewhere", base="release")
    assert one.requests.branches() == {1: branch_of("m1"), by_hand: "publisher/requests/by-hand"}


def test_a_forks_branch_of_that_name_is_not_listed(one: World) -> None:
    eve = one.people["eve"]
    made = one.editor.commit({PLAN: b"evil: true\n"})
    one.sim.git.run("fetch", str(one.editor.path), f"{made}:refs/forks/eve/heads/{branch_of('m1')}")
    one.sim.pulls.open(eve, f"eve:{branch_of('m1')}")
    assert one.requests.branches() == {1: branch_of("m1")}
    assert one.open() == 1


def test_what_the_default_branch_has_is_not_proposed(world: World) -> None:
    world.commit(files())
    with pytest.raises(ComeBackLater) as refusal:
        world.open()
    assert refusal.value.code == "nothing-to-propose"
    assert world.opened() == []


@pytest.mark.parametrize("what", [{}, {"drafts/a/index.md": b"x"}, {".github/workflows/x.yml": b"x"}])
def test_a_request_is_about_plans_only(world: World, what: dict[str, bytes]) -> None:
    with pytest.raises(Bug):
        world.requests.open(world.tips(), what, "title", "m1")


def test_people_decide_on_the_requests_own_page(one: World) -> None:
    with pytest.raises(NeedsPerson) as refusal:
        one.requests.decide(one.tips(), 1, True, one.now)
    assert (refusal.value.code, refusal.value.next) == ("decide-on-host", f"{one.sim.html_url}/pull/1")
    other = one.as_somebody(one.bot)
    assert other.page_of(1) == f"{one.sim.html_url}/pull/1"
    tips = one.tips()
    one.sim.faults.next("GET *", status=503, times=99)
    with pytest.raises(NeedsPerson) as refusal:
        one.as_somebody(one.bot).decide(tips, 1, False, one.now)
    assert refusal.value.next == "open pull request 1 of ann/site"


# --- found again ------------------------------------------------------------------------------------------------------------------


def test_a_rerun_finds_its_own_request_and_changes_nothing(one: World) -> None:
    pushes, tips = one.pushes(), one.tips()
    one.sim.requests.clear()
    assert one.open(tips=tips, requests=one.as_somebody(one.bot)) == 1
    assert (one.opened(), one.pushes(), one.requests.left_alone) == ([1], pushes, set())
    assert [seen.method for seen in one.sim.requests if "pulls" in seen.path] == ["GET"], "one look at the open requests"


def test_another_marker_is_another_request(one: World) -> None:
    assert one.open(files(path=OTHER), "m2") == 2
    assert one.opened() == [1, 2]


def test_an_unreviewed_request_is_brought_up_to_date(one: World) -> None:
    before = one.tips()
    assert one.open(files("a-0002"), body="Another text.") == 1
    tips = one.tips()
    assert one.git.blob_at(tips.requests[1], PLAN) == text("a-0002")
    assert one.git.commit(tips.requests[1]).parents == (before.default,)
    assert one.pull(1).body == "Another text."
    assert (one.opened(), one.asked("POST", "/pulls"), one.asked("PATCH")) == ([1], 1, 1)


def test_a_text_alone_is_renewed_without_a_push(one: World) -> None:
    pushes = one.pushes()
    one.open(body="Another text.")
    assert (one.pull(1).body, one.pushes()) == ("Another text.", pushes)


def test_a_text_as_a_browser_sends_it_is_the_same_text(one: World) -> None:
    one.open(body="Two\nlines.")
    one.pull(1).body = "Two\r\nlines.\r\n"
    one.sim.requests.clear()
    one.open(body="Two\nlines.\n")
    assert one.asked("PATCH") == 0


def test_a_request_that_can_no_longer_be_merged_is_made_again(one: World) -> None:
    one.commit(files("a-0003"))
    assert one.open() == 1
    assert one.asked("PATCH") == 0, "its text is the same"
    tips = one.tips()
    assert one.git.commit(tips.requests[1]).parents == (tips.default,)


def test_a_default_branch_that_moved_elsewhere_needs_no_push(one: World) -> None:
    head = one.tips().requests[1]
    one.commit({"drafts/handbook/a/index.md": b"more\n"})
    one.open()
    assert one.tips().requests[1] == head


# --- in people's hands --------------------------------------------------------------------------------------------------------------


def untouched(world: World, act: Any) -> None:
    """``act``, then a rerun with other files and another text: nothing of the request changes."""
    act()
    before = (world.tips().requests[1], world.pull(1).title, world.pull(1).body)
    world.sim.requests.clear()
    assert world.open(files("a-0009"), body="Another text.") == 1
    assert world.requests.left_alone == {1}
    assert (world.tips().requests[1], world.pull(1).title, world.pull(1).body) == before
    assert [seen for seen in world.sim.requests if seen.method in ("POST", "PATCH")] == []
    assert world.opened() == [1]


@pytest.mark.parametrize("state", ["APPROVED", "CHANGES_REQUESTED", "COMMENTED"])
def test_a_reviewed_request_is_left_alone(one: World, state: str) -> None:
    untouched(one, lambda: one.sim.reviews.submit(one.people["rae"], 1, state, "I read it."))


def test_a_dismissed_review_was_a_review(one: World) -> None:
    review = one.sim.reviews.submit(one.people["rae"], 1, "APPROVED")
    untouched(one, lambda: one.sim.reviews.dismiss(one.people["ann"], 1, review))


def test_a_review_by_somebody_who_may_not_decide_is_one_too(one: World) -> None:
    untouched(one, lambda: one.sim.reviews.submit(one.people["eve"], 1, "COMMENTED", "Why?"))


def test_reviews_are_counted_over_all_pages(one: World) -> None:
    for _ in range(120):
        one.sim.reviews.submit(one.bot, 1, "COMMENTED", "A machine's remark.")
    assert one.open(files("a-0002")) == 1
    assert one.git.blob_at(one.tips().requests[1], PLAN) == text("a-0002"), "its own remarks are none"
    untouched(one, lambda: one.sim.reviews.submit(one.people["rae"], 1, "COMMENTED", "The last of 121."))


def test_a_review_of_a_deleted_account_counts(one: World) -> None:
    one.sim.reviews.submit(one.people["rae"], 1, "APPROVED")
    untouched(one, lambda: one.sim.delete_account(one.people["rae"]))


def test_a_review_that_is_not_submitted_is_none(one: World) -> None:
    one.sim.reviews.submit(one.people["rae"], 1, "PENDING")
    one.open(files("a-0002"))
    assert one.git.blob_at(one.tips().requests[1], PLAN) == text("a-0002")


def test_somebody_elses_commit_on_the_branch_is_never_overwritten(one: World) -> None:
    untouched(one, lambda: one.commit({PLAN: text("a-0005")}, branch_of("m1")))


def test_an_empty_commit_is_somebody_elses_too(one: World) -> None:
    untouched(one, lambda: one.commit({}, branch_of("m1")))


def test_somebody_elses_commit_in_the_place_of_ours_is_never_overwritten(one: World) -> None:
    """The same parent, author, message and one file: only the bytes differ from what the message names."""

    def amend() -> None:
        one.editor.git("fetch", "--quiet", "origin")
        one.editor.git("checkout", "--quiet", "--detach", f"origin/{branch_of('m1')}")
        one.editor.write({PLAN: text("a-0005")})
        one.editor.git("add", "--all")
        one.editor.git("commit", "--quiet", "--amend", "--no-edit")
        one.sim.push_as(one.people["ann"], "HEAD", branch_of("m1"), force=True, folder=one.editor.path)

    untouched(one, amend)


def test_a_branch_that_was_updated_from_the_default_branch_is_left_alone(one: World) -> None:
    one.commit({"drafts/handbook/a/index.md": b"more\n"})
    untouched(one, lambda: one.sim.pulls.update_branch(one.people["ann"], 1))


def test_what_somebody_else_proposes_on_their_own_branch_is_not_doubled(world: World) -> None:
    made = world.commit({**files("a-0007"), **files("a-0008", OTHER)}, "main")
    world.sim.push_as(world.people["ann"], made, "publisher/requests/by-hand")
    world.sim.push_as(world.people["ann"], f"{made}^", "main", force=True)
    number = world.sim.pulls.open(world.people["ann"], "publisher/requests/by-hand")
    assert world.open() == number
    assert (world.opened(), world.requests.left_alone) == ([number], {number})
    assert world.pull(number).head_sha == made


def test_a_closed_request_is_not_opened_again_by_itself_and_its_branch_is_used_again(one: World) -> None:
    one.sim.pulls.close(one.people["rae"], 1)
    assert one.requests.branches() == {}
    assert one.open(files("a-0002")) == 2
    assert (one.pull(2).head, one.opened()) == (branch_of("m1"), [2])
    assert one.git.blob_at(one.tips().requests[2], PLAN) == text("a-0002")
    assert one.pull(1).head_sha != one.pull(2).head_sha, "what was rejected stays what it was"


def test_a_merged_requests_branch_is_used_again_for_a_revision(one: World) -> None:
    one.tick()
    one.sim.reviews.submit(one.people["rae"], 1, "APPROVED")
    one.tick()
    one.sim.pulls.merge(one.people["rae"], 1)
    assert one.open(files("a-0002")) == 2
    assert one.opened() == [2]


# --- lost answers and refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [{"status": 502}, {"kind": "reset"}, {"kind": "hang"}, {"kind": "empty"}])
def test_a_lost_answer_is_looked_for_and_never_asked_twice(world: World, fault: dict[str, Any]) -> None:
    world.sim.faults.next(POST, after=True, **fault)
    assert world.open() == 1
    assert (world.opened(), world.asked("POST", "/pulls")) == ([1], 1)


@pytest.mark.parametrize("fault", [{"status": 502}, {"kind": "reset"}])
def test_a_request_that_was_not_opened_is_opened_by_the_next_run(world: World, fault: dict[str, Any]) -> None:
    world.sim.faults.next(POST, **fault)
    with pytest.raises(ComeBackLater) as refusal:
        world.open()
    assert (refusal.value.code, world.opened(), world.asked("POST", "/pulls")) == ("request-not-seen", [], 1)
    assert world.open(requests=world.as_somebody(world.bot)) == 1
    assert world.opened() == [1]


def test_a_run_that_died_before_the_look_leaves_one_request(world: World) -> None:
    """The answer is lost and so is the look: the next run finds what the first one opened."""
    world.sim.faults.next(POST, status=502, after=True)
    tips = world.tips()
    with pytest.raises(ComeBackLater) as refusal:
        world.open(tips=tips, requests=world.as_somebody(world.bot, wrap=lambda host: Deaf(host, after=1)))
    assert refusal.value.code == "host-unreachable"
    assert world.opened() == [1]
    assert world.open(requests=world.as_somebody(world.bot)) == 1
    assert world.opened() == [1]


class Deaf:
    """The host, which answers no list any more after some."""

    def __init__(self, host: Any, after: int) -> None:
        self._host = host
        self._left = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def pages(self, path: str, **query: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ComeBackLater("host-unreachable", "no answer")
        return self._host.pages(path, **query)


def test_slow_down_means_come_back_later(world: World) -> None:
    world.sim.faults.next(POST, kind="secondary")
    with pytest.raises(ComeBackLater) as refusal:
        world.open()
    assert (refusal.value.code, world.opened()) == ("host-busy", [])
    assert world.open() == 1


def test_actions_that_may_not_open_requests_say_what_to_allow(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    actions = world.sim.actions_token(WRITES)
    monkeypatch.setenv("PUBLISHER_TOKEN", actions.token)
    with pytest.raises(NeedsPerson) as refusal:
        world.open(requests=world.as_somebody(actions))
    assert refusal.value.code == "may-not-open"
    assert "Allow GitHub Actions to create and approve pull requests" in refusal.value.next
    assert "GitHub App" in refusal.value.next
    world.sim.actions_may_create_pull_requests = True
    assert world.open(requests=world.as_somebody(actions)) == 1
    assert world.asked("POST", "/pulls") == 2


def test_a_branch_that_rules_close_is_said_to_be_closed(world: World) -> None:
    world.sim.protect("publisher/requests/**", only=(world.people["ann"],))
    with pytest.raises(ComeBackLater) as refusal:
        world.open()
    assert (refusal.value.code, world.asked("POST", "/pulls")) == ("push-refused", 0)


@pytest.mark.parametrize(("status", "after"), [(502, True), (502, False)])
def test_a_push_whose_answer_is_lost_or_that_fails_once(world: World, status: int, after: bool) -> None:
    world.sim.faults.next("git-receive-pack", status=status, after=after)
    assert world.open() == 1
    assert world.opened() == [1]


@pytest.mark.parametrize("after", [True, False], ids=["done", "not-done"])
def test_a_new_text_whose_answer_is_lost(one: World, after: bool) -> None:
    one.sim.faults.next("PATCH /repos/ann/site/pulls/1", status=502, after=after)
    if after:
        assert one.open(body="Another text.") == 1
    else:
        with pytest.raises(ComeBackLater) as refusal:
            one.open(body="Another text.")
        assert refusal.value.code == "request-text-unknown"
        assert one.open(body="Another text.") == 1
    assert one.pull(1).body == "Another text."


def test_an_index_that_lags_hides_nothing(world: World) -> None:
    """Which request belongs to a commit is asked of nobody: a branch's own request is in the list of open ones."""
    world.sim.faults.delay_index(3600)
    world.sim.faults.next(POST, status=502, after=True)
    assert world.open() == 1
    assert world.open(files("a-0002")) == 1
    assert world.opened() == [1]


# --- races ----------------------------------------------------------------------------------------------------------------------------


def raced(refusal: Any) -> bool:
    return isinstance(refusal, ComeBackLater) and refusal.code == "request-raced"


def test_what_was_opened_for_the_same_site_since_the_look_is_looked_at_first(one: World) -> None:
    stale = replace(one.tips(), requests={})
    with pytest.raises(ComeBackLater) as refusal:
        one.open(files(path=OTHER), "m2", tips=stale, requests=one.as_somebody(one.bot))
    assert raced(refusal.value)
    assert (one.opened(), one.asked("POST", "/pulls"), one.pull(1).head) == ([1], 1, branch_of("m1"))


def test_what_was_opened_for_another_site_is_no_race(one: World) -> None:
    stale = replace(one.tips(), requests={})
    assert one.open(files(path=ABROAD), "m2", tips=stale, requests=one.as_somebody(one.bot)) == 2


def test_one_run_may_open_several_requests_from_one_look(world: World) -> None:
    tips = world.tips()
    assert [world.open(files(path=path), path, tips=tips) for path in (PLAN, OTHER, ABROAD)] == [1, 2, 3]


def test_plans_that_were_merged_since_the_look_are_looked_at_first(world: World) -> None:
    stale = world.tips()
    world.commit(files("a-0009", OTHER))
    with pytest.raises(ComeBackLater) as refusal:
        world.open(tips=stale)
    assert raced(refusal.value)
    assert (world.opened(), world.asked("POST", "/pulls")) == ([], 0)


@pytest.mark.parametrize("path", ["drafts/handbook/a/index.md", ABROAD])
def test_other_commits_since_the_look_are_no_race(world: World, path: str) -> None:
    stale = world.tips()
    world.commit({path: b"x: 1\n"})
    assert world.open(tips=stale) == 1


def test_a_request_that_moved_since_the_look_is_not_overwritten(one: World) -> None:
    stale = one.tips()
    head = one.commit({PLAN: text("a-0005")}, branch_of("m1"))
    with pytest.raises(ComeBackLater) as refusal:
        one.open(files("a-0009"), tips=stale)
    assert raced(refusal.value)
    assert one.pull(1).head_sha == head


@pytest.mark.parametrize("moment", ["remote_refs", "push"])
def test_a_push_in_the_last_moment_is_not_overwritten(one: World, moment: str) -> None:
    """Between our look at the request and our own push: the lease is on exactly what was looked at."""
    last = LastMoment(one.folder / "work", lambda: one.commit({PLAN: text("a-0005")}, branch_of("m1")), moment)
    requests = one.as_somebody(one.bot, last)
    with pytest.raises(ComeBackLater) as refusal:
        one.open(files("a-0009"), requests=requests)
    assert raced(refusal.value)
    assert one.git.blob_at(one.tips().requests[1], PLAN) == text("a-0005")


class LastMoment(Git):
    """Lets somebody act right before or after the first push, or before the first look at the remote's refs."""

    def __init__(self, path: Path, act: Any, moment: str = "push") -> None:
        super().__init__(path)
        self._act, self._moment = act, moment

    def _now(self, moment: str) -> None:
        if moment == self._moment:
            act, self._act = self._act, lambda: None
            act()

    def push(self, remote: str, updates: Any) -> bool:
        self._now("push")
        done = super().push(remote, updates)
        self._now("pushed")
        return done

    def remote_refs(self, remote: str, patterns: Any) -> dict[str, str]:
        self._now("remote_refs")
        return super().remote_refs(remote, patterns)


@pytest.mark.parametrize("same", [True, False], ids=["same-plans", "other-plans"])
def test_a_second_planner_between_the_first_ones_push_and_request(world: World, same: bool) -> None:
    """The first has looked and not pushed yet; the second opens its request in that moment."""
    second = world.as_somebody(world.bot)
    ours, theirs = (files(), "m1"), ((files("a-0002"), "m1") if same else (files("a-0001", OTHER), "m2"))
    last = LastMoment(world.folder / "work", lambda: second.open(world.tips(), *_given(theirs)))
    with pytest.raises(ComeBackLater) as refusal:
        world.open(ours[0], ours[1], requests=world.as_somebody(world.bot, last))
    assert raced(refusal.value)
    assert len(world.opened()) == 1
    assert world.pull(world.opened()[0]).head == branch_of(theirs[1])


def _given(one: tuple[dict[str, bytes], str]) -> tuple[dict[str, bytes], str, str]:
    return one[0], "handbook: publish", one[1]


def test_a_second_planner_that_takes_the_branch_before_the_request_is_opened(world: World) -> None:
    """It finds a branch without a request, as an interrupted run leaves it. The request holds what it proposed, not our commit."""
    second = world.as_somebody(world.bot)
    last = LastMoment(world.folder / "work", lambda: second.open(world.tips(), files("a-0002"), "title", "m1"), "pushed")
    with pytest.raises(ComeBackLater) as refusal:
        world.open(requests=world.as_somebody(world.bot, last))
    # Our own look after the push may show the branch with the other's commit on it already, or the request does.
    assert raced(refusal.value)
    assert world.opened() == [1]
    assert world.git.blob_at(world.tips().requests[1], PLAN) == text("a-0002")


def test_a_request_that_holds_another_commit_is_not_ours(world: World) -> None:
    """The same between our look after the push and our asking for the request."""
    second = world.as_somebody(world.bot)

    def wrap(host: Any) -> Any:
        return Acting(host, "send", lambda: second.open(world.tips(), files("a-0002"), "title", "m1"))

    with pytest.raises(ComeBackLater) as refusal:
        world.open(requests=world.as_somebody(world.bot, wrap=wrap))
    assert raced(refusal.value)
    assert (world.opened(), world.git.blob_at(world.tips().requests[1], PLAN)) == ([1], text("a-0002"))


def test_who_opened_first_stays(world: World) -> None:
    """A person's request for the same site comes right after ours: theirs is the second one, whoever looks."""
    ann, branch = world.people["ann"], "publisher/requests/by-hand"

    def by_hand() -> None:
        world.sim.push_as(ann, world.editor.commit(files("a-0001", OTHER)), branch, folder=world.editor.path)
        world.sim.pulls.open(ann, branch)

    requests = world.as_somebody(world.bot, wrap=lambda host: Acting(host, "pages", by_hand, skip=1))
    assert world.open(requests=requests) == 1
    assert world.opened() == [1, 2]


class Acting:
    """The host; right before one of its calls somebody else acts."""

    def __init__(self, host: Any, method: str, act: Any, skip: int = 0) -> None:
        self._host, self._method, self._act, self._skip = host, method, act, skip

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._host, name)
        if name != self._method or self._skip < 0:
            return call

        def acting(*given: Any, **named: Any) -> Any:
            self._skip -= 1
            if self._skip < 0:
                self._act()
            return call(*given, **named)

        return acting


def test_who_opened_second_withdraws_and_rejects_nothing(world: World) -> None:
    second = world.as_somebody(world.bot)
    last = LastMoment(world.folder / "work", lambda: second.open(world.tips(), files("a-0001", OTHER), "title", "m2"))
    with pytest.raises(ComeBackLater):
        world.open(requests=world.as_somebody(world.bot, last))
    assert world.pull(2).state == "closed"
    assert f"refs/heads/{branch_of('m1')}" not in world.git.remote_refs("origin", ["refs/heads/*"])
    assert world.open() == 3
    assert world.opened() == [1, 3]


@pytest.mark.parametrize("same", [True, False], ids=["same-plans", "other-plans"])
def test_planners_racing_freely(world: World, same: bool) -> None:
    """Whatever the timing: at most one request for the site comes of it, and never two for one branch."""
    tips, barrier, ends = world.tips(), Barrier(2), dict[int, Any]()

    def plan(number: int) -> None:
        git = Git(world.folder / "work")
        requests = world.as_somebody(world.bot, git)
        path, marker = (PLAN, "m1") if same or number == 0 else (OTHER, "m2")
        barrier.wait(30)
        try:
            ends[number] = requests.open(tips, files(f"a-000{number}", path), "handbook: publish", marker)
        except Refusal as refusal:
            ends[number] = refusal

    threads = [Thread(target=plan, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    winners = [end for end in ends.values() if isinstance(end, int)]
    assert len(winners) <= 1
    assert all(raced(end) for end in ends.values() if not isinstance(end, int)), ends
    assert world.opened() == winners or (same and len(world.opened()) == 1)


# --- names and figures ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", ["1", "123456", "", "plans 0a1b2c", "Über alles", "a/b@sha256:x", "x" * 400, "a.lock", "-x"])
def test_a_branch_has_a_name_that_git_takes_and_no_plain_number(marker: str) -> None:
    name = branch_of(marker).removeprefix("publisher/requests/")
    assert not name.isdigit()
    assert name.isascii() and len(name) < 80
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert name[0] != "-"


def test_markers_that_read_alike_have_branches_of_their_own() -> None:
    assert len({branch_of(marker) for marker in ("a b", "a-b", "A b", "a  b")}) == 4


def test_titles_are_one_line_of_bearable_length() -> None:
    assert title_of("a\n b\t c") == "a b c"
    assert len(title_of("x" * 400)) == 250


def test_what_a_request_costs(world: World) -> None:
    """Beside the look by which ``tips`` were read. The first line is asked once in a process, whatever it writes."""
    tips = world.tips()
    world.sim.requests.clear()
    pushes = world.pushes()
    world.open(tips=tips)
    asked = sorted(
        (seen.method, seen.path.removeprefix("/repos/ann/site")) for seen in world.sim.requests if "git" not in seen.path
    )
    assert asked == [("GET", ""), ("GET", "/pulls"), ("GET", "/pulls"), ("GET", "/user"), ("POST", "/pulls")]
    assert world.pushes() - pushes == 1
