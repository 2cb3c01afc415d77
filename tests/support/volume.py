"""How much of a sweep a test run does: everything in a release run, a fair slice of it otherwise.

    PUBLISHER_TEST_VOLUME=release make test

A slice is chosen by the cells' own names, so that everybody's run has the same cells, and it has at least one of every stratum:
whatever must not be forgotten, such as an effect or a mode, is a stratum. What was left out is printed at the end of a test run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")

RELEASE = os.environ.get("PUBLISHER_TEST_VOLUME", "") == "release"
SLICED: dict[str, tuple[int, int]] = {}
"""By the sweep's name: how many cells this run has, of how many."""


def fair_slice(
    name: str,
    cells: Sequence[T],
    most: int,
    *,
    stratum: Callable[[T], Hashable] = lambda _: None,
    also: Callable[[T], Hashable] | None = None,
) -> list[T]:
    """At most ``most`` of the cells in their order, but one of every stratum at least (there is one stratum unless told); all of
    them in a release run.

    ``also`` divides the cells in another way, and of its strata none is left out either.
    """
    places = list(range(len(cells))) if RELEASE or len(cells) <= most else _chosen(cells, most, stratum)
    if also:
        seen = {also(cells[place]) for place in places}
        left = [place for place in range(len(cells)) if also(cells[place]) not in seen]
        places = sorted([*places, *(left[at] for at in _chosen([cells[place] for place in left], 0, also))])
    chosen = [cells[place] for place in places]
    SLICED[name] = (len(chosen), len(cells))
    return chosen


def rounds(ordinary: int, release: int) -> int:
    """How often something is repeated."""
    return release if RELEASE else ordinary


def _chosen(cells: Sequence[T], most: int, stratum: Callable[[T], Hashable]) -> list[int]:
    by_stratum: dict[Hashable, list[int]] = {}
    for place in sorted(range(len(cells)), key=lambda place: sha256(str(cells[place]).encode()).digest()):
        by_stratum.setdefault(stratum(cells[place]), []).append(place)
    taken = [members.pop(0) for members in by_stratum.values()]
    # Then one more of each in turn, while there is room.
    while len(taken) < most and any(by_stratum.values()):
        for members in by_stratum.values():
            if members and len(taken) < most:
                taken.append(members.pop(0))
    return sorted(taken)
