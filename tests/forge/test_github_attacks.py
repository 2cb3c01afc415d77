"""The approval attack corpus (RELIABILITY.md, 3.3) for forge ``github``: each attack is refused, each with a code of its own.

``CORPUS`` has every number. An attack on what GitHub says is a test of this file, run against the simulator over real HTTP. One on
the plan, its date, its sources or its ledger meets the engine, whatever the forge: the table names the test that has it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from publisher.domain.approval import ApprovalRules, Approver
from publisher.errors import ComeBackLater, NeedsPerson, StoppedForSafety
from publisher.gitstore.gateway import Git
from tests.support.github.merging import web
from tests.support.github_world import OTHER_PLAN, PLAN, REQUEST, START, World, github_world, plan_text
from tests.support.gitrepos import Repository

ROOT = Path(__file__).parents[2]
HERE = "tests/forge/test_github_attacks.py"

CORPUS: dict[int, tuple[str, str]] = {
    1: ("test_direct_push", "no-request"),
    2: ("test_merged_without_a_review", "not-reviewed"),
    3: ("test_review_by_somebody_who_wrote_it", "own-approval"),
    4: ("test_review_by_the_last_pusher", "last-pusher"),
    5: ("test_review_by_a_bot", "review-by-bot"),
    6: ("test_review_by_somebody_who_may_not_write", "reviewer-without-write"),
    7: ("test_review_of_an_older_head", "review-of-older-head"),
    8: ("test_review_then_force_push", "force-pushed-after-review"),
    9: ("test_review_then_update_branch", "updated-after-review"),
    10: ("test_review_then_a_suggestion_by_the_reviewer", "pushed-after-own-review"),
    11: ("test_dismissed_review", "approval-dismissed"),
    12: ("test_approved_and_then_changes_requested_by_the_same_person", "approval-withdrawn"),
    13: ("test_changes_requested_by_somebody_else", "changes-requested"),
    14: ("test_comments_only", "commented-only"),
    15: ("test_merge_result_differs_from_the_head", "merge-differs"),
    16: ("test_evil_merge_adds_a_plan", "indirect-merge"),
    17: ("test_squash_text_with_a_forged_trailer", "reviewed-after-merge"),
    18: ("test_merged_into_another_base_which_was_pushed", "other-base"),
    19: ("test_approved_plan_copied_to_another_date", "review-names-another-payload"),
    20: ("test_revert_and_apply_again", "restored-without-request"),
    21: ("test_other_content_in_a_commit_between", "hidden-change"),
    22: ("tests/scenarios/test_approvals.py::test_it_may_be_used_for_a_day", "missed"),
    23: ("test_merged_in_the_future", "merged-in-the-future"),
    24: ("test_edited_by_a_second_reviewed_request", "payload-differs"),
    25: ("tests/scenarios/test_changes.py::test_another_payload_under_the_same_key_is_a_conflict", "conflict"),
    26: ("tests/scenarios/test_edits.py::test_a_source_edited_before_the_approval_stops_with_both_hashes", "fingerprint-differs"),
    27: ("tests/scenarios/test_edits.py::test_look_and_rules_edited_before_the_approval", ""),
    28: ("test_administrator_merges_past_the_rules", "rule-bypassed"),
    29: ("test_renamed_and_registered_again", "login-differs"),
    30: ("test_what_the_second_page_says", "too-few"),
    31: ("test_no_answer_is_not_an_approval", "host-unreachable"),
    32: ("test_shallow_clone", "shallow-history"),
    33: ("tests/scenarios/test_approvals.py::test_it_is_refused_with_a_code_of_its_own", "approval-no-request"),
    34: ("tests/sitebuilder/test_public_form.py::test_a_camera_picture_is_cleaned_on_the_way", ""),
    35: ("test_twin_that_differs_by_case", "case-twin"),
    36: ("test_link_instead_of_a_plan", "not-a-plain-file"),
    37: ("test_rename_of_an_approved_plan", "renamed-in-request"),
}  # fmt: skip
"""Number → the test that has the attack, and the code that it is refused with ("" where the outcome is not a refusal)."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with github_world(tmp_path) as made:
        yield made


@pytest.fixture
def world_of_two(tmp_path: Path) -> Iterator[World]:
    with github_world(tmp_path, count=2) as made:
        yield made


def test_the_corpus_is_complete() -> None:
    """37 of 37: each attack has a test that exists and that says the code it is refused with, and no two share one."""
    assert sorted(CORPUS) == list(range(1, 38))
    for name, code in CORPUS.values():
        file, _, test = name.rpartition("::")
        text = (ROOT / (file or HERE)).read_text("utf-8")
        found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == test]
        assert len(found) == 1, name
        body = "\n".join(text.split("\n")[found[0].lineno - 1 : found[0].end_lineno])
        # An engine's test may have its codes in a table beside it.
        assert not code or f'"{code}"' in (text if file else body), name
    codes = [code for _, code in CORPUS.values() if code]
    assert len(codes) == 35
    assert sorted(codes) == sorted(set(codes))


def test_the_honest_request_is_good(world: World) -> None:
    """The control: every attack below differs from this in one thing."""
    world.approved()
    assert world.code() == "Approval"


# --- without a request, or with less than one --------------------------------------------------------------------------------


def test_direct_push(world: World) -> None:
    world.commit("main", {PLAN: plan_text()}, world.rae)
    assert world.code() == "no-request"


def test_merged_without_a_review(world: World) -> None:
    world.merge(world.propose())
    assert world.code() == "not-reviewed"


def test_evil_merge_adds_a_plan(world: World) -> None:
    """The merge is made by hand and pushed: GitHub then calls the request merged."""
    number = world.propose()
    world.review(number)
    evil = world.made({PLAN: plan_text(), OTHER_PLAN: plan_text("a-0666")}, world.tip(), world.tip(REQUEST))
    world.push(evil)
    assert world.sim.pulls.numbered(number).merged_at
    assert world.code(OTHER_PLAN, plan_text("a-0666")) == "indirect-merge"
    assert world.code() == "indirect-merge"


def test_squash_text_with_a_forged_trailer(world: World) -> None:
    number = world.propose()
    payload = world.subject().payload
    world.merge(number, "squash", message=f"Week\n\nPayload: {payload}\nReviewed-by: rae\nApproved-by: rae <rae@example.org>")
    world.review(number)
    assert world.code() == "reviewed-after-merge"


def test_merged_into_another_base_which_was_pushed(world: World) -> None:
    world.commit("topic", {"notes.md": "x\n"})
    number = world.propose(base="topic")
    world.review(number)
    world.merge(number)
    world.push("topic")
    assert world.code() == "other-base"


def test_merged_into_another_base_which_was_merged_unseen(world: World) -> None:
    """The same by a second request, which nobody reviewed."""
    world.commit("topic", {"notes.md": "x\n"})
    number = world.propose(base="topic")
    world.review(number)
    world.merge(number)
    world.merge(world.open("topic"))
    assert "2" in getattr(world.verdict(), "says", "")
    assert world.code() == CORPUS[2][1]


def test_revert_and_apply_again(world: World) -> None:
    world.approved()
    world.commit("main", {PLAN: None}, world.rae)
    world.commit("main", {PLAN: plan_text()}, world.rae)
    assert world.code() == "restored-without-request"


def test_edited_by_a_second_reviewed_request(world: World) -> None:
    """Asked for the payload that an old record has."""
    world.approved()
    world.approved({PLAN: plan_text("a-0002")}, branch="publisher/requests/again")
    assert world.code(data=plan_text()) == "payload-differs"
    assert world.code(data=plan_text("a-0002")) == "Approval"


def test_administrator_merges_past_the_rules(world: World) -> None:
    world.sim.protect("main", required_reviews=2, bypass=(world.ann,))
    number = world.propose()
    world.review(number)
    world.merge(number, who=world.ann)
    assert world.code() == "rule-bypassed"


# --- who reviewed ------------------------------------------------------------------------------------------------------------


def test_review_by_somebody_who_wrote_it(world: World) -> None:
    world.commit(REQUEST, {PLAN: plan_text("a-0002")}, world.rae)
    world.commit(REQUEST, {PLAN: plan_text()})
    number = world.open()
    world.review(number)
    world.merge(number)
    assert world.code() == "own-approval"


def test_review_by_the_last_pusher(world: World) -> None:
    number = world.propose({PLAN: plan_text("a-0002")})
    world.push(world.made({PLAN: plan_text()}, world.tip(REQUEST), who=world.bot), REQUEST, world.rae)
    world.review(number)
    world.merge(number)
    assert world.code() == "last-pusher"


def test_review_by_a_bot(world: World) -> None:
    """An App that somebody even listed; its login is no person's, so that the file's schema would refuse it too."""
    helper = world.sim.app("helper[bot]", permissions={"pull_requests": "write", "contents": "write"})
    listed = ApprovalRules(approvers=(Approver(login=helper.login, id=helper.id),))
    number = world.propose()
    world.review(number, helper)
    world.merge(number)
    assert world.code(forge=world.forge(parse_rules=lambda data, path: listed)) == "review-by-bot"


def test_review_by_somebody_who_may_not_write(world: World) -> None:
    number = world.propose()
    world.review(number)
    world.sim.user("rae", "read")
    world.merge(number, who=world.ann)
    assert world.code() == "reviewer-without-write"


def test_dismissed_review(world: World) -> None:
    number = world.propose()
    review = world.review(number)
    world.sim.reviews.dismiss(world.ann, number, review)
    world.merge(number)
    assert world.code() == "approval-dismissed"


def test_approved_and_then_changes_requested_by_the_same_person(world: World) -> None:
    number = world.propose()
    world.review(number)
    world.review(number, state="CHANGES_REQUESTED")
    world.review(number, state="COMMENTED")
    world.merge(number, who=world.sam)
    assert world.code() == "approval-withdrawn"


def test_changes_requested_by_somebody_else(world: World) -> None:
    number = world.propose()
    world.review(number, world.sam, "CHANGES_REQUESTED")
    world.review(number)
    world.merge(number)
    assert world.code() == "changes-requested"


def test_comments_only(world: World) -> None:
    number = world.propose()
    world.review(number, state="COMMENTED", body=f"approve {world.subject().payload}")
    world.merge(number)
    assert world.code() == "commented-only"


def test_renamed_and_registered_again(world: World) -> None:
    """rae is called rachel now, and somebody else took her old login and was given write access."""
    world.sim.rename(world.rae, "rachel")
    taken = world.sim.user("rae", "write")
    assert taken.id != world.rae.id
    number = world.propose()
    world.review(number, taken)
    world.merge(number, who=world.ann)
    assert world.code() == "login-differs"
    again = world.propose({OTHER_PLAN: plan_text()}, "publisher/requests/again")
    world.review(again, world.rae)
    world.merge(again, who=world.ann)
    assert world.code(OTHER_PLAN) == "login-differs"


def test_what_the_second_page_says(world_of_two: World) -> None:
    """Page one has both approvals; page two has what took one of them back."""
    world = world_of_two
    number = world.propose()
    world.review(number)
    world.review(number, world.sam)
    for _ in range(100):
        world.sim.reviews.submit(world.wes, number, "COMMENTED", "words")
    against = world.review(number, world.sam, "CHANGES_REQUESTED")
    world.sim.reviews.dismiss(world.ann, number, against)
    world.merge(number)
    assert world.code() == "too-few"


# --- what was reviewed -------------------------------------------------------------------------------------------------------


def test_review_of_an_older_head(world: World) -> None:
    number = world.propose({PLAN: plan_text("a-0002")})
    world.review(number)
    world.commit(REQUEST, {PLAN: plan_text()})
    world.merge(number)
    assert world.code() == "review-of-older-head"


def test_review_then_force_push(world: World) -> None:
    """With the worse of GitHub's two behaviours: the approval then claims to be one of the new head."""
    number = world.propose({PLAN: plan_text("a-0002")})
    review = world.review(number)
    world.push(world.made({PLAN: plan_text()}, world.root, message="change", who=world.bot), REQUEST, world.bot, force=True)
    (shown,) = world.api().pages(f"pulls/{number}/reviews")
    assert (shown["id"], shown["commit_id"], shown["state"]) == (review, world.tip(REQUEST), "APPROVED")
    world.merge(number)
    assert world.code() == "force-pushed-after-review"


def test_review_then_update_branch(world: World) -> None:
    number = world.propose()
    world.review(number)
    world.commit("main", {"notes.md": "x\n"}, world.ann)
    world.tick()
    world.sim.pulls.update_branch(world.bot, number)
    world.merge(number)
    assert world.code() == "updated-after-review"


def test_review_then_a_suggestion_by_the_reviewer(world: World) -> None:
    number = world.propose({PLAN: plan_text("a-0002")})
    world.review(number)
    world.commit(REQUEST, {PLAN: plan_text()}, world.rae, "Apply suggestions from code review")
    world.merge(number)
    assert world.code() == "pushed-after-own-review"


def test_approved_plan_copied_to_another_date(world: World) -> None:
    """From a fork, where only a review that names the payload counts: it named the original's."""
    approved = plan_text()
    world.approved({PLAN: approved})
    copied = plan_text(date="2026-12-02")
    number = world.propose({OTHER_PLAN: copied}, "eve:copy", world.eve)
    world.review(number, body=f"approve {world.subject(PLAN, approved).payload}")
    world.merge(number)
    assert world.code(OTHER_PLAN, copied) == "review-names-another-payload"


def test_merge_result_differs_from_the_head(world: World) -> None:
    """Two requests change the same plan at its two ends; git merges them cleanly into what nobody saw."""
    lines = [f"line-{number}: {number}" for number in range(12)]
    world.approved({PLAN: "\n".join([*lines, ""])}, branch="publisher/requests/first")
    number = world.propose({PLAN: "\n".join(["line-0: changed", *lines[1:], ""])})
    world.review(number)
    world.approved({PLAN: "\n".join([*lines[:-1], "line-11: changed", ""])}, branch="publisher/requests/other")
    world.merge(number)
    merged = world.sim.git.run("show", f"main:{PLAN}") + "\n"
    assert merged.count("changed") == 2
    assert world.code(data=merged.encode()) == "merge-differs"


@pytest.mark.parametrize("method", ["merge", "rebase"])
def test_other_content_in_a_commit_between(world: World, method: str) -> None:
    """The request as a whole shows one plan; the history it leaves behind holds a private text for ever."""
    world.commit(REQUEST, {"drafts/secret/index.md": "private\n"})
    world.commit(REQUEST, {PLAN: plan_text(), "drafts/secret/index.md": None})
    number = world.open()
    world.review(number)
    world.merge(number, method)
    assert world.code() == "hidden-change"


def test_rename_of_an_approved_plan(world: World) -> None:
    world.approved()
    number = world.propose({PLAN: None, OTHER_PLAN: plan_text()}, "publisher/requests/move")
    world.review(number)
    world.merge(number)
    assert world.code(OTHER_PLAN) == "renamed-in-request"


def test_twin_that_differs_by_case(world: World) -> None:
    world.approved()
    world.commit("main", {PLAN.replace("handbook", "Handbook"): plan_text("a-0666")}, world.ann)
    assert world.code() == "case-twin"


def test_link_instead_of_a_plan(world: World) -> None:
    link = world.sim.git.run("hash-object", "-w", "--stdin", stdin=b"../../../publisher.yaml")
    head = _with_entry(world, world.tip(), f"120000 {link}\t{PLAN}")
    world.push(head, REQUEST, world.bot)
    number = world.open()
    world.review(number)
    world.merge(number)
    assert world.code() == "not-a-plain-file"


def _with_entry(world: World, parent: str, row: str) -> str:
    index = {"GIT_INDEX_FILE": str(world.sim.bare / "index-of-a-test")}
    world.sim.git.run("read-tree", parent, env=index)
    world.sim.git.run("update-index", "--index-info", stdin=f"{row}\n".encode(), env=index)
    by = web(world.sim.seconds)
    return world.sim.git.committed(world.sim.git.run("write-tree", env=index), (parent,), "link", by, by)


# --- time, answers, history --------------------------------------------------------------------------------------------------


def test_merged_in_the_future(world: World) -> None:
    """This machine's clock was set back, or GitHub's is ahead: what is later than now has not happened."""
    world.approved()
    merged = world.sim.now
    assert world.code(forge=world.forge(clock=lambda: merged - timedelta(minutes=1))) == "Approval"
    assert world.code(forge=world.forge(clock=lambda: merged - timedelta(hours=2))) == "merged-in-the-future"
    assert world.code(forge=world.forge(clock=lambda: START - timedelta(days=1))) == "merged-in-the-future"


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One approved request, looked at with one answer spoiled after the other."""
    with github_world(tmp_path_factory.mktemp("answers")) as made:
        made.approved()
        yield made


@pytest.fixture
def answers(merged: World) -> Iterator[World]:
    merged.sim.faults.clear()
    yield merged
    merged.sim.faults.clear()
    assert merged.code() == "Approval"


BROKEN = {
    "the pulls of a commit": "commits/*/pulls", "the request": "pulls/1", "its reviews": "pulls/1/reviews",
    "its files": "pulls/1/files", "its commits": "pulls/1/commits", "how branches moved": "activity",
    "its timeline": "issues/1/timeline", "the person's permission": "collaborators/rae/permission", "the repository": "",
    "closed requests": "pulls",
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_no_answer_is_not_an_approval(answers: World, what: str) -> None:
    path = f"GET /repos/ann/site/{BROKEN[what]}".rstrip("/")
    answers.sim.faults.next(path, status=500, times=1000)
    with pytest.raises(ComeBackLater) as caught:
        answers.verdict()
    assert caught.value.code == "host-unreachable"


MISSING = {
    "the pulls of a commit": "host-lags", "the request": "request-not-merged", "its reviews": "not-reviewed",
    "its files": "request-too-large", "its commits": "request-too-large", "how branches moved": "host-lags",
    "the person's permission": "reviewer-without-write", "the repository": "host-forbidden",
}  # fmt: skip


@pytest.mark.parametrize("what", MISSING)
def test_not_there_is_not_an_approval(answers: World, what: str) -> None:
    """404, which GitHub also says to a token that may not see something."""
    answers.sim.faults.next(f"GET /repos/ann/site/{BROKEN[what]}".rstrip("/"), status=404, times=1000)
    assert _outcome(answers) == MISSING[what]


EMPTY = {
    **MISSING,
    "the request": "host-unreachable",
    "the repository": "host-unreachable",
    "the person's permission": "host-unreachable",
}


@pytest.mark.parametrize("what", EMPTY)
def test_an_empty_answer_is_not_an_approval(answers: World, what: str) -> None:
    answers.sim.faults.next(f"GET /repos/ann/site/{BROKEN[what]}".rstrip("/"), kind="empty", after=True, times=1000)
    assert _outcome(answers) == EMPTY[what]


@pytest.mark.parametrize(
    ("kind", "code"), [("primary", "host-busy"), ("secondary", "host-busy"), ("forbidden", "host-forbidden")]
)
def test_a_refused_look_is_not_an_approval(answers: World, kind: str, code: str) -> None:
    answers.sim.faults.next("GET /repos/ann/site/pulls/1/reviews", kind=kind, times=1000)
    assert _outcome(answers) == code


def _outcome(world: World) -> str:
    try:
        return world.code()
    except (ComeBackLater, NeedsPerson) as refusal:
        return refusal.code


def test_shallow_clone(world: World) -> None:
    world.approved()
    path = world.work.parent / "short"
    Repository(world.work.parent).git("clone", "--quiet", "--depth=1", f"file://{world.sim.bare}", str(path))
    with pytest.raises(StoppedForSafety) as caught:
        world.verdict(forge=world.forge(git=Git(path)))
    assert caught.value.code == "shallow-history"
