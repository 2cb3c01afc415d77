"""What an approval at GitHub is: every honest way to merge, what its evidence holds, and what it costs to find out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from publisher.domain.approval import Approval, Verdict
from publisher.domain.fingerprint import digest
from publisher.errors import ComeBackLater
from publisher.forge.github_api import TRIES
from tests.support.github_world import OTHER_PLAN, PLAN, REQUEST, World, github_world, plan_text

WEEK = {f"plans/handbook/daily/2026/2026-12-0{day}.yaml": plan_text(f"a-000{day}") for day in range(1, 8)}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Every answer is judged by GitHub's own schemas."""
    with github_world(tmp_path, checked=True) as made:
        yield made


def approval(verdict: Verdict) -> Approval:
    assert isinstance(verdict, Approval), verdict
    return verdict


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_request_merged_by_a_person(world: World, method: str) -> None:
    number = world.propose({PLAN: plan_text()})
    review = world.review(number)
    merge = world.merge(number, method)
    found = approval(world.verdict())
    assert (found.subject, found.by, found.merge, found.request) == (world.subject(), ("rae",), merge, number)
    assert found.merged_at == world.sim.now
    head = world.tip(REQUEST)
    pushed, landed = (
        list(world.api().pages("activity", ref=f"refs/heads/{REQUEST}")),
        world.api().pages("activity", ref="refs/heads/main"),
    )
    assert found.evidence == {
        "merge": merge, "head": head, "request": number, "rules": world.root,
        "method": "merge" if method == "merge" else "squash",  # of one commit, both are the same
        "landed": {"entry": next(iter(landed))["id"], "kind": "pr_merge", "after": merge, "at": "2026-11-30T08:05:00Z"},
        "pushed": {"entry": pushed[-1]["id"], "at": "2026-11-30T08:02:00Z"},
        "reviews": [{"review": review, "by": world.rae.id, "login": "rae", "at": "2026-11-30T08:04:00Z", "bound": "time"}],
    }  # fmt: skip


def test_a_rebase_of_several_commits_with_the_plan_in_the_middle(world: World) -> None:
    world.commit(REQUEST, {OTHER_PLAN: plan_text("a-0002")})
    world.commit(REQUEST, {PLAN: plan_text()})
    world.commit(REQUEST, {"plans/handbook/daily/2026/2026-12-03.yaml": plan_text("a-0003")})
    number = world.open()
    world.review(number)
    world.commit("main", {"notes.md": "meanwhile\n"}, world.ann)
    tip = world.merge(number, "rebase")
    line = world.sim.git.lines("rev-list", "--first-parent", "-3", "main")
    for path, commit, data in ((OTHER_PLAN, line[2], plan_text("a-0002")), (PLAN, line[1], plan_text())):
        found = approval(world.verdict(path, data))
        assert (found.merge, found.evidence["method"], found.evidence["landed"]["after"]) == (commit, "rebase", tip)


def test_a_rebase_that_leaves_commits_out(world: World) -> None:
    """A merge of the default branch inside the request, and what somebody brought there meanwhile in the same words."""
    notes = {"plans/handbook/notes.yaml": "kind: x\n"}
    world.commit(REQUEST, notes)
    world.commit(REQUEST, {PLAN: plan_text()})
    number = world.open()
    world.commit("main", {"drafts/a/index.md": "x\n"}, world.ann)
    world.commit("main", notes, world.ann)
    world.tick()
    world.sim.pulls.update_branch(world.bot, number)
    world.commit(REQUEST, {OTHER_PLAN: plan_text("a-0002")})
    world.review(number)
    world.merge(number, "rebase")
    assert approval(world.verdict()).evidence["method"] == "rebase"


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_queue_that_lands_two_requests_in_one_push(world: World, method: str) -> None:
    first, second = world.propose(), world.propose({OTHER_PLAN: plan_text("a-0002")}, "publisher/requests/second")
    world.review(first)
    world.review(second, world.sam)
    world.merge((first, second), "queue", queue_method=method)
    one, other = approval(world.verdict()), approval(world.verdict(OTHER_PLAN, plan_text("a-0002")))
    assert (one.request, one.by, other.request, other.by) == (first, ("rae",), second, ("sam",))
    assert one.evidence["landed"] == other.evidence["landed"]
    assert one.evidence["landed"]["kind"] == "merge_queue_merge"
    assert one.merge != other.merge


def test_a_queue_does_not_lend_one_requests_review_to_another(world: World) -> None:
    first, second = world.propose(), world.propose({OTHER_PLAN: plan_text("a-0002")}, "publisher/requests/second")
    world.review(first)
    world.merge((first, second), "queue")
    assert world.code() == "Approval"
    assert world.code(OTHER_PLAN, plan_text("a-0002")) == "not-reviewed"


def test_a_site_of_one_person(tmp_path: Path) -> None:
    """The bot proposes and brings its request up to date; the owner reviews and merges, and pushes everything else."""
    with github_world(tmp_path, alone=True) as world:
        number = world.propose({PLAN: plan_text("a-0002")})
        world.commit("main", {"drafts/a/index.md": "text\n", "plans/handbook/queue.yaml": "articles: []\n"}, world.ann)
        world.push(world.made({PLAN: plan_text()}, world.tip(), who=world.bot), REQUEST, world.bot, force=True)
        world.review(number, world.ann)
        world.merge(number, "squash", world.ann)
        assert approval(world.verdict()).by == ("ann",)


def test_two_people_where_two_are_needed(tmp_path: Path) -> None:
    with github_world(tmp_path, count=2) as world:
        number = world.propose()
        world.review(number, world.sam)
        world.review(number, world.wes)  # whom nobody lists: no harm, no help
        world.review(number)
        world.merge(number)
        found = approval(world.verdict())
        assert found.by == ("rae", "sam")
        assert [item["login"] for item in found.evidence["reviews"]] == ["sam", "rae"]


def test_a_review_after_the_last_push_counts_whatever_came_before(world: World) -> None:
    """Approved, pushed over, updated, and approved again by the same person."""
    number = world.propose({PLAN: plan_text("a-0002")})
    world.review(number)
    world.push(world.made({PLAN: plan_text()}, world.root, who=world.bot), REQUEST, world.bot, force=True)
    world.commit("main", {"notes.md": "x\n"}, world.ann)
    world.tick()
    world.sim.pulls.update_branch(world.bot, number)
    last = world.review(number)
    world.merge(number)
    assert approval(world.verdict()).evidence["reviews"][0]["review"] == last


def test_changes_requested_and_then_approved(world: World) -> None:
    number = world.propose()
    world.review(number, state="CHANGES_REQUESTED")
    world.review(number)
    world.merge(number)
    assert world.code() == "Approval"


def test_a_review_in_the_second_of_the_push_is_too_early_to_tell(world: World) -> None:
    number = world.propose({PLAN: plan_text("a-0002")})
    world.commit(REQUEST, {PLAN: plan_text()})
    world.sim.reviews.submit(world.rae, number, "APPROVED")
    world.merge(number)
    assert world.code() == "review-of-older-head"


# --- from a fork -------------------------------------------------------------------------------------------------------------


def test_a_fork_whose_review_names_the_payload(world: World) -> None:
    """GitHub keeps no record of a fork's branch here, so the review must say what it approves."""
    number = world.propose(branch="eve:week", who=world.eve)
    body = f"Fine.\r\n\r\napprove {world.subject().payload}\r\n"
    world.review(number, body=body)
    world.commit("eve:week", {"plans/handbook/notes.yaml": "kind: x\n"}, world.eve)
    world.merge(number, "squash")
    found = approval(world.verdict())
    (said,) = found.evidence["reviews"]
    assert (found.evidence["pushed"], said["bound"], said["text"]) == ({}, "content", digest(body.encode()))


@pytest.mark.parametrize(
    "body",
    [
        "",
        "LGTM",
        "approve sha256:12",
        "I approve {payload}",
        "approve {payload} not",
        "> approve {payload}",
        "Approve {payload}",
    ],
)
def test_a_fork_whose_review_does_not(world: World, body: str) -> None:
    number = world.propose(branch="eve:week", who=world.eve)
    world.review(number, body=body.format(payload=world.subject().payload))
    world.merge(number)
    assert world.code() == "freshness-unknown"


def test_the_owner_of_a_fork_does_not_approve_it(world: World) -> None:
    """Opened by somebody else, with commits in a third name."""
    world.tick()
    commit = world.made({PLAN: plan_text()}, world.tip(), who=world.bot)
    world.push(commit, "rae:week", world.rae)
    number = world.open("rae:week", world.wes)
    world.review(number, body=f"approve {world.subject().payload}")
    world.merge(number, who=world.ann)
    assert world.code() == "own-approval"


# --- the same again ----------------------------------------------------------------------------------------------------------


def test_deriving_it_again_gives_the_same_bytes(world: World) -> None:
    """Whatever people do to a merged request, unless it takes back what counted."""
    number = world.propose()
    review = world.review(number)
    world.merge(number)
    first = approval(world.verdict())
    world.review(number, world.sam)
    world.review(number, state="COMMENTED")
    world.review(number, world.sam, "CHANGES_REQUESTED")
    world.sim.reviews.edit(world.rae, number, review, "a better word")
    world.push("", REQUEST, world.bot)
    world.push(first.evidence["head"], REQUEST, world.wes)
    world.push(world.made({PLAN: plan_text("a-0009")}, world.root, who=world.wes), REQUEST, world.wes, force=True)
    world.commit("main", {"ledger/x.jsonl": "{}\n"}, world.bot)
    world.sim.protect("main", required_reviews=2, pull_request=True)
    world.tick(days=3)
    again = approval(world.verdict())
    assert (again.by, again.merged_at, again.merge, again.request) == (first.by, first.merged_at, first.merge, first.request)
    assert json.dumps(again.evidence, sort_keys=True) == json.dumps(first.evidence, sort_keys=True)


def test_a_dismissal_after_the_merge_takes_it_back(world: World) -> None:
    number = world.propose()
    review = world.review(number)
    world.merge(number)
    assert world.code() == "Approval"
    world.sim.reviews.dismiss(world.ann, number, review)
    assert world.code() == "approval-dismissed"


# --- what it costs -----------------------------------------------------------------------------------------------------------


def test_a_weeks_request_costs_hardly_more_than_one_plan(world: World) -> None:
    world.approved(WEEK, "squash")
    forge, tips = world.forge(), world.tips()
    world.asked()
    counts = []
    for path, data in WEEK.items():
        assert isinstance(forge.verdict(tips, world.subject(path, data)), Approval)
        counts.append(len(world.asked()))
    assert counts == [14, 0, 0, 0, 0, 0, 0]


def test_what_needs_no_answer_asks_for_none(world: World) -> None:
    """The rules as they began; and of a file that nobody proposed, whether it was rejected."""
    forge, tips = world.forge(), world.tips()
    world.asked()
    assert forge.rules(tips.default).commit == world.root
    assert forge.open_requests(tips) == ()
    assert world.asked() == []
    assert world.verdict(forge=forge) == forge.verdict(tips, world.subject())
    assert world.asked() == ["/pulls"]


def test_what_was_asked_is_kept_for_a_minute(world: World) -> None:
    number = world.propose()
    review = world.review(number)
    world.merge(number)
    forge = world.forge()
    assert world.code(forge=forge) == "Approval"
    world.sim.reviews.dismiss(world.ann, number, review)
    world.tick(seconds=59)
    assert world.code(forge=forge) == "Approval"
    world.tick(seconds=1)
    assert world.code(forge=forge) == "approval-dismissed"


def test_no_answer_is_not_kept(world: World) -> None:
    """Neither a list that broke off, which would pass for a whole one, nor "not there"."""
    world.approved()
    forge = world.forge()
    world.sim.faults.next("GET /repos/ann/site/pulls/1", status=404)
    assert world.code(forge=forge) == "request-not-merged"
    world.sim.faults.next("GET /repos/ann/site/activity", status=500, times=TRIES + 1)
    with pytest.raises(ComeBackLater, match="host-unreachable"):
        world.verdict(forge=forge)
    assert world.code(forge=forge) == "Approval"


# --- GitHub's indexes lag ----------------------------------------------------------------------------------------------------


def test_an_index_that_lags_is_asked_again(world: World) -> None:
    world.approved()
    world.sim.faults.delay_index(3)
    assert world.code() == "Approval"
    assert world.slept == [2.0, 2.0]


def test_a_record_of_pushes_that_lags_is_asked_again(world: World) -> None:
    world.approved()
    world.sim.faults.next("GET /repos/ann/site/activity", kind="empty", after=True, times=3)
    assert world.code() == "Approval"
    assert world.slept == [2.0]


def test_a_direct_push_is_not_waited_for(world: World) -> None:
    world.commit("main", {PLAN: plan_text()}, world.ann)
    assert world.code() == "no-request"
    assert world.slept == []


def test_an_index_that_never_comes(world: World) -> None:
    world.approved()
    world.sim.faults.delay_index(timedelta(days=30).total_seconds())
    world.tick(minutes=15)
    assert world.code() == "request-not-found"
    assert world.slept == []


def test_a_record_of_pushes_that_never_comes(world: World) -> None:
    world.approved()
    world.tick(minutes=15)
    world.sim.faults.next("GET /repos/ann/site/activity", kind="empty", after=True, times=1000)
    assert world.code() == "movement-unknown"
    assert world.slept == []


def test_a_commit_dated_in_the_future_does_not_keep_us_waiting(world: World) -> None:
    world.sim.advance(timedelta(days=2))
    world.commit("main", {PLAN: plan_text()}, world.ann)
    world.sim.advance(-timedelta(days=2))
    world.sim.faults.next("GET /repos/ann/site/activity", kind="empty", after=True, times=1000)
    assert world.code() == "movement-unknown"
    assert world.slept == []
