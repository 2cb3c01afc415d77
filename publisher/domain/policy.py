"""The policy of a site: how many articles a day, from when, in which zone and at what time, and of which categories.

Rules:
* a plan carries exactly the policy's number: never one silently, never three;
* shares are whole-number weights per category; each next article comes from the category that is furthest behind its share
  over the articles scheduled so far, and within a category the queue's order decides;
* a category without a share is never scheduled; a category that is owed the next place and has nothing to give stops the
  planner, so that a gap is seen and never filled by something else;
* a completed plan is never read again under a newer policy: it carries the version and digest it was made with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from publisher.domain.business_calendar import instant_of, parse_clock_time, parse_zone, start_of


@dataclass(frozen=True, kw_only=True)
class Policy:
    """``shares`` empty means that categories do not matter. ``publish_time`` "" means 00:00 of the date."""

    version: int
    quantity: int
    start: date
    zone_name: str
    publish_time: str = ""
    shares: Mapping[str, int]
    horizon_days: int
    digest: str

    @property
    def zone(self) -> ZoneInfo:
        return parse_zone(self.zone_name)

    def instant(self, day: date) -> datetime:
        """When an article of this date becomes public."""
        if not self.publish_time:
            return start_of(day, self.zone)
        return instant_of(day, parse_clock_time(self.publish_time), self.zone)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A queued article that may be taken: not held, not named by any plan or open request, its text readable."""

    id: str
    category: str


class ShortQueue(Exception):
    """The queue cannot fill a date. ``category`` is the one that is owed a place, or "" when any would do."""

    def __init__(self, category: str, wanted: int, found: int) -> None:
        super().__init__(f"{found} of {wanted}")
        self.category = category
        self.wanted = wanted
        self.found = found


def take(policy: Policy, candidates: Sequence[Candidate], scheduled: Mapping[str, int]) -> tuple[Candidate, ...]:
    """The next date's articles, in order.

    ``scheduled`` counts the articles already scheduled by category. Raises ``ShortQueue`` instead of taking fewer.
    """
    left = [item for item in candidates if not policy.shares or item.category in policy.shares]
    counts = dict(scheduled)
    taken: list[Candidate] = []
    while len(taken) < policy.quantity:
        owed = _owed(policy.shares, counts)
        choice = next((item for item in left if owed in ("", item.category)), None)
        if choice is None:
            raise ShortQueue(owed, policy.quantity, len(taken))
        left.remove(choice)
        counts[choice.category] = counts.get(choice.category, 0) + 1
        taken.append(choice)
    return tuple(taken)


def _owed(shares: Mapping[str, int], counts: Mapping[str, int]) -> str:
    """The category furthest behind its share; the first in the policy's order wins a tie; "" without shares."""
    if not shares:
        return ""
    # count/weight is compared by cross-multiplication: no floats, so no rounding between machines.
    names = list(shares)
    best = names[0]
    for name in names[1:]:
        if counts.get(name, 0) * shares[best] < counts.get(best, 0) * shares[name]:
            best = name
    return best
