"""How often a push that did not land is made again. What decides is the branch that was pushed to, and no message of the remote's.

* It moved: somebody else came first. Again, on top of theirs, up to ``MOST_TRIES`` times.
* It did not: once more a second later, because whoever came first may hold it and not show yet. If it still has not moved, the
  remote takes no such push; trying on would change nothing, and only look like an attack.
"""

from __future__ import annotations

from publisher.ports import Clock

MOST_TRIES = 8
PAUSE = 1.0
"""Seconds in which whoever holds the branch will have let it go."""


class Patience:
    """The tries of one push."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tips: list[str] = []

    def lasts(self, tip: str) -> bool:
        """Whether to try (again), the branch now being at ``tip``. Asked before each try."""
        self._tips.append(tip)
        if len(self._tips) > MOST_TRIES or self._tips[-3:] == [tip] * 3:
            return False
        if self._tips[-2:] == [tip] * 2:
            self._clock.sleep(PAUSE)
        return True

    @property
    def moved(self) -> bool:
        """Whether the branch was moved by somebody else during the last try."""
        return self._tips[-1:] != self._tips[-2:-1]
