"""How an actor talks to the world: it asks for one effect at a time and waits for the answer.

An effect is a tuple that begins with its name; an answer is a tuple of plain values and comes with the actor's clock. What an actor
does is a function of the answers it got. ``("refuse", class, code)`` is an answer that the door raises. An actor that was dropped
(killed) can do nothing any more: every door refuses with ``Dropped``, which no code of publisher's catches.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from publisher.errors import ComeBackLater, NeedsPerson, OutcomeUnknown, Refusal, StoppedForSafety
from publisher.simulation import stage

Effect = tuple[Any, ...]
Answer = tuple[Any, ...]
OK: Answer = ("ok",)
REFUSALS: dict[str, type[Refusal]] = {
    "later": ComeBackLater,
    "person": NeedsPerson,
    "unknown": OutcomeUnknown,
    "safety": StoppedForSafety,
}
SAYS = "the model of the world says so"


def refuse(kind: str, code: str) -> Answer:
    return ("refuse", kind, code)


class Dropped(BaseException):
    """The actor was killed."""


class Talk:
    """One actor's line to the world. ``switch`` hands an effect over and returns (answer, seconds of the actor's clock)."""

    def __init__(self, switch: Callable[[Effect], tuple[Answer, int]]) -> None:
        self._switch = switch
        self._now: int | None = None
        self.dropped = False

    def ask(self, *effect: Any) -> Answer:
        if self.dropped:
            raise Dropped
        answer, self._now = self._switch(effect)
        if answer[0] == "refuse":
            raise REFUSALS[answer[1]](answer[2], SAYS, next="publisher run")
        return answer

    def now(self) -> datetime:
        """The time that came with the last answer: while an actor thinks, no time passes."""
        if self.dropped:
            raise Dropped
        assert self._now is not None, "the clock is read before anything was asked"
        return stage.instant(self._now)
