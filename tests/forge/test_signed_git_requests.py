"""Deciding requests: approving, rejecting, and everything that keeps a person from signing."""

from __future__ import annotations

from typing import Any

import pytest

from publisher.domain.approval import Approval, NoApproval, Rejection
from publisher.errors import ComeBackLater, InputProblem, NeedsPerson, UsageProblem
from publisher.forge.statements import block_of
from publisher.gitstore.gateway import Git
from tests.support.signed_forge import MAIN, OTHER_PLAN, PLAN, REQUESTS, World, plan_text, rules_text, set_ref

APPROVALS = "refs/heads/publisher/approvals/*"


class LyingGit(Git):
    """Every push happens and is then reported as refused."""

    def push(self, remote: str, updates: Any) -> bool:
        super().push(remote, updates)
        return False


class DroppingGit(Git):
    """Every push is reported as done and never happens."""

    def push(self, remote: str, updates: Any) -> bool:
        return True


class LateGit(Git):
    """The first push reaches the remote only when the next one is made."""

    held: tuple[str, Any] | None = None
    used = False

    def push(self, remote: str, updates: Any) -> bool:
        if not self.used:
            self.used, self.held = True, (remote, updates)
            return False
        if self.held:
            super().push(*self.held)
            self.held = None
        return super().push(remote, updates)


class MovingGit(Git):
    """Before the first push to the default branch, somebody else pushes ``commit`` there."""

    commit_first = ""

    def push(self, remote: str, updates: Any) -> bool:
        if self.commit_first and updates[0][1] == MAIN:
            set_ref(self.root().parent, MAIN, self.commit_first)
            self.commit_first = ""
        return super().push(remote, updates)


def refused(world: World, code: str, number: int = 1, who: str = "alice", approve: bool = True, git: Git | None = None) -> None:
    """Deciding is refused with ``code``, and the default branch is as it was."""
    before = world.tips().default
    with pytest.raises(NeedsPerson, match=rf"\[{code}\]"):
        world.decide(number, who, approve, git)
    assert world.tips().default == before


# --- approving ------------------------------------------------------------------------------------------------------------


def test_a_reviewed_merge_approves_exactly_its_payload(world: World) -> None:
    number = world.open({PLAN: plan_text()})
    given = world.decide(number)
    verdict = world.verdict()
    assert isinstance(verdict, Approval)
    assert given == (verdict,)
    assert verdict.by == ("alice@example.org",)
    assert verdict.merged_at == world.now
    assert verdict.request == number == 1
    assert verdict.merge == world.tips().default
    assert world.tips().requests == {}


def test_the_evidence_names_everything_and_holds_no_text(opened: World) -> None:
    head = opened.tips().requests[1]
    (approval,) = opened.decide(1)
    evidence = approval.evidence
    assert evidence["merge"] == opened.tips().default and evidence["head"] == head
    assert evidence["signers"] == ["planner@example.org"]
    assert evidence["statements"][0]["payload"] == approval.subject.payload
    assert len(evidence["signatures"][0]) == len("sha256:") + 64
    assert "a-0001" not in repr(evidence)


def test_a_week_of_plans_is_approved_one_by_one(world: World) -> None:
    files = {PLAN: plan_text(), OTHER_PLAN: plan_text("a-0002")}
    world.open(files)
    assert [approval.subject.path for approval in world.decide(1)] == [PLAN, OTHER_PLAN]
    world.push(world.commit({OTHER_PLAN: plan_text("a-0666")}, [world.tips().default]))
    assert world.code(PLAN) == "Approval"
    assert world.code(OTHER_PLAN) == "edited-without-request"


def test_a_revision_is_approved_like_the_first(approved: World) -> None:
    approved.open({PLAN: plan_text("a-0002", revision=2)}, "m2")
    (approval,) = approved.decide(2, "bob")
    assert approval.subject.revision == 2 and approval.by == ("bob@example.org",)
    assert approved.code(data=plan_text()) == "payload-differs"


def test_records_pushed_after_the_merge_do_not_matter(approved: World) -> None:
    for number in range(3):
        approved.push(approved.commit({f"ledger/{number}.jsonl": b"{}\n"}, [approved.tips().default]))
    assert approved.code() == "Approval"


def test_nobody_decided_is_absent(opened: World) -> None:
    verdict = opened.verdict()
    assert isinstance(verdict, NoApproval) and verdict.absent


# --- rejecting -------------------------------------------------------------------------------------------------------------


def test_a_rejection_closes_the_request_and_changes_no_file(opened: World) -> None:
    before = opened.tips().default
    assert opened.decide(1, approve=False) == ()
    verdict = opened.verdict()
    assert isinstance(verdict, Rejection)
    assert (verdict.by, verdict.request) == ("alice@example.org", 1)
    assert opened.git.commit(opened.tips().default).tree == opened.git.commit(before).tree
    assert opened.tips().requests == {}
    assert opened.code(data=plan_text("a-0002")) == "absent"


def test_an_approval_after_a_rejection_does_not_undo_it(opened: World) -> None:
    opened.decide(1, approve=False)
    opened.open({PLAN: plan_text()})
    refused(opened, "already-rejected", 2, "bob")
    opened.merge(opened.tips().requests[2], [opened.signed(who="bob", request=2)], {PLAN: plan_text()}, "bob")
    assert isinstance(opened.verdict(), Rejection)


def test_a_rejection_after_the_approval_is_final_too(approved: World) -> None:
    head = approved.branch(2, {OTHER_PLAN: plan_text("a-0002")})
    approved.merge(head, [approved.signed(who="bob", request=2, decision="reject")], {}, "bob")
    assert isinstance(approved.verdict(), Rejection)


@pytest.mark.parametrize(("who", "fields"), [("planner", {}), ("mallory", {}), ("bob", {"instance": "inst-other"})])
def test_a_rejection_by_somebody_not_entitled_rejects_nothing(approved: World, who: str, fields: dict[str, Any]) -> None:
    head = approved.branch(2, {OTHER_PLAN: plan_text("a-0002")})
    approved.merge(head, [approved.signed(who=who, request=2, decision="reject", **fields)], {}, who)
    assert isinstance(approved.verdict(), Approval)


def test_a_rejection_from_a_foreign_history_rejects_nothing(approved: World) -> None:
    """Mallory merges in a history of her own, in whose rules she may decide."""
    rules = rules_text(approved.keys, {"mallory": ["commit", "approve"]})
    foreign = approved.commit({"approval.yaml": rules}, [], "mallory")
    block = block_of([approved.signed(who="mallory", request=2, decision="reject")])
    foreign = approved.commit({}, [foreign], "mallory", block + "\n")
    approved.merge(foreign, [], {}, "mallory")
    assert isinstance(approved.verdict(), Approval)
    root = approved.forge().rules(approved.tips().default).root
    assert isinstance(approved.verdict(pinned_root=root), Approval)


def test_a_rejection_survives_history_turned_around(opened: World) -> None:
    """The default branch becomes the second parent of a merge; what it recorded is still seen."""
    before = opened.tips().default
    opened.decide(1, approve=False)
    side = opened.commit({"drafts/a/index.md": b"more\n"}, [before], "bob")
    opened.push(opened.commit({}, [side, opened.tips().default], "bob"))
    assert isinstance(opened.verdict(), Rejection)


def test_a_plan_that_cannot_be_read_can_be_rejected_not_approved(world: World) -> None:
    world.open({PLAN: b"[broken"})
    with pytest.raises(InputProblem, match="not-a-mapping"):
        world.decide(1)
    world.decide(1, approve=False)
    assert world.forge().open_requests(world.tips()) == ()


# --- who may not sign ---------------------------------------------------------------------------------------------------


def test_nobody_decides_on_their_own_request(world: World) -> None:
    world.open({PLAN: plan_text()}, who="alice")
    refused(world, "own-request")
    refused(world, "own-request", approve=False)
    assert world.decide(1, "bob")


def test_nobody_decides_after_pushing_to_the_request(opened: World) -> None:
    opened.push(opened.commit({PLAN: plan_text("a-0002")}, [opened.tips().requests[1]], "alice"), f"{REQUESTS}1")
    refused(opened, "own-request")


def test_a_bot_decides_nothing(world: World) -> None:
    world.open({PLAN: plan_text()}, who="alice")
    refused(world, "not-entitled", who="planner")


def test_an_unlisted_key_decides_nothing(opened: World) -> None:
    refused(opened, "key-not-listed", who="mallory")


def test_without_a_key_nothing_is_decided(opened: World) -> None:
    with pytest.raises(NeedsPerson, match="no-signing-key"):
        opened.requests(None).decide(opened.tips(), 1, True, opened.now)


# --- what is not signed ---------------------------------------------------------------------------------------------------


def test_a_request_that_touches_more(world: World) -> None:
    world.branch(1, {PLAN: plan_text(), "publisher.yaml": b"id: y\n"})
    refused(world, "request-touches-more")
    refused(world, "request-touches-more", approve=False)


def test_a_request_with_an_unsigned_commit_can_only_be_rejected(world: World) -> None:
    world.branch(1, {PLAN: plan_text()}, who=None)
    refused(world, "unsigned-commit")
    world.decide(1, approve=False)
    assert isinstance(world.verdict(), Rejection)


def test_a_request_without_files(world: World) -> None:
    world.branch(1, {})
    refused(world, "nothing-to-decide")


def test_a_request_whose_file_changed_meanwhile_is_stale(world: World) -> None:
    """Two requests for one date: when the first is merged, the second cannot be."""
    world.open({PLAN: plan_text()}, "m1")
    world.open({PLAN: plan_text("a-0002")}, "m2")
    world.decide(1)
    refused(world, "request-stale", 2)
    assert world.code() == "Approval"


def test_what_would_prove_nothing_is_not_pushed(world: World) -> None:
    world.push(world.commit({PLAN.replace("handbook", "Handbook"): plan_text()}, [world.tips().default]))
    world.open({PLAN: plan_text("a-0002")})
    refused(world, "case-twin")


def test_unknown_number(world: World) -> None:
    with pytest.raises(UsageProblem, match="no-such-request"):
        world.decide(7)


# --- races and lost answers ---------------------------------------------------------------------------------------------


def test_a_request_that_changed_since_it_was_read(opened: World) -> None:
    tips = opened.tips()
    opened.open({PLAN: plan_text("a-0666")})
    with pytest.raises(NeedsPerson, match="request-changed"):
        opened.requests("alice").decide(tips, 1, True, opened.now)


def test_a_request_that_was_withdrawn(opened: World) -> None:
    tips = opened.tips()
    opened.push("", f"{REQUESTS}1")
    with pytest.raises(NeedsPerson, match="request-withdrawn"):
        opened.requests("alice").decide(tips, 1, True, opened.now)


def test_deciding_twice_is_refused_and_adds_nothing(opened: World) -> None:
    tips = opened.tips()
    opened.decide(1)
    after = opened.tips().default
    for who in ("alice", "bob"):
        with pytest.raises(NeedsPerson, match="already-decided"):
            opened.requests(who).decide(tips, 1, True, opened.now)
    assert opened.tips().default == after


def test_a_default_branch_that_moved_while_deciding(opened: World) -> None:
    git = MovingGit(opened.folder / "work")
    git.commit_first = opened.commit({"drafts/a/index.md": b"more\n"}, [opened.tips().default])
    (approval,) = opened.decide(1, git=git)
    assert opened.git.blob_at(opened.tips().default, "drafts/a/index.md") == b"more\n"
    assert opened.verdict() == approval


def test_a_default_branch_that_changed_the_same_file_while_deciding(opened: World) -> None:
    git = MovingGit(opened.folder / "work")
    git.commit_first = opened.commit({PLAN: plan_text("a-0666")}, [opened.tips().default])
    with pytest.raises(NeedsPerson, match="request-stale"):
        opened.decide(1, git=git)


def test_tips_that_are_behind_are_followed(opened: World) -> None:
    tips = opened.tips()
    opened.push(opened.commit({"ledger/x.jsonl": b"{}\n"}, [tips.default]))
    (approval,) = opened.requests("alice").decide(tips, 1, True, opened.tick())
    assert opened.verdict() == approval


def test_an_approval_whose_answer_is_lost(opened: World) -> None:
    (approval,) = opened.decide(1, git=LyingGit(opened.folder / "work"))
    assert opened.verdict() == approval


def test_an_approval_that_lands_late_is_recognised(opened: World) -> None:
    (approval,) = opened.decide(1, git=LateGit(opened.folder / "work"))
    assert opened.verdict() == approval
    assert len(opened.git.first_parent_changes(opened.tips().default, PLAN, 5)) == 1


def test_an_approval_that_never_lands(opened: World) -> None:
    with pytest.raises(ComeBackLater, match="decision-not-landed"):
        opened.decide(1, git=DroppingGit(opened.folder / "work"))
    assert opened.code(data=plan_text()) == "absent"


# --- several approvers ------------------------------------------------------------------------------------------------------


def test_two_people_approve_one_after_the_other(world_of_two: World) -> None:
    world = world_of_two
    world.open({PLAN: plan_text()})
    refused(world, "too-few", who="alice")
    assert world.code(data=plan_text()) == "absent"
    first = world.now
    (approval,) = world.decide(1, "bob")
    assert approval.by == ("alice@example.org", "bob@example.org")
    assert approval.merged_at == world.now > first
    assert world.verdict() == approval
    assert world.git.remote_refs("origin", [APPROVALS]) == {}


def test_one_person_cannot_approve_for_two(world_of_two: World) -> None:
    world = world_of_two
    world.open({PLAN: plan_text()})
    refused(world, "too-few", who="alice")
    refused(world, "too-few", who="alice")
    refused(world, "too-few", who="alice")


def test_waiting_approvals_do_not_outlive_an_edit_of_the_request(world_of_two: World) -> None:
    world = world_of_two
    world.open({PLAN: plan_text()})
    refused(world, "too-few", who="alice")
    world.open({PLAN: plan_text("a-0666")})
    refused(world, "too-few", who="bob")


def test_waiting_statements_of_others_are_passed_over(world_of_two: World) -> None:
    world = world_of_two
    number = world.open({PLAN: plan_text()})
    refused(world, "too-few", who="alice")
    tip = world.git.remote_refs("origin", [APPROVALS])[f"refs/heads/publisher/approvals/{number}"]
    for signed in ([world.signed(who="mallory")], [world.signed(who="planner")]):
        tip = world.commit({}, [tip], "mallory", block_of(signed) + "\n")
    world.push(tip, f"refs/heads/publisher/approvals/{number}")
    (approval,) = world.decide(number, "bob")
    assert approval.by == ("alice@example.org", "bob@example.org")
