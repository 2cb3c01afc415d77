from __future__ import annotations

import pytest

from publisher.domain.approval import Approval, NoApproval, Rejection
from tests.support.signed_forge import PLAN, World, plan_text


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


def test_a_rejection_closes_the_request_and_is_final(world: World) -> None:
    number = world.open({PLAN: plan_text()})
    before = world.tips().default
    assert world.decide(number, approve=False) == ()
    verdict = world.verdict()
    assert isinstance(verdict, Rejection)
    assert verdict.by == "alice@example.org"
    assert world.git.commit(world.tips().default).tree == world.git.commit(before).tree


def test_nobody_decided_is_absent(world: World) -> None:
    world.open({PLAN: plan_text()})
    verdict = world.verdict()
    assert isinstance(verdict, NoApproval) and verdict.absent
