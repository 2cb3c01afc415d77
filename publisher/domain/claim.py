"""Claims: the right to act for a site, as pure moves of (current, caller, now).

Rules:
* a claim is a line in the site's claims file; it counts when, and only when, a read of the remote shows it;
* the fence grows by exactly 1 within an epoch; a restore starts the next epoch with a new random id; any other number is
  corrupt and refused, never honoured;
* a claim belongs to its nonce: equal numbers with another nonce or epoch id are somebody else's;
* a lease is capped, whatever the file says; an expired one lets another claim, and never proves that its holder stopped;
* a holder whose claim is no longer the last may write nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from publisher.domain.business_calendar import for_people, in_utc, parse_instant, parse_zone
from publisher.domain.ledger_events import Event, EventType, NewEvent
from publisher.errors import ComeBackLater, StoppedForSafety

LONGEST_LEASE = timedelta(hours=2)
NONCE = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Fence:
    """The number that travels to the target. Ordered by epoch, then number; the ids only tell equals apart.

    There is no ``<=``: of two fences with the same number and another id, neither is lower, and they are not equal.
    """

    epoch: int
    epoch_id: str
    number: int
    nonce: str

    def __lt__(self, other: Fence) -> bool:
        return (self.epoch, self.number) < (other.epoch, other.number)

    def as_data(self) -> dict[str, int | str]:
        return {"epoch": self.epoch, "epoch_id": self.epoch_id, "fence": self.number, "nonce": self.nonce}


def fence_of(data: object) -> Fence:
    """A fence from a claim file's mapping; ``ValueError`` for anything that is not exactly one."""
    if not isinstance(data, dict):
        raise ValueError("a fence is a mapping")
    epoch, number = data.get("epoch"), data.get("fence")
    if type(epoch) is not int or type(number) is not int or not 1 <= epoch < 2**31 or not 0 <= number < 2**31:
        raise ValueError("epoch and fence are small whole numbers")
    epoch_id, nonce = data.get("epoch_id"), data.get("nonce")
    if not isinstance(epoch_id, str) or not NONCE.fullmatch(epoch_id):
        raise ValueError("epoch_id is 32 hex digits")
    if not isinstance(nonce, str) or not NONCE.fullmatch(nonce):
        raise ValueError("nonce is 32 hex digits")
    return Fence(epoch=epoch, epoch_id=epoch_id, number=number, nonce=nonce)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The last claim of a site. ``released`` means its holder said that it was done."""

    fence: Fence
    holder: str
    plan: str
    until: datetime
    released: bool = False


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A site's claims, folded: the epoch in force and the last claim in it (None before the first)."""

    epoch: int
    epoch_id: str
    last: Claim | None = None


NOTHING = Standing(epoch=0, epoch_id="")


def fold_claims(events: Iterable[Event]) -> Standing:
    """The standing after all claim events in order. ``StoppedForSafety`` when one of them does not follow from those before."""
    standing = NOTHING
    for event in events:
        try:
            standing = follow(standing, event)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise _corrupt(event, "a claim has epoch, fence, nonce, holder, plan and lease in their form") from None
    return standing


def follow(standing: Standing, event: Event) -> Standing:
    """The standing after one more event; as ``fold_claims`` reads it, less its answer to a field that is missing."""
    if event.type is EventType.EPOCH:
        return _start_epoch(standing, event)
    fence = fence_of(event.fields)
    if (fence.epoch, fence.epoch_id) != (standing.epoch, standing.epoch_id):
        raise _corrupt(event, "a claim belongs to the epoch in force")
    last = standing.last
    if event.type is EventType.CLAIMED:
        if fence.number != (last.fence.number if last else 0) + 1:
            raise _corrupt(event, "a fence is one higher than the last")
        claim = Claim(fence=fence, holder=event.fields["holder"], plan=event.fields["plan"], until=_until(event))
        return replace(standing, last=claim)
    if last is None or last.fence != fence:
        raise _corrupt(event, "only the last claim is renewed or released")
    if event.type is EventType.RENEWED:
        return replace(standing, last=replace(last, until=_until(event)))
    if event.type is EventType.RELEASED:
        return replace(standing, last=replace(last, released=True))
    raise _corrupt(event, "claims are made, renewed and released, and nothing else")


def _start_epoch(standing: Standing, event: Event) -> Standing:
    # An epoch is a fence before its first claim: the same bounds hold for its number and id.
    start = fence_of({**event.fields, "fence": 0, "nonce": event.fields["epoch_id"]})
    if start.epoch <= standing.epoch or start.epoch_id == standing.epoch_id:
        raise _corrupt(event, "an epoch is higher than the one before and has an id of its own")
    return Standing(epoch=start.epoch, epoch_id=start.epoch_id)


def _until(event: Event) -> datetime:
    return min(parse_instant(event.fields["until"]), parse_instant(event.at) + LONGEST_LEASE)


def _corrupt(event: Event, rule: str) -> StoppedForSafety:
    return StoppedForSafety("claims-corrupt", f"claims record {event.n} breaks the rule: {rule}", next="publisher audit")


def acquire(standing: Standing, *, holder: str, nonce: str, plan: str, now: datetime, lease: timedelta) -> NewEvent:
    """The claim event to append, or ``ComeBackLater`` (busy) while another's unexpired lease stands."""
    if standing.epoch < 1:
        raise StoppedForSafety("no-epoch", "this site's claims file does not exist", next="publisher reconcile --restore")
    last = standing.last
    if last and not last.released and now < last.until:
        until = for_people(last.until, parse_zone("UTC"))
        says = f"{last.holder} holds fence {last.fence.number} for {last.plan} until {until}"
        raise ComeBackLater("busy", says, next="publisher run, when the lease is over")
    fence = Fence(epoch=standing.epoch, epoch_id=standing.epoch_id, number=(last.fence.number if last else 0) + 1, nonce=nonce)
    fields = {**fence.as_data(), "holder": holder, "plan": plan, "until": in_utc(now + min(lease, LONGEST_LEASE))}
    return NewEvent(type=EventType.CLAIMED, fields=fields, claim=fence.number)


def require_mine(standing: Standing, mine: Fence) -> None:
    """Refuses a writer whose claim is no longer the last, naming what happened."""
    last = standing.last
    if standing.epoch_id != mine.epoch_id:
        raise StoppedForSafety(
            "epoch-changed", "the ledger was restored since this claim was made; this run changes nothing",
            next="publisher run",
        )  # fmt: skip
    if last is None or last.fence != mine:
        number = last.fence.number if last else 0
        raise StoppedForSafety(
            "claim-lost",
            f"fence {mine.number} was superseded by fence {number}; this run changes nothing",
            next="publisher status",
        )
    if last.released:
        raise StoppedForSafety(
            "claim-released", f"fence {mine.number} was released; this run changes nothing", next="publisher status"
        )
