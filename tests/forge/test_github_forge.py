"""The reading door of forge ``github`` beside approvals: rules in force, rejections, open requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from publisher.domain.approval import Rejection
from publisher.errors import ComeBackLater, NeedsPerson, StoppedForSafety
from publisher.ports import OpenRequest, Tips
from tests.support.github.accounts import Account
from tests.support.github.merging import web
from tests.support.github_world import OTHER_PLAN, PLAN, REQUEST, RULES, World, github_world, plan_text, rules_text


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with github_world(tmp_path) as made:
        yield made


# --- the rules in force ------------------------------------------------------------------------------------------------------


def test_a_reviewed_change_of_the_rules_counts_from_then_on(world: World) -> None:
    world.approved({RULES: rules_text(world.rae, world.wes)}, "squash")
    changed = world.tip()
    number = world.propose(branch="publisher/requests/next")
    world.review(number, world.wes)
    world.merge(number)
    forge, tips = world.forge(pinned_root=world.root), world.tips()
    rules = forge.rules(tips.default)
    assert (rules.commit, rules.root, rules.ignored) == (changed, world.root, ())
    assert world.code(forge=forge) == "Approval"
    assert forge.rules(world.root).commit == world.root


def test_a_pushed_change_of_the_rules_is_ignored_and_listed(world: World) -> None:
    change = world.commit("main", {RULES: rules_text(world.wes)}, world.ann)
    rules = world.forge().rules(world.tips().default)
    assert (rules.commit, rules.ignored) == (world.root, (change,))
    number = world.propose()
    world.review(number, world.wes)
    world.merge(number)
    assert world.code() == "reviewer-not-listed"


def test_a_change_of_the_rules_approved_by_those_it_adds_is_ignored(world: World) -> None:
    number = world.propose({RULES: rules_text(world.wes)})
    world.review(number, world.wes)
    change = world.merge(number, "squash", world.wes)
    assert world.forge().rules(world.tips().default).ignored == (change,)


def test_an_approved_version_that_cannot_be_read_leaves_the_one_before_in_force(world: World) -> None:
    world.approved({RULES: "approvals: many\n"}, "squash")
    rules = world.forge().rules(world.tips().default)
    assert (rules.commit, rules.ignored) == (world.root, (world.tip(),))


@pytest.mark.parametrize(("kind", "error"), [("primary", ComeBackLater), ("forbidden", NeedsPerson)])
def test_rules_that_github_does_not_answer_about_are_not_those_before(world: World, kind: str, error: type[Exception]) -> None:
    """Otherwise a busy hour would put somebody back into force whom the last change removed."""
    world.approved({RULES: rules_text(world.rae)}, "squash")
    tips = world.tips()
    fault = world.sim.faults.next("GET /repos/ann/site/pulls/1/reviews", kind=kind)
    forge = world.forge()
    with pytest.raises(error, match="host-"):
        forge.rules(tips.default)
    assert fault.seen == 1
    assert forge.rules(tips.default).commit == world.tip()


def test_another_root_than_the_pinned_one_stops(world: World) -> None:
    with pytest.raises(StoppedForSafety, match="root-differs"):
        world.verdict(forge=world.forge(pinned_root="0" * 40))


def test_no_rules_at_all(world: World) -> None:
    bare = _committed(world, world.sim.git.tree_with("", {"README.md": "x\n"}))
    world.push(bare, force=True)
    with pytest.raises(NeedsPerson, match="no-approval-rules"):
        world.forge().rules(world.tips().default)
    assert world.code() == "absent"


def _committed(world: World, tree: str, *parents: str) -> str:
    by = web(world.sim.seconds)
    return world.sim.git.committed(tree, parents, "by hand", by, by)


# --- rejections --------------------------------------------------------------------------------------------------------------


def close(world: World, number: int, who: Account) -> None:
    world.tick()
    world.sim.pulls.close(who, number)


def test_a_close_by_somebody_entitled_is_final(world: World) -> None:
    number = world.propose()
    head = world.tip(REQUEST)
    close(world, number, world.rae)
    rejected = Rejection(subject=world.subject(), by="rae", merge=head, request=number)
    assert world.verdict() == rejected
    assert world.code(data=plan_text("a-0002")) == "absent"
    assert world.code(OTHER_PLAN, plan_text()) == "absent"
    # Proposed once more, approved and merged: it stays rejected. Another payload of the same file is free.
    world.approved(branch="publisher/requests/again")
    assert world.verdict() == rejected
    world.approved({PLAN: plan_text("a-0002")}, branch="publisher/requests/other")
    assert world.code(data=plan_text("a-0002")) == "Approval"


def test_a_close_after_the_approval_is_a_rejection_too(world: World) -> None:
    """Of a second request, which has the same payload in other bytes."""
    world.approved()
    close(world, world.propose({PLAN: plan_text() + b"# a comment\n"}, "publisher/requests/again"), world.sam)
    assert isinstance(world.verdict(), Rejection)


@pytest.mark.parametrize("who", ["bot", "wes", "ann"])
def test_any_other_close_decides_nothing(world: World, who: str) -> None:
    """By the bot that opened it, by somebody who may write, by the owner whom nobody listed."""
    close(world, world.propose(), getattr(world, who))
    assert world.code() == "absent"


def test_the_author_withdraws_and_does_not_reject(world: World) -> None:
    close(world, world.propose(who=world.rae), world.rae)
    assert world.code() == "absent"


def test_an_approver_who_may_not_write_any_more_rejects_nothing(world: World) -> None:
    close(world, world.propose(), world.rae)
    world.sim.user("rae", "read")
    assert world.code() == "absent"


def test_a_reopened_request_is_open(world: World) -> None:
    number = world.propose()
    close(world, number, world.rae)
    world.tick()
    world.sim.pulls.reopen(world.bot, number)
    assert world.code() == "absent"
    close(world, number, world.bot)
    assert world.code() == "Rejection"  # the author's own close undoes nobody's decision
    world.tick()
    world.sim.pulls.reopen(world.rae, number)
    world.tick()
    close(world, number, world.bot)
    assert world.code() == "absent"
    world.tick()
    world.sim.pulls.reopen(world.bot, number)
    world.review(number)
    world.merge(number)
    assert world.code() == "Approval"


def test_a_copy_from_a_fork_that_is_closed_says_nothing(world: World) -> None:
    """Anybody may copy an open plan; whoever closes the copy does not reject the plan."""
    number = world.propose()
    close(world, world.propose(branch="eve:copy", who=world.eve), world.rae)
    world.review(number)
    world.merge(number)
    assert world.code() == "Approval"


def test_what_a_closed_request_removed_or_broke_is_no_payload(world: World) -> None:
    world.approved()
    close(world, world.propose({PLAN: None}, "publisher/requests/removal"), world.rae)
    close(world, world.propose({PLAN: "[broken"}, "publisher/requests/broken"), world.rae)
    assert world.code() == "Approval"


def test_closed_requests_are_looked_back_for_three_months(world: World) -> None:
    close(world, world.propose(), world.rae)
    world.tick(days=89)
    assert isinstance(world.verdict(), Rejection)
    world.tick(days=2)
    close(world, world.propose({OTHER_PLAN: plan_text()}, "publisher/requests/later"), world.rae)
    assert world.code() == "absent"
    assert isinstance(world.verdict(OTHER_PLAN, plan_text()), Rejection)


def test_bytes_that_are_not_the_blobs_are_no_payload(world: World) -> None:
    number = world.propose()
    close(world, number, world.rae)
    (file,) = world.api().pages(f"pulls/{number}/files")
    other = world.sim.git.run("hash-object", "-w", "--stdin", stdin=plan_text("a-0002"))
    wrong = world.altered(**{f"git/blobs/{file['sha']}": lambda found: world.api().get(f"git/blobs/{other}")})
    assert world.code(forge=wrong) == "absent"
    assert world.code(data=plan_text("a-0002"), forge=wrong) == "absent"
    broken = world.altered(**{f"git/blobs/{file['sha']}": lambda found: {**found, "content": "A"}})
    assert world.code(forge=broken) == "absent"


# --- open requests -----------------------------------------------------------------------------------------------------------


def opened(world: World, tips: Tips | None = None) -> dict[int, tuple[str, ...]]:
    return {item.number: item.paths for item in world.forge().open_requests(tips or world.tips())}


def test_what_open_requests_bring(world: World) -> None:
    files = {OTHER_PLAN: plan_text("a-0002"), PLAN: plan_text(), "drafts/a/index.md": "x\n", RULES: rules_text(world.rae)}
    number = world.propose(files)
    tips = world.tips()
    assert world.forge().open_requests(tips) == (
        OpenRequest(number=number, head=world.tip(REQUEST), paths=(RULES, PLAN, OTHER_PLAN)),
    )


def test_only_plain_files_that_are_there_are_brought(world: World) -> None:
    """A link, and the removal of a plan."""
    world.approved()
    link = world.sim.git.run("hash-object", "-w", "--stdin", stdin=b"elsewhere")
    index = {"GIT_INDEX_FILE": str(world.sim.bare / "index-of-a-test")}
    rows = f"120000 {link}\t{OTHER_PLAN}\n0 {'0' * 40}\t{PLAN}\n"
    world.sim.git.run("read-tree", world.tip(), env=index)
    world.sim.git.run("update-index", "--index-info", stdin=rows.encode(), env=index)
    tree = world.sim.git.run("write-tree", env=index)
    world.push(_committed(world, tree, world.tip()), "publisher/requests/odd", world.bot)
    number = world.open("publisher/requests/odd")
    assert opened(world) == {number: ()}


def test_a_request_that_was_brought_up_to_date_by_a_merge(world: World) -> None:
    """ "Update branch": what came from the default branch is not the request's own."""
    number = world.propose()
    world.commit("main", {OTHER_PLAN: plan_text("a-0002")}, world.ann)
    world.tick()
    world.sim.pulls.update_branch(world.bot, number)
    world.commit(REQUEST, {"plans/handbook/notes.yaml": "kind: x\n"})
    world.commit("main", {"plans/handbook/later.yaml": "kind: x\n"}, world.ann)
    assert opened(world) == {number: (PLAN, "plans/handbook/notes.yaml")}


def test_what_was_merged_is_not_open(world: World) -> None:
    number = world.propose()
    before = world.tips()
    assert opened(world, before) == {number: (PLAN,)}
    world.merge(number)
    after = world.tips()
    assert opened(world, Tips(default=after.default, state="", drafts="", requests=before.requests)) == {}


def test_a_request_with_no_single_base_brings_nothing(world: World) -> None:
    """Two commits of the default branch merged into each other's place: a criss-cross, and a history of its own."""
    one = world.made({"one.md": "1\n"}, world.root)
    other = world.made({"other.md": "2\n"}, world.root)
    world.push(world.made({"other.md": "2\n"}, one, other))
    world.push(world.made({"one.md": "1\n", PLAN: plan_text()}, other, one, who=world.bot), REQUEST, world.bot)
    number = world.open()
    alone = _committed(world, world.sim.git.tree_with("", {PLAN: plan_text()}))
    world.push(alone, "publisher/requests/alone", world.bot)
    tips = world.tips()
    requests = {number: tips.requests[number], 99: alone}
    assert opened(world, Tips(default=tips.default, state="", drafts="", requests=requests)) == {number: (), 99: ()}
