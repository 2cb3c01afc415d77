"""Where reviews are shown at a simulated GitHub: one comment, edited in place and only by who wrote it; one commit status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from publisher.errors import ComeBackLater
from publisher.forge.github_api import GithubApi
from publisher.forge.github_reviews import CONTEXT, MARKER, MAY_NOT, MOVED, WHOSE, GithubReviews
from tests.support.github.accounts import Account
from tests.support.github.world import World, world
from tests.support.github_instance import GithubInstance, github_instance
from tests.support.gitrepos import Repository
from tests.support.instance import draft, source

SAYS = "sha256:" + "a" * 64
PLAN = "blog/daily/2026/2026-12-01"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def board(hub: World, who: Account) -> GithubReviews:
    return GithubReviews(GithubApi(hub.sim.repository, who.token, api=hub.sim.api_url, timeout=3, pause=0.01))


def bodies(hub: World, number: int) -> list[tuple[str, str]]:
    return [(one.user.login, one.body) for one in hub.sim.issues.comments_of(number)]


def posted(hub: World, number: int, who: Account, text: str = "first\n", ok: bool = True, says: str = SAYS) -> tuple[str, str]:
    """What a whole posting by a fresh process answers: status, comment."""
    door = board(hub, who)
    head = hub.sim.pulls.numbered(number).head_sha
    return door.status(head, ok, says), door.comment(number, head, text)


def test_one_comment_is_edited_in_place(hub: World) -> None:
    number = hub.opened()
    assert posted(hub, number, hub.bot) == ("", "")
    assert posted(hub, number, hub.bot, "second\n", ok=False) == ("", "")
    assert bodies(hub, number) == [("publisher[bot]", f"{MARKER}\nsecond\n")]
    head = hub.sim.pulls.numbered(number).head_sha
    (status,) = hub.get(f"commits/{head}/status")["statuses"]
    assert (status["context"], status["state"], status["description"]) == (CONTEXT, "failure", SAYS)


def test_what_stands_already_is_not_written_again(hub: World) -> None:
    number = hub.opened()
    posted(hub, number, hub.bot)
    before = len([one for one in hub.sim.requests if one.method != "GET"])
    assert posted(hub, number, hub.bot) == ("", "")
    assert len([one for one in hub.sim.requests if one.method != "GET"]) == before


def test_a_comment_of_somebody_else_is_never_edited(hub: World) -> None:
    """Whoever plants a comment that looks like ours could change it again once it carries our words."""
    number = hub.opened()
    for who in (hub.eve, hub.rae, hub.job):
        hub.sim.issues.comment(who, number, f"{MARKER}\nplanted by {who.login}")
    assert posted(hub, number, hub.bot) == ("", "")
    assert bodies(hub, number) == [
        *((who.login, f"{MARKER}\nplanted by {who.login}") for who in (hub.eve, hub.rae, hub.job)),
        ("publisher[bot]", f"{MARKER}\nfirst\n"),
    ]
    posted(hub, number, hub.bot, "second\n")
    assert bodies(hub, number)[-1] == ("publisher[bot]", f"{MARKER}\nsecond\n") and len(bodies(hub, number)) == 4


def test_a_persons_copy_of_our_very_words_does_not_stand_for_ours(hub: World) -> None:
    number = hub.opened()
    hub.sim.issues.comment(hub.eve, number, f"{MARKER}\nfirst\n")
    posted(hub, number, hub.bot)
    assert [who for who, _ in bodies(hub, number)] == ["eve", "publisher[bot]"]


def test_a_marker_that_is_only_quoted_is_no_comment_of_ours(hub: World) -> None:
    number = hub.opened()
    hub.sim.issues.comment(hub.bot, number, f"About {MARKER}: hello")
    posted(hub, number, hub.bot)
    assert [body for _, body in bodies(hub, number)] == [f"About {MARKER}: hello", f"{MARKER}\nfirst\n"]


def test_a_person_with_a_token_of_their_own(hub: World) -> None:
    number = hub.opened()
    assert posted(hub, number, hub.rae) == ("", "")
    assert posted(hub, number, hub.rae, "second\n") == ("", "")
    assert bodies(hub, number) == [("rae", f"{MARKER}\nsecond\n")]


def test_a_forks_token_may_not_and_that_is_no_error(hub: World) -> None:
    number = hub.opened()
    reader = hub.sim.actions_token({"contents": "read", "pull_requests": "read", "statuses": "read", "issues": "read"})
    assert posted(hub, number, reader) == (MAY_NOT, MAY_NOT)
    assert bodies(hub, number) == [] and hub.sim.checks.statuses == []


def test_a_token_that_may_comment_and_not_set_statuses(hub: World) -> None:
    """Who it is cannot be found out; so it makes its first comment, and then leaves what looks like its own alone."""
    number = hub.opened()
    half = hub.sim.app("half[bot]", {"contents": "read", "pull_requests": "write", "issues": "read", "statuses": "read"})
    assert posted(hub, number, half) == (MAY_NOT, "")
    assert posted(hub, number, half, "second\n") == (MAY_NOT, WHOSE)
    assert bodies(hub, number) == [("half[bot]", f"{MARKER}\nfirst\n")]


def test_nothing_is_said_about_a_head_that_is_no_longer_the_requests(hub: World) -> None:
    number = hub.opened()
    old = hub.sim.pulls.numbered(number).head_sha
    hub.sim.commit(hub.bot, "plan", {"more.txt": "more\n"}, "more", start="plan")
    assert board(hub, hub.bot).comment(number, old, "late\n") == MOVED
    assert board(hub, hub.bot).comment(999, old, "nowhere\n") == MOVED
    assert bodies(hub, number) == []


def test_only_editing_makes_no_comment_and_keeps_none_stale(hub: World) -> None:
    number = hub.opened()
    head = hub.sim.pulls.numbered(number).head_sha
    assert board(hub, hub.bot).comment(number, head, "nothing here\n", only_edit=True) == ""
    assert bodies(hub, number) == []
    posted(hub, number, hub.bot)
    door = board(hub, hub.bot)
    door.status(head, True, "no plan in this request")
    assert door.comment(number, head, "nothing here\n", only_edit=True) == ""
    assert bodies(hub, number) == [("publisher[bot]", f"{MARKER}\nnothing here\n")]


@pytest.mark.parametrize("after", [True, False], ids=["done", "not-done"])
def test_an_answer_that_is_lost_is_looked_for(hub: World, after: bool) -> None:
    number = hub.opened()
    head = hub.sim.pulls.numbered(number).head_sha
    door = board(hub, hub.bot)
    hub.sim.faults.next(f"POST /repos/ann/site/statuses/{head}", status=502, after=after)
    hub.sim.faults.next(f"POST /repos/ann/site/issues/{number}/comments", kind="reset", after=after)
    if after:
        assert (door.status(head, True, SAYS), door.comment(number, head, "first\n")) == ("", "")
    else:
        for post in (lambda: door.status(head, True, SAYS), lambda: door.comment(number, head, "first\n")):
            with pytest.raises(ComeBackLater) as caught:
                post()
            assert caught.value.code in ("status-unknown", "comment-unknown")
        assert posted(hub, number, hub.bot) == ("", "")
    assert len(bodies(hub, number)) == 1 and len(hub.sim.checks.statuses) == 1


def test_a_status_that_is_too_long_is_cut_and_not_refused(hub: World) -> None:
    number = hub.opened()
    assert posted(hub, number, hub.bot, says="x" * 500) == ("", "")
    assert hub.sim.checks.statuses[0].description == "x" * 140


# --- the whole way ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[GithubInstance]:
    with github_instance(tmp_path) as made:
        yield made


def event_of(instance: GithubInstance, number: int, *, private: bool = True, fork: bool = False) -> dict[str, Any]:
    """What GitHub writes into the event's file, as far as anybody reads it."""
    pull = instance.sim.pulls.numbered(number)
    ours = {"id": 77, "full_name": instance.sim.repository, "private": private}
    theirs = {"id": 78, "full_name": "mallory/site", "private": private} if fork else ours
    return {
        "action": "synchronize", "number": number, "repository": ours,
        "pull_request": {
            "number": number, "title": pull.title, "body": pull.body,
            "head": {"sha": pull.head_sha, "ref": pull.head, "repo": theirs},
            "base": {"sha": pull.base_sha, "ref": pull.base, "repo": ours},
        },
    }  # fmt: skip


def job(instance: GithubInstance, number: int, *argv: str, now: str, check: int = 0, who: str = "ci", **event: Any) -> Any:
    """A review in a job of a pull_request event."""
    folder = instance.folder / "job"
    folder.mkdir(exist_ok=True)
    (folder / "event.json").write_text(json.dumps(event_of(instance, number, **event)))
    (folder / "summary.md").write_text("")
    (folder / "outputs").write_text("")
    instance.environment |= {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "GITHUB_OUTPUT": str(folder / "outputs"), "GITHUB_RUN_ID": "42",
    }  # fmt: skip
    return instance.do(who, "review", *argv, now=now, check=check)


def comments(instance: GithubInstance, number: int) -> list[str]:
    return [one.body for one in instance.sim.issues.comments_of(number)]


def test_a_pull_request_gets_its_review_and_keeps_one_comment(instance: GithubInstance, tmp_path: Path) -> None:
    number = instance.propose("12-01 08:00", "--date", "2026-12-01")
    job(instance, number, "--post", "--output", str(tmp_path / "out"), now="12-01 08:01")
    payload = json.loads(instance.do("ci", "review", "--json", now="12-01 08:02").stdout)["payload"]
    (status,) = instance.sim.checks.statuses
    assert (status.context, status.state, status.description) == (CONTEXT, "success", payload)
    assert status.sha == instance.sim.pulls.numbered(number).head_sha
    (body,) = comments(instance, number)
    assert payload in body and "no problem found" in body and "/actions/runs/42" in body
    assert "Article number" not in body + status.description  # the titles of the drafts
    assert (tmp_path / "out/blog/article-0001/index.html").exists()
    # Somebody pushes to the request: the plan names a text that is not the draft's any more.
    pushed = Repository(instance.folder / "editor", "editor")
    pushed.git("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
    pushed.git("checkout", "--quiet", "--detach", f"origin/{instance.sim.pulls.numbered(number).head}")
    pushed.commit({f"{source(1)}/index.md": draft(1, "guide", "Another text.\n")})
    instance.sim.push_as(
        instance.people["owner"], "HEAD", instance.sim.pulls.numbered(number).head, folder=pushed.path
    )  # fmt: skip
    done = job(instance, number, "--post", now="12-01 08:05", check=3)
    assert "::error file=plans/" in done.stderr and "title=fingerprint-differs" in done.stderr
    (body,) = comments(instance, number)
    assert "1 problem to solve" in body and "fingerprint-differs" in body
    assert (instance.sim.checks.statuses[-1].state, len(instance.sim.checks.statuses)) == ("failure", 2)
    assert instance.sim.checks.statuses[-1].description.startswith("1 problem; sha256:")


def test_every_request_of_publishers_own_is_reviewed_and_quietly_again(instance: GithubInstance) -> None:
    """Requests that the Actions token opens start no workflow: the job that opened them reviews them."""
    numbers = [instance.propose("12-01 08:00", "--date", f"2026-12-0{day}") for day in (1, 2)]
    done = instance.do("ci", "review", "--requests", "--post", "--json", now="12-01 08:01")
    found = json.loads(done.stdout)
    assert [one["request"] for one in found["reviews"]] == numbers and found["exit"] == 0
    assert [len(comments(instance, number)) for number in numbers] == [1, 1]
    assert {one.sha for one in instance.sim.checks.statuses} == {instance.sim.pulls.numbered(n).head_sha for n in numbers}
    before = len([one for one in instance.sim.requests if one.method not in ("GET", "HEAD")])
    instance.do("ci", "review", "--requests", "--post", now="12-01 09:00")
    assert len([one for one in instance.sim.requests if one.method not in ("GET", "HEAD")]) == before


def test_a_forks_request_is_reviewed_and_not_posted(instance: GithubInstance) -> None:
    sim = instance.sim
    mallory = sim.user("mallory", permission="read")
    fork = Repository(instance.folder / "mallory", "mallory")
    Repository(instance.folder).git("clone", "--quiet", str(sim.bare), str(fork.path))
    fork.commit({"plans/blog/queue.yaml": "articles: []\n", "ledger/x": "mine\n"})
    sim.push_as(mallory, "HEAD", "refs/forks/mallory/heads/evil", folder=fork.path)
    number = sim.pulls.open(mallory, head="mallory:evil", title="::error::%0A")
    instance.people["fork"] = sim.actions_token(
        {"contents": "read", "pull_requests": "read", "statuses": "read", "issues": "read"}
    )
    instance.fresh_clone("fork")
    done = job(instance, number, "--post", now="12-01 08:01", check=3, who="fork", fork=True)
    assert "title=ledger-touched" in done.stderr
    assert done.stderr.count(f"not posted: {MAY_NOT}") == 2
    assert comments(instance, number) == [] and sim.checks.statuses == []
    assert "ledger-touched" in (instance.folder / "job" / "summary.md").read_text()


def test_a_request_that_was_rejected_is_not_proposed_again(instance: GithubInstance) -> None:
    number = instance.propose("12-01 08:00", "--date", "2026-12-01")
    pull = instance.sim.pulls.numbered(number)
    instance.go_to("12-01 08:10")
    instance.sim.pulls.close(instance.people["reviewer"], number)
    again = instance.sim.pulls.open(instance.people["owner"], head=pull.head, title="again")
    done = job(instance, again, now="12-01 08:20", check=3)
    assert "title=rejected" in done.stderr and f"was rejected in request {number}" in done.stderr
