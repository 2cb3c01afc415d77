"""The approval attack corpus (RELIABILITY.md, 3.3) for forge ``git``: each attack is refused, each with a code of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from publisher.domain.approval import Approval
from publisher.domain.business_calendar import in_utc
from publisher.errors import StoppedForSafety
from publisher.forge.statements import block_of
from publisher.gitstore.gateway import Git
from tests.support.signed_forge import (
    LISTED,
    OTHER_PLAN,
    PLAN,
    REQUESTS,
    RULES,
    World,
    copy_world,
    make_template,
    plan_text,
    rules_text,
    run_git,
)


def test_the_crafted_merge_is_good_when_nothing_is_wrong_with_it(world: World) -> None:
    """The control: every attack below differs from this in one thing."""
    world.crafted(world.signed())
    assert world.code() == "Approval"


# --- without a request ------------------------------------------------------------------------------------------------------


def test_direct_push(world: World) -> None:
    world.push(world.commit({PLAN: plan_text()}, [world.tips().default], "alice"))
    assert world.code() == "no-request"


def test_edit_after_the_merge(approved: World) -> None:
    approved.push(approved.commit({PLAN: plan_text("a-0666")}, [approved.tips().default], "alice"))
    assert approved.code() == "edited-without-request"


def test_deletion_after_the_merge(approved: World) -> None:
    approved.push(approved.commit({PLAN: None}, [approved.tips().default], "alice"))
    assert approved.code(data=plan_text()) == "deleted"


def test_revert_and_reapply(approved: World) -> None:
    approved.push(approved.commit({PLAN: None}, [approved.tips().default], "alice"))
    approved.push(approved.commit({PLAN: plan_text()}, [approved.tips().default], "alice"))
    assert approved.code() == "restored-without-request"


def test_revert_and_merge_the_old_request_again(approved: World) -> None:
    world = approved
    head = world.git.commit(world.tips().default).parents[1]
    world.push(world.commit({PLAN: None}, [world.tips().default], "alice"))
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert world.code() == "nothing-brought-in"


def test_cherry_pick_of_the_approving_merge(approved: World) -> None:
    message = approved.git.commit(approved.tips().default).message
    approved.push(approved.commit({PLAN: None}, [approved.tips().default], "alice"))
    approved.push(approved.commit({PLAN: plan_text()}, [approved.tips().default], "alice", message))
    assert approved.code() == "statement-without-merge"


def test_an_old_statement_in_a_new_merge(world: World) -> None:
    """Alice's approval was spent by a revert; Bob proposes the same again, and merges with her old signature."""
    world.crafted(old := world.signed())
    world.tick(hours=1)
    world.push(world.commit({PLAN: None}, [world.tips().default], "alice"))
    world.tick(hours=1)
    head = world.branch(2, {PLAN: plan_text()})
    world.merge(head, [old, world.signed(who="bob")], {PLAN: plan_text()}, "bob")
    assert world.code() == "spent-statement"


# --- words instead of evidence -----------------------------------------------------------------------------------------------


def test_forged_trailer_text(world: World) -> None:
    text = "Approved-by: alice@example.org\nPayload: sha256:" + "0" * 64
    world.crafted(text=text)
    assert world.code() == "no-statement"


def test_forged_block_beside_the_real_one(world: World) -> None:
    world.crafted(world.signed(), text=block_of([world.signed(who="bob")]))
    assert world.code() == "broken-statement"


# --- who approved -------------------------------------------------------------------------------------------------------------


def test_approval_by_the_author(world: World) -> None:
    head = world.branch(1, {PLAN: plan_text()}, who="alice")
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert world.code() == "own-approval"


def test_approval_by_the_last_pusher(world: World) -> None:
    head = world.branch(1, {PLAN: plan_text("a-0002")})
    head = world.push(world.commit({PLAN: plan_text()}, [head], "alice"), f"{REQUESTS}1")
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert world.code() == "last-pusher"


def test_approval_by_an_unknown_key(world: World) -> None:
    world.crafted(world.signed(who="mallory"), who="mallory")
    assert world.code() == "unknown-key"


def test_approval_by_a_key_that_the_same_merge_adds(world: World) -> None:
    rules = rules_text(world.keys, {**LISTED, "mallory": ["commit", "approve"]})
    files = {PLAN: plan_text(), RULES: rules}
    world.merge(world.branch(1, files), [world.signed(who="mallory")], files, "mallory")
    assert world.code() == "key-not-yet-trusted"


def test_approval_by_a_bot(world: World) -> None:
    head = world.branch(1, {PLAN: plan_text()}, who="alice")
    world.merge(head, [world.signed(who="planner")], {PLAN: plan_text()}, "planner")
    assert world.code() == "bot-cannot-approve"


def test_one_key_listed_for_two_people(world: World) -> None:
    rules = json.loads(rules_text(world.keys))
    rules["signers"].append({**rules["signers"][1], "principal": "carol@example.org"})
    world.open({RULES: json.dumps(rules).encode()})
    world.decide(1, "bob")
    head = world.branch(2, {PLAN: plan_text()})
    world.merge(head, [world.signed(request=2)], {PLAN: plan_text()})
    assert world.code() == "shared-key"


def test_merge_by_somebody_who_did_not_approve(world: World) -> None:
    world.crafted(world.signed(), who="bob")
    assert world.code() == "merge-not-by-approver"


def test_merge_that_nobody_signed(world: World) -> None:
    world.crafted(world.signed(), who=None)
    assert world.code() == "unsigned-merge"


def test_one_approval_where_two_are_needed(world_of_two: World) -> None:
    world_of_two.crafted(world_of_two.signed())
    assert world_of_two.code() == "too-few"


def test_one_person_twice_where_two_are_needed(world_of_two: World) -> None:
    first = world_of_two.signed()
    world_of_two.tick()
    world_of_two.crafted(first, world_of_two.signed())
    verdict = world_of_two.verdict()
    assert "1 of 2" in getattr(verdict, "says", "")


# --- what was signed ----------------------------------------------------------------------------------------------------------


def test_statement_for_another_payload(world: World) -> None:
    world.crafted(world.signed(data=plan_text("a-0002")))
    assert world.code() == "other-payload"


def test_statement_of_another_date_copied(world: World) -> None:
    world.crafted(world.signed(OTHER_PLAN))
    assert world.code() == "other-path"


def test_statement_for_another_branch(world: World) -> None:
    world.crafted(world.signed(branch="experiment"))
    assert world.code() == "other-branch"


def test_statement_for_another_instance(world: World) -> None:
    world.crafted(world.signed(instance="inst-other"))
    assert world.code() == "other-instance"


def test_statement_for_another_revision(world: World) -> None:
    world.crafted(world.signed(revision=2))
    assert world.code() == "other-revision"


def test_statement_without_a_request_number(world: World) -> None:
    world.crafted(world.signed(request=0))
    assert world.code() == "other-request"


def test_statements_of_two_requests_in_one_merge(world: World) -> None:
    world.crafted(world.signed(), world.signed(OTHER_PLAN, request=7))
    assert "several numbers" in getattr(world.verdict(), "says", "")


def test_rejection_used_as_an_approval(world: World) -> None:
    """Signed for a request, spelt neither approve nor reject."""
    world.crafted(world.signed(decision="comment"))
    assert world.code() == "not-an-approval"


def test_time_in_the_future(world: World) -> None:
    world.crafted(world.signed(time=in_utc(world.now + timedelta(hours=3))))
    assert world.code() == "from-the-future"


def test_time_after_the_merge(world: World) -> None:
    world.crafted(world.signed(time=in_utc(world.now + timedelta(hours=3))))
    world.tick(days=1)
    assert world.code() == "after-its-merge"


def test_time_without_a_zone(world: World) -> None:
    world.crafted(world.signed(time="2026-11-30T08:00:00"))
    assert world.code() == "bad-time"


def test_commit_signature_reused(world: World) -> None:
    """Alice's signature of the very same bytes, made in the namespace of commits."""
    world.crafted(world.signed(namespace="git"))
    assert world.code() == "other-namespace"


def test_statement_changed_after_signing(world: World) -> None:
    signed = world.signed(data=plan_text("a-0002"))
    world.crafted(replace(signed, statement=world.signed().statement))
    assert world.code() == "bad-signature"


# --- what was merged ----------------------------------------------------------------------------------------------------------


def test_evil_merge_adds_a_plan(world: World) -> None:
    files = {PLAN: plan_text(), OTHER_PLAN: plan_text("a-0002")}
    signed = [world.signed(), world.signed(OTHER_PLAN, plan_text("a-0002"))]
    world.merge(world.branch(1, {PLAN: plan_text()}), signed, files)
    assert world.code(OTHER_PLAN) == "evil-merge"


def test_evil_merge_spoils_the_honest_plan_too(world: World) -> None:
    files = {PLAN: plan_text(), "publisher.yaml": b"id: y\n"}
    world.merge(world.branch(1, {PLAN: plan_text()}), [world.signed()], files)
    assert "publisher.yaml" in getattr(world.verdict(), "says", "")


def test_merge_that_leaves_a_file_out(world: World) -> None:
    head = world.branch(1, {PLAN: plan_text(), OTHER_PLAN: plan_text("a-0002")})
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert OTHER_PLAN in getattr(world.verdict(), "says", "")


def test_merge_result_differs_from_the_request(world: World) -> None:
    data = plan_text("a-0002")
    world.merge(world.branch(1, {PLAN: plan_text()}), [world.signed(data=data)], {PLAN: data})
    assert world.code() == "merge-differs"


def test_octopus_merge(world: World) -> None:
    other = world.branch(2, {OTHER_PLAN: plan_text("a-0002")})
    world.merge(world.branch(1, {PLAN: plan_text()}), [world.signed()], {PLAN: plan_text()}, parents=[other])
    assert world.code() == "octopus-merge"


def test_unsigned_commit_inside(world: World) -> None:
    head = world.branch(1, {PLAN: plan_text("a-0666")}, who=None)
    head = world.push(world.commit({PLAN: plan_text()}, [head]), f"{REQUESTS}1")
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert world.code() == "unsigned-commit"


def test_commit_by_an_unknown_signer_inside(world: World) -> None:
    head = world.branch(1, {PLAN: plan_text()}, who="mallory")
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert world.code() == "unknown-signer"


def test_commit_changed_under_its_signature(world: World) -> None:
    work = world.folder / "work"
    honest = run_git("cat-file", "commit", world.branch(1, {PLAN: plan_text()}), cwd=work)
    (work / "forged").write_text(honest.replace("by hand", "by me"))
    head = run_git("hash-object", "-t", "commit", "-w", "forged", cwd=work).strip()
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert world.code() == "bad-commit-signature"


def test_commit_in_another_name(world: World) -> None:
    head = world.branch(1, {PLAN: plan_text()}, who="alice", author="planner@example.org")
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert world.code() == "author-not-signer"


def test_request_with_a_merge_inside(world: World) -> None:
    side = world.branch(2, {OTHER_PLAN: plan_text("a-0002")})
    head = world.branch(1, {PLAN: plan_text()})
    head = world.push(world.commit({OTHER_PLAN: plan_text("a-0002")}, [head, side]), f"{REQUESTS}1")
    world.merge(head, [world.signed()], {PLAN: plan_text(), OTHER_PLAN: plan_text("a-0002")})
    assert world.code() == "request-not-linear"


def test_request_from_nowhere(world: World) -> None:
    head = world.commit({PLAN: plan_text()}, [], base=world.git.compose_tree({"x": b""}))
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert world.code() == "unrelated-history"


def test_draft_hidden_in_an_intermediate_commit(world: World) -> None:
    secret = "drafts/a/index.md"
    head = world.branch(1, {PLAN: plan_text(), secret: b"changed\n"}, {secret: b"text\n"})
    world.merge(head, [world.signed()], {PLAN: plan_text()})
    assert world.code() == "request-touches-more"


def test_rename_of_an_approved_plan_by_request(approved: World) -> None:
    move = {PLAN: None, OTHER_PLAN: plan_text()}
    head = approved.branch(2, move)
    approved.merge(head, [approved.signed(OTHER_PLAN, request=2)], move)
    assert approved.code(OTHER_PLAN) == "request-deletes"


def test_link_instead_of_a_plan(world: World) -> None:
    head = _with_mode(world, world.branch(1, {PLAN: plan_text()}), "120000")
    world.push(_merge_taking_tree_of(world, head))
    assert world.code(data=plan_text()) == "not-a-plain-file"


def test_twin_that_differs_by_case(approved: World) -> None:
    approved.push(approved.commit({PLAN.replace("handbook", "Handbook"): plan_text("a-0666")}, [approved.tips().default]))
    assert approved.code(data=plan_text()) == "case-twin"


def test_merged_file_that_cannot_be_read(world: World) -> None:
    world.crafted(world.signed())
    head = world.branch(2, {PLAN: b"[broken"})
    world.merge(head, [world.signed(request=2)], {PLAN: b"[broken"})
    assert world.code(data=plan_text()) == "payload-unreadable"


def test_two_requests_for_one_date(approved: World) -> None:
    """The second one's merge spends the first one's approval; asked about the first payload, both hashes are named."""
    head = approved.branch(2, {PLAN: plan_text("a-0002")})
    approved.merge(head, [approved.signed(data=plan_text("a-0002"), request=2)], {PLAN: plan_text("a-0002")})
    verdict = approved.verdict(data=plan_text())
    assert getattr(verdict, "code", "") == "payload-differs"
    for text in (plan_text(), plan_text("a-0002")):
        assert approved.subject(PLAN, text).payload.removeprefix("sha256:")[:12] in getattr(verdict, "says", "")


def test_merge_from_before_there_were_rules(world: World) -> None:
    base = world.commit({"publisher.yaml": b"id: x\n"}, [], base=world.git.compose_tree({"README": b""}))
    world.push(base)
    world.crafted(world.signed())
    world.push(world.commit({RULES: rules_text(world.keys)}, [world.tips().default], "alice"))
    assert world.code() == "no-rules"


# --- the history itself -------------------------------------------------------------------------------------------------------


def test_shallow_clone(approved: World) -> None:
    run_git("clone", "--quiet", "--depth=1", f"file://{approved.folder}/remote.git", "short", cwd=approved.folder)
    with pytest.raises(StoppedForSafety, match="shallow-history"):
        approved.forge(Git(approved.folder / "short")).verdict(approved.tips(), approved.subject(PLAN))


def test_replaced_objects(approved: World) -> None:
    tip = approved.tips().default
    run_git("replace", tip, approved.commit({PLAN: plan_text("a-0666")}, [tip]), cwd=approved.folder / "work")
    with pytest.raises(StoppedForSafety, match="replaced-objects"):
        approved.verdict()


def test_history_turned_around_brings_no_withdrawn_plan_back(approved: World) -> None:
    """The plan was deleted since. A merge that stands on the old commit would make its approval the newest change again."""
    then = approved.tips().default
    approved.push(approved.commit({PLAN: None}, [then]))
    approved.push(approved.commit({}, [then, approved.tips().default], "bob"))
    assert approved.code() == "put-aside"


def test_revoked_approver_turns_history_around(world: World) -> None:
    """Bob's key was removed. He approves on a line from before that, and makes the default branch its second parent."""
    before = world.tips().default
    world.open({RULES: rules_text(world.keys, {"planner": ["commit"], "alice": ["commit", "approve"]})})
    world.decide(1)
    honest = world.tips().default
    request = world.commit({PLAN: plan_text()}, [before])
    message = f"x\n\n{block_of([world.signed(who='bob')])}\n"
    fork = world.commit({PLAN: plan_text()}, [before, request], "bob", message)
    world.push(world.commit({}, [fork, honest], "bob"))
    with pytest.raises(StoppedForSafety, match="rules-put-aside"):
        world.verdict()


def test_history_that_starts_from_other_rules(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("foreign")
    make_template(folder, world.keys, rules_text(world.keys, {"planner": ["commit"], "mallory": ["commit", "approve"]}))
    foreign = copy_world(folder, tmp_path_factory.mktemp("copy"), world.keys)
    foreign.crafted(foreign.signed(who="mallory"), who="mallory")
    assert isinstance(foreign.verdict(), Approval)
    with pytest.raises(StoppedForSafety, match="root-differs"):
        foreign.verdict(pinned_root=world.tips().default)


# --- helpers ----------------------------------------------------------------------------------------------------


def _with_mode(world: World, head: str, mode: str) -> str:
    """The request's commit again, with the plan under another mode."""
    work, index = world.folder / "work", str(world.folder / "index")
    blob = world.git.blob_ids(head, [PLAN])[PLAN]
    run_git("read-tree", head, cwd=work, GIT_INDEX_FILE=index)
    run_git("update-index", "--cacheinfo", f"{mode},{blob},{PLAN}", cwd=work, GIT_INDEX_FILE=index)
    tree = run_git("write-tree", cwd=work, GIT_INDEX_FILE=index).strip()
    return world.commit({}, [world.tips().default], base=tree)


def _merge_taking_tree_of(world: World, head: str) -> str:
    return world.commit({}, [world.tips().default, head], "alice", block_of([world.signed()]) + "\n", base=head)
