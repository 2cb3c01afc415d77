"""What else proves nothing at GitHub: the codes that no attack of the corpus has, and answers that nobody can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.approval import Approval
from publisher.errors import ComeBackLater, NeedsPerson
from publisher.forge.github_facts import payloads_in
from tests.support.github.merging import web
from tests.support.github_world import OTHER_PLAN, PLAN, REQUEST, RULES, World, github_world, plan_text, rules_text


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with github_world(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One approved request, by a merge commit; tests change what is answered about it, never it."""
    with github_world(tmp_path_factory.mktemp("merged")) as made:
        made.approved()
        yield made


# --- how it came onto the branch ---------------------------------------------------------------------------------------------


def test_what_was_thrown_away_by_force_and_put_back(world: World) -> None:
    """The approval was spent when the branch left it; the very same commit comes back by a push."""
    world.approved()
    approved = world.tip()
    assert world.code() == "Approval"
    world.push(world.root, force=True)
    world.commit("main", {"notes.md": "x\n"}, world.ann)
    world.push(approved, force=True)
    assert world.tip() == approved
    assert world.code() == "branch-rewritten"


def test_a_forced_push_of_something_else_spends_nothing(world: World) -> None:
    world.approved()
    approved = world.tip()
    world.commit("main", {"notes.md": "x\n"}, world.ann)
    world.push(world.made({"notes.md": "y\n"}, approved), force=True)
    assert world.code() == "Approval"


def test_a_merge_put_onto_the_branch_by_force(world: World) -> None:
    """A merge made by hand of a reviewed request, in the place of another tip."""
    number = world.propose()
    world.review(number)
    by_hand = world.made({PLAN: plan_text()}, world.tip(), world.tip(REQUEST))
    world.commit("main", {"notes.md": "x\n"}, world.ann)
    world.push(by_hand, force=True)
    assert world.code() == "branch-rewritten"


def test_an_edit_after_the_merge(world: World) -> None:
    world.approved()
    world.commit("main", {PLAN: plan_text("a-0666")}, world.rae)
    assert world.code(data=plan_text("a-0666")) == "edited-without-request"
    assert world.code(data=plan_text()) == "payload-differs"


def test_a_deletion_after_the_merge(world: World) -> None:
    world.approved()
    world.commit("main", {PLAN: None}, world.rae)
    assert world.code() == "deleted"


def test_a_merged_file_that_cannot_be_read(world: World) -> None:
    world.approved({PLAN: "[broken"})
    assert world.code() == "payload-unreadable"


def test_a_merge_from_before_there_were_rules(world: World) -> None:
    by = web(world.sim.seconds)
    bare = world.sim.git.committed(world.sim.git.tree_with("", {"README.md": "x\n"}), (), "Begin", by, by)
    world.push(bare, force=True)
    world.approved()
    world.commit("main", {RULES: rules_text(world.rae)}, world.ann)
    assert world.code() == "no-rules"


def test_a_branch_that_carries_a_plan_to_the_default_branch_unseen(world: World) -> None:
    """Reviewed against another base, where the plan was there already and no diff showed it; then pointed at main."""
    world.commit("topic", {PLAN: plan_text()})
    world.commit("shown", {"notes.md": "x\n"}, start="topic")
    number = world.open("shown", base="topic")
    world.review(number)
    world.tick()
    world.sim.pulls.edit(world.bot, number, base="main")
    world.merge(number)
    assert world.code() == "retargeted-after-review"


def test_a_plan_that_the_request_itself_does_not_show(merged: World) -> None:
    forge = merged.altered(pulls__1__files=lambda files: [{**files[0], "filename": OTHER_PLAN}])
    assert merged.code(forge=forge) == "evil-merge"


def test_a_merge_that_brings_more_than_the_request_shows(world: World) -> None:
    world.approved({PLAN: plan_text(), "publisher.yaml": "id: y\n"})

    def without(files: list[Any]) -> list[Any]:
        return [item | ({"filename": "other"} if item["filename"] == "publisher.yaml" else {}) for item in files]

    verdict = world.verdict(forge=world.altered(pulls__1__files=without))
    assert (getattr(verdict, "code", ""), "publisher.yaml" in getattr(verdict, "says", "")) == ("evil-merge", True)
    assert world.code() == "Approval"


def test_a_request_whose_check_had_failed(world: World) -> None:
    number = world.propose()
    head = world.tip(REQUEST)
    _status(world, head, "failure")
    world.review(number)
    world.merge(number)
    assert world.code() == "check-failed"
    _status(world, head, "success")
    assert world.code() == "Approval"
    _status(world, head, "failure")  # after the merge: no word about what was merged
    assert world.code() == "Approval"


def _status(world: World, commit: str, state: str) -> None:
    world.tick()
    world.api().send("POST", f"statuses/{commit}", {"state": state, "context": "publisher/payload", "description": "x"})


def test_what_a_token_may_not_see_is_left_out_where_it_only_refuses(world: World) -> None:
    """Statuses and rule suites. Everything else is needed, and asked for by name."""
    world.approved()
    plain = world.sim.app("plain[bot]", permissions={"contents": "read", "pull_requests": "read", "issues": "read"})
    assert world.code(forge=world.forge(world.api(plain))) == "Approval"
    blind = world.sim.app("blind[bot]", permissions={"contents": "read"})
    with pytest.raises(NeedsPerson, match="host-forbidden") as caught:
        world.verdict(forge=world.forge(world.api(blind)))
    assert "Pull requests: read" in caught.value.next


# --- who reviewed ------------------------------------------------------------------------------------------------------------


def test_a_review_by_somebody_whom_nobody_listed(world: World) -> None:
    number = world.propose()
    world.review(number, world.wes)
    world.merge(number)
    assert world.code() == "reviewer-not-listed"


def test_one_of_two(tmp_path: Path) -> None:
    with github_world(tmp_path, count=2) as world:
        number = world.propose()
        world.review(number)
        world.review(number)  # the same person again
        world.merge(number)
        assert "1 of 2" in getattr(world.verdict(), "says", "")


def test_a_request_cannot_bring_its_own_approver(world: World) -> None:
    files = {PLAN: plan_text(), RULES: rules_text(world.wes)}
    for method in ("merge", "squash", "rebase"):
        branch = f"publisher/requests/{method}"
        if method == "rebase":
            world.commit(branch, {RULES: files[RULES]})
            world.commit(branch, {PLAN: files[PLAN]})
            number = world.open(branch)
        else:
            number = world.propose(files, branch)
        world.review(number, world.wes)
        world.merge(number, method)
        assert world.code() == "reviewer-not-listed"
        world.commit("main", {PLAN: None, RULES: rules_text(world.rae, world.sam)}, world.ann)


def test_a_deleted_accounts_review_is_nobodys(world: World) -> None:
    number = world.propose()
    world.review(number)
    world.merge(number)
    world.sim.delete_account(world.rae)
    assert world.code() == "not-reviewed"


def test_a_pusher_between_is_no_reviewer(world: World) -> None:
    """Commits in the bot's name that rae pushed; the bot pushed last."""
    world.push(world.made({PLAN: plan_text("a-0002")}, world.tip(), who=world.bot), REQUEST, world.rae)
    world.push(world.made({PLAN: plan_text()}, world.tip(REQUEST), who=world.bot), REQUEST, world.bot)
    number = world.open()
    world.review(number)
    world.merge(number)
    assert world.code() == "own-approval"


# --- answers that do not fit together, or cannot be read -----------------------------------------------------------------------


def fields(**more: Any) -> Callable[[Any], Any]:
    return lambda found: {**found, **more}


def each(**more: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda found: [{**item, **more} for item in found]


def by_nobody(movement: dict[str, Any]) -> dict[str, Any]:
    return movement if movement["ref"] == MAIN else {**movement, "actor": None}


def by_an_organisation(review: dict[str, Any]) -> dict[str, Any]:
    return {**review, "user": {**review["user"], "type": "Organization"}}


MAIN = "refs/heads/main"
STRANGE: dict[str, tuple[Mapping[str, Callable[[Any], Any]], str]] = {
    "a draft": ({"pulls/1": fields(draft=True)}, "request-not-merged"),
    "unmerged": ({"pulls/1": fields(merged=False)}, "request-not-merged"),
    "another base": ({"pulls/1": fields(base={"ref": "x", "repo": {"id": 1}})}, "request-not-merged"),
    "fewer files than it has": ({"pulls/1": fields(changed_files=3001)}, "request-too-large"),
    "fewer commits than it has": ({"pulls/1": fields(commits=251)}, "request-too-large"),
    "another head": ({"pulls/1": lambda found: {**found, "head": {**found["head"], "sha": "1" * 40}}}, "head-not-merged"),
    "another blob": ({"pulls/1/files": each(sha="1" * 40)}, "merge-differs"),
    "a copy": ({"pulls/1/files": each(status="copied", previous_filename=OTHER_PLAN)}, "renamed-in-request"),
    "no record of the head": ({"activity": lambda found: [one for one in found if one["ref"] == MAIN]}, "freshness-unknown"),
    "nobody pushed": ({"activity": lambda found: [*map(by_nobody, found)]}, "freshness-unknown"),
    "another account's permission": ({"collaborators/rae/permission": fields(user={"id": 7})}, "reviewer-without-write"),
    "nobody's permission": ({"collaborators/rae/permission": fields(user=None)}, "reviewer-without-write"),
    "an organisation": ({"pulls/1/reviews": lambda found: [*map(by_an_organisation, found)]}, "review-by-bot"),
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGE)
def test_answers_that_do_not_fit(merged: World, what: str) -> None:
    answers, code = STRANGE[what]
    assert merged.code(forge=merged.altered(**answers)) == code


def test_two_requests_for_one_commit(merged: World) -> None:
    commit = merged.tip()
    forge = merged.altered(**{f"commits/{commit}/pulls": lambda found: [*found, {**found[0], "number": 9}]})
    assert merged.code(forge=forge) == "ambiguous-request"


def test_a_request_of_another_repository(merged: World) -> None:
    forge = merged.altered(**{"": fields(id=99)})
    assert merged.code(forge=forge) == "other-base"


UNREADABLE: dict[str, Mapping[str, Callable[[Any], Any]]] = {
    "the repository": {"": lambda _: []},
    "the repository's number": {"": fields(id="7")},
    "a flag as a text": {"pulls/1": fields(merged="true")},
    "no time": {"pulls/1": fields(merged_at="yesterday")},
    "a number as a flag": {"pulls/1": fields(commits=True)},
    "no head": {"pulls/1": fields(head=None)},
    "a head that is no commit": {"pulls/1": lambda found: {**found, "head": {**found["head"], "sha": "main"}}},
    "a review without a state": {"pulls/1/reviews": each(state=None)},
    "a review that is a text": {"pulls/1/reviews": lambda _: ["APPROVED"]},
    "a user without a number": {"pulls/1/reviews": each(user={"login": "rae", "type": "User"})},
    "a commit without parents": {"pulls/1/commits": each(parents=None)},
    "a file without a name": {"pulls/1/files": each(filename=None)},
    "a push without a time": {"activity": each(timestamp=None)},
    "a push to nowhere": {"activity": each(after="")},
    "an event without a time": {"issues/1/timeline": lambda found: [*found, {"event": "closed", "actor": None}]},
    "a permission that is none": {"collaborators/rae/permission": fields(permission=None)},
    "a status without a name": {"commits/HEAD/status": lambda found: {"statuses": [{}]}},
}  # fmt: skip


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_is_no_answer(merged: World, what: str) -> None:
    head = merged.tip(REQUEST)
    answers = {path.replace("HEAD", head): change for path, change in UNREADABLE[what].items()}
    with pytest.raises(ComeBackLater, match="host-unreadable"):
        merged.verdict(forge=merged.altered(**answers))


def test_times_may_have_fractions(merged: World) -> None:
    found = merged.verdict(
        forge=merged.altered(pulls__1=lambda found: {**found, "merged_at": found["merged_at"].replace("Z", ".123Z")})
    )
    assert isinstance(found, Approval) and found.merged_at.microsecond == 0


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("approve {0}", 1), ("x\napprove {0}\ny", 1), ("approve {0}\r\napprove {0}", 2),
        ("approve {0}.", 0), ("approved {0}", 0), ("`approve {0}`", 0),
    ],
)  # fmt: skip
def test_lines_that_name_a_payload(body: str, count: int) -> None:
    payload = "sha256:" + "0" * 64
    assert payloads_in(body.format(payload)) == (payload,) * count
