from __future__ import annotations

from pathlib import Path

import pytest

from publisher.errors import InputProblem, NeedsPerson, StoppedForSafety
from tests.support.signed_forge import LISTED, PLAN, RULES, World, plan_text, rules_text

WEAKER = {**LISTED, "mallory": ["commit", "approve"]}


def weaken(world: World, count: int = 1) -> bytes:
    return rules_text(world.keys, WEAKER, count)


def test_the_root_version_is_in_force(world: World) -> None:
    root = world.tips().default
    rules = world.forge(pinned_root=root).rules(root)
    assert (rules.commit, rules.root, rules.ignored) == (root, root, ())
    assert {signer.principal for signer in rules.signers if signer.may_approve} == {"alice@example.org", "bob@example.org"}


def test_another_root_than_the_pinned_one_stops(world: World) -> None:
    with pytest.raises(StoppedForSafety, match="root-differs"):
        world.forge(pinned_root="0" * 40).rules(world.tips().default)


def test_no_rules_at_all(world: World) -> None:
    bare = world.commit({"x": b""}, [], base=world.git.compose_tree({"y": b""}))
    with pytest.raises(NeedsPerson, match="no-approval-rules"):
        world.forge().rules(bare)


def test_a_direct_push_is_ignored_and_listed(world: World) -> None:
    root = world.tips().default
    change = world.push(world.commit({RULES: weaken(world)}, [root], "mallory"))
    later = world.push(world.commit({"ledger/x.jsonl": b"{}\n"}, [change]))
    rules = world.forge().rules(later)
    assert (rules.commit, rules.ignored) == (root, (change,))
    assert "mallory@example.org" not in {signer.principal for signer in rules.signers}


def test_a_direct_push_lets_nobody_approve(world: World) -> None:
    world.push(world.commit({RULES: weaken(world)}, [world.tips().default], "mallory"))
    world.crafted(world.signed(who="mallory"), who="mallory")
    assert world.code() == "unknown-key"


def test_an_approved_change_counts_from_then_on(world: World) -> None:
    root = world.tips().default
    world.open({RULES: weaken(world)})
    world.decide(1)
    tip = world.tips().default
    rules = world.forge().rules(tip)
    assert (rules.commit, rules.root, rules.ignored) == (tip, root, ())
    assert world.forge().rules(root).commit == root
    world.open({PLAN: plan_text()}, "m2")
    (approval,) = world.decide(2, "mallory")
    assert approval.evidence["rules"] == tip


def test_what_is_undone_is_not_listed(world: World) -> None:
    root = world.tips().default
    change = world.commit({RULES: weaken(world)}, [root], "mallory")
    undone = world.push(world.commit({RULES: rules_text(world.keys)}, [change], "alice"))
    assert world.forge().rules(undone).ignored == ()


def test_deleting_the_rules_leaves_them_in_force(world: World) -> None:
    root = world.tips().default
    change = world.push(world.commit({RULES: None}, [root], "mallory"))
    rules = world.forge().rules(change)
    assert (rules.commit, rules.ignored) == (root, (change,))


def test_fewer_approvers_in_the_same_merge_do_not_help(world_of_two: World) -> None:
    world = world_of_two
    files = {PLAN: plan_text(), RULES: rules_text(world.keys, count=1)}
    signed = [world.signed(), world.signed(RULES, files[RULES])]
    world.merge(world.branch(1, files), signed, files)
    assert world.code() == "too-few"
    assert world.forge().rules(world.tips().default).count == 2


def test_an_approved_version_that_cannot_be_read_is_ignored(world: World) -> None:
    """Otherwise nobody could approve its repair."""
    root = world.tips().default
    broken = {RULES: b'{"count": 1}'}
    tip = world.merge(world.branch(1, broken), [world.signed(RULES, broken[RULES])], broken)
    rules = world.forge().rules(tip)
    assert (rules.commit, rules.ignored) == (root, (tip,))


def test_nobody_is_led_to_approve_rules_that_cannot_be_read(world: World) -> None:
    world.open({RULES: b'{"count": 1}'})
    with pytest.raises(InputProblem, match="not-rules"):
        world.decide(1)


def test_a_merge_without_statement_about_the_rules_changes_nothing(world: World) -> None:
    root = world.tips().default
    files = {PLAN: plan_text(), RULES: weaken(world)}
    tip = world.merge(world.branch(1, files), [world.signed()], files)
    rules = world.forge().rules(tip)
    assert (rules.commit, rules.ignored) == (root, (tip,))


def test_bots_are_no_approvers_in_the_signers_file(world: World, keys: Path) -> None:
    rules = world.forge().rules(world.tips().default)
    assert "planner" not in rules.allowed("publisher-approval")
    assert "planner" in rules.allowed("git")
