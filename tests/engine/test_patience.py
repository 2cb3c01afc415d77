"""How often a push that did not land is made again, by what its branch did meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime

from publisher.engine.patience import MOST_TRIES, PAUSE, Patience


class Waits:
    """A clock that counts."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 12, 1, tzinfo=UTC)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def turns(*tips: str) -> tuple[list[bool], list[float], bool]:
    """Whether it went on at each of these tips, what was waited, and whether the branch had moved at last."""
    clock = Waits()
    patience = Patience(clock)
    return [patience.lasts(tip) for tip in tips], clock.slept, patience.moved


def test_a_branch_that_stands_still_is_asked_twice() -> None:
    assert turns("a", "a", "a") == ([True, True, False], [PAUSE], False)


def test_a_branch_that_moves_is_followed_at_once() -> None:
    assert turns("a", "b", "c") == ([True, True, True], [], True)


def test_it_is_followed_so_often_and_no_longer() -> None:
    going, slept, moved = turns(*(f"tip-{number}" for number in range(MOST_TRIES + 1)))
    assert (going, slept, moved) == ([True] * MOST_TRIES + [False], [], True)


def test_one_that_moved_and_then_stands_still_is_asked_twice_again() -> None:
    assert turns("a", "a", "b", "b", "b") == ([True, True, True, True, False], [PAUSE, PAUSE], False)
