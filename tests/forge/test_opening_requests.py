from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from publisher.errors import Bug, ComeBackLater, NeedsPerson, Refusal
from publisher.gitstore.gateway import Git
from tests.support.signed_forge import MAIN, OTHER_PLAN, PLAN, REQUESTS, RULES, World, plan_text, run_git


class CountingGit(Git):
    """Counts pushes."""

    pushes = 0

    def push(self, remote: str, updates: Any) -> bool:
        self.pushes += 1
        return super().push(remote, updates)


class LyingGit(Git):
    """Every push happens and is then reported as refused."""

    def push(self, remote: str, updates: Any) -> bool:
        super().push(remote, updates)
        return False


class DroppingGit(Git):
    """Every push is reported as done and never happens."""

    def push(self, remote: str, updates: Any) -> bool:
        return True


class WaitingGit(Git):
    """Pushes only when another process is about to push too."""

    barrier: Barrier

    def push(self, remote: str, updates: Any) -> bool:
        self.barrier.wait(60)
        return super().push(remote, updates)


def test_a_request_is_one_signed_commit_on_the_default_branch(world: World) -> None:
    number = world.open({PLAN: plan_text(), OTHER_PLAN: plan_text("a-0002")})
    tips = world.tips()
    commit = world.git.commit(tips.requests[number])
    assert commit.parents == (tips.default,)
    assert world.git.commit_signer(commit.oid, world.forge().rules(tips.default).allowed("git")) == "planner@example.org"
    (request,) = world.forge().open_requests(tips)
    assert (request.number, request.head, request.paths) == (1, commit.oid, (PLAN, OTHER_PLAN))


def test_a_repetition_finds_its_own_request_without_a_push(world: World) -> None:
    first = world.open({PLAN: plan_text()})
    git = CountingGit(world.folder / "work")
    assert world.open({PLAN: plan_text()}, git=git) == first
    assert git.pushes == 0


def test_other_files_under_the_same_marker_replace_the_commit(world: World) -> None:
    number = world.open({PLAN: plan_text()})
    assert world.open({PLAN: plan_text("a-0002")}) == number
    tips = world.tips()
    assert world.git.blob_at(tips.requests[number], PLAN) == plan_text("a-0002")
    assert world.git.commit(tips.requests[number]).parents == (tips.default,)


def test_another_marker_is_another_request(world: World) -> None:
    assert world.open({PLAN: plan_text()}, "m1") == 1
    assert world.open({OTHER_PLAN: plan_text("a-0002")}, "m2") == 2


def test_a_request_that_can_no_longer_be_merged_is_made_again(world: World) -> None:
    number = world.open({PLAN: plan_text()})
    world.push(world.commit({PLAN: plan_text("a-0003")}, [world.tips().default]))
    assert world.open({PLAN: plan_text()}) == number
    tips = world.tips()
    assert world.git.commit(tips.requests[number]).parents == (tips.default,)


def test_a_default_branch_that_moved_elsewhere_needs_no_push(opened: World) -> None:
    head = opened.tips().requests[1]
    opened.push(opened.commit({"drafts/a/index.md": b"more\n"}, [opened.tips().default]))
    opened.open({PLAN: plan_text()})
    assert opened.tips().requests[1] == head


def test_somebody_elses_commit_on_the_branch_is_not_overwritten(opened: World) -> None:
    head = opened.push(opened.commit({PLAN: plan_text("a-0009")}, [opened.tips().requests[1]], "alice"), f"{REQUESTS}1")
    assert opened.open({PLAN: plan_text("a-0002")}) == 1
    assert opened.tips().requests[1] == head


def test_a_marker_written_by_somebody_else_is_not_ours(world: World) -> None:
    world.branch(1, {PLAN: plan_text()}, who="alice", message="x\n\nMarker: m1\n")
    assert world.open({PLAN: plan_text()}) == 2


def test_numbers_are_never_used_again(opened: World) -> None:
    opened.decide(1, approve=False)
    opened.open({PLAN: plan_text("a-0002")})
    opened.decide(2)
    assert opened.open({OTHER_PLAN: plan_text("a-0003")}) == 3


def test_numbers_in_unsigned_words_count_for_nothing(world: World) -> None:
    signed = world.signed(who="mallory", request=900)
    world.crafted(signed, who="mallory")
    world.push("", f"{REQUESTS}1")
    assert world.open({OTHER_PLAN: plan_text("a-0002")}) == 1


def test_branches_with_absurd_numbers_are_nobodys(world: World) -> None:
    head = world.branch(10**12, {PLAN: plan_text()})
    world.push(head, f"{REQUESTS}007")
    assert world.open({OTHER_PLAN: plan_text("a-0002")}) == 8


def test_what_is_on_the_default_branch_already_is_not_proposed(world: World) -> None:
    world.push(world.commit({PLAN: plan_text()}, [world.tips().default]))
    with pytest.raises(ComeBackLater, match="nothing-to-propose"):
        world.open({PLAN: plan_text()})


def test_only_plans_and_rules_are_proposed(world: World) -> None:
    with pytest.raises(Bug, match="request-touches-more"):
        world.open({"publisher.yaml": b"id: y\n"})


@pytest.mark.parametrize(("who", "code"), [(None, "no-signing-key"), ("mallory", "key-not-listed")])
def test_without_a_listed_key_nothing_is_proposed(world: World, who: str | None, code: str) -> None:
    with pytest.raises(NeedsPerson, match=code) as refusal:
        world.requests(who).open(world.tips(), {PLAN: plan_text()}, "t", "m1")
    assert code != "no-signing-key" or "PUBLISHER_SIGNING_KEY" in refusal.value.next
    assert world.tips().requests == {}


def test_a_lost_answer_changes_nothing(world: World) -> None:
    assert world.open({PLAN: plan_text()}, git=LyingGit(world.folder / "work")) == 1
    assert list(world.tips().requests) == [1]


def test_a_push_that_says_yes_and_does_nothing_is_noticed(world: World) -> None:
    with pytest.raises(ComeBackLater, match="request-raced"):
        world.open({PLAN: plan_text()}, git=DroppingGit(world.folder / "work"))


def test_of_two_openers_one_looks_again(world: World) -> None:
    run_git("clone", "--quiet", "--template=", f"file://{world.folder}/remote.git", "second", cwd=world.folder)
    run_git("remote", "set-url", "origin", "../remote.git", cwd=world.folder / "second")
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(2), context.Queue()
    jobs = [
        context.Process(target=_open_at_once, args=(barrier, answers, world.folder, world.keys, clone, path))
        for clone, path in (("work", PLAN), ("second", OTHER_PLAN))
    ]
    for job in jobs:
        job.start()
    found = dict(answers.get(timeout=60) for _ in jobs)
    for job in jobs:
        job.join(60)
    assert sorted(found.values()) == ["1", "request-raced"]
    winner = next(path for path, answer in found.items() if answer == "1")
    (request,) = world.forge().open_requests(world.tips())
    assert request.paths == (winner,)
    (loser,) = set(found) - {winner}
    assert world.open({loser: plan_text()}, loser) == 2


def _open_at_once(barrier: Barrier, answers: Any, folder: Path, keys: Path, clone: str, path: str) -> None:
    world = World(folder=folder, keys=keys)
    git = WaitingGit(folder / clone)
    git.barrier = barrier
    try:
        answers.put((path, str(world.open({path: plan_text()}, path, git=git))))
    except Refusal as refusal:
        answers.put((path, refusal.code))


def test_requests_that_could_never_be_approved_bring_no_paths(world: World) -> None:
    world.branch(1, {PLAN: plan_text(), "publisher.yaml": b"id: y\n"})
    world.push(world.commit({PLAN: plan_text()}, []), f"{REQUESTS}2")
    assert [request.paths for request in world.forge().open_requests(world.tips())] == [(), ()]


def test_decided_requests_are_not_open_even_if_their_branch_stays(opened: World) -> None:
    head = opened.tips().requests[1]
    opened.decide(1, approve=False)
    opened.push(head, f"{REQUESTS}1")
    assert opened.forge().open_requests(opened.tips()) == ()


def test_the_rules_can_be_proposed(world: World) -> None:
    world.open({RULES: b"{}"})
    (request,) = world.forge().open_requests(world.tips())
    assert request.paths == (RULES,)
    assert MAIN not in request.paths
