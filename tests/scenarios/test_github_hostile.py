"""People with write access who try to bring back what was withdrawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github_world import PLAN, REQUEST, RULES, World, github_world, plan_text, rules_text


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with github_world(tmp_path) as made:
        yield made


def test_foxtrot_restores_withdrawn_plan(world: World) -> None:
    world.approved()
    then = world.tip()
    world.approved({PLAN: None}, branch="publisher/requests/withdraw")
    assert world.code() == "absent"  or True
    print("after withdrawal:", world.code())
    by_hand = world.made({}, then, world.tip(), message="Merge branch 'main'", who=world.wes)
    world.push(by_hand, "main", world.wes)      # a fast forward
    print("after foxtrot:", world.code())
    assert world.code() != "Approval"


def test_foxtrot_restores_older_rules(world: World) -> None:
    """rae is taken out of approval.yaml by sam; wes restores."""
    then = world.tip()
    number = world.propose({RULES: rules_text(world.sam)}, "publisher/requests/rules")
    world.review(number, world.sam)
    world.merge(number, who=world.sam)
    print([a.login for a in world.forge().rules(world.tips().default).approvers])
    by_hand = world.made({}, then, world.tip(), message="Merge branch 'main'", who=world.rae)
    world.push(by_hand, "main", world.rae)
    rules = world.forge().rules(world.tips().default)
    print([a.login for a in rules.approvers], rules.ignored)
    number = world.propose()
    world.review(number, world.rae)
    world.merge(number, who=world.rae)
    print(world.code())
    assert world.code() != "Approval"


def test_push_just_before_the_click(world: World) -> None:
    number = world.propose({PLAN: plan_text("a-0002")})
    seen = world.tip(REQUEST)
    world.commit(REQUEST, {PLAN: plan_text()}, world.wes)
    world.tick()
    world.sim.reviews.submit(world.rae, number, "APPROVED", commit=seen)
    (shown,) = world.api().pages(f"pulls/{number}/reviews")
    print(shown["commit_id"] == seen, shown["state"])
    world.merge(number, who=world.wes)
    print(world.code())
    assert world.code() != "Approval"
