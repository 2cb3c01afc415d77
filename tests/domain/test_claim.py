"""Claims: fences that grow by one, epochs that change, leases that are capped, numbers that are corrupt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.domain.business_calendar import in_utc
from publisher.domain.claim import LONGEST_LEASE, NOTHING, Fence, Standing, acquire, fence_of, fold_claims, require_mine
from publisher.domain.ledger_events import Event, EventType, NewEvent, encode
from publisher.errors import ComeBackLater, StoppedForSafety
from tests.support.values import COMMIT, NOW

LEASE = timedelta(minutes=10)
ID_1, ID_2 = "1" * 32, "2" * 32
MINE, THEIRS = "a" * 32, "b" * 32


class Claims:
    """A claims file that grows; every step appends what a run would."""

    def __init__(self, *, epoch: int = 1, epoch_id: str = ID_1) -> None:
        self.events: list[Event] = []
        self.add(EventType.EPOCH, epoch=epoch, epoch_id=epoch_id, reason="init")

    def add(self, kind: EventType, at: datetime = NOW, **fields: Any) -> Claims:
        new = NewEvent(type=kind, fields=fields, claim=None if kind is EventType.EPOCH else 1)
        after = self.events[-1] if self.events else None
        self.events.append(encode(new, after=after, at=in_utc(at), actor="ci", commit=COMMIT)[1])
        return self

    def claimed(
        self, number: int, nonce: str = MINE, until: datetime = NOW + LEASE, at: datetime = NOW, **other: Any
    ) -> Claims:
        fields = {
            "epoch": 1,
            "epoch_id": ID_1,
            "fence": number,
            "nonce": nonce,
            "holder": "ci",
            "plan": "p",
            "until": in_utc(until),
        }
        return self.add(EventType.CLAIMED, at, **{**fields, **other})

    def then(self, kind: EventType, number: int, nonce: str = MINE, **other: Any) -> Claims:
        return self.add(kind, **{"epoch": 1, "epoch_id": ID_1, "fence": number, "nonce": nonce, **other})

    @property
    def standing(self) -> Standing:
        return fold_claims(self.events)


def fence(number: int = 1, nonce: str = MINE, epoch: int = 1, epoch_id: str = ID_1) -> Fence:
    return Fence(epoch=epoch, epoch_id=epoch_id, number=number, nonce=nonce)


# --- folding --------------------------------------------------------------------------------------------------------------------


def test_without_records_there_is_no_epoch_and_no_claim() -> None:
    assert fold_claims(()) == NOTHING


def test_the_last_claim_stands() -> None:
    standing = Claims().claimed(1).claimed(2, THEIRS).standing
    assert (standing.epoch, standing.epoch_id) == (1, ID_1)
    assert standing.last is not None
    assert (standing.last.fence, standing.last.holder, standing.last.plan) == (fence(2, THEIRS), "ci", "p")
    assert standing.last.until == NOW + LEASE


def test_a_claim_is_renewed_and_released() -> None:
    claims = Claims().claimed(1).then(EventType.RENEWED, 1, until=in_utc(NOW + 2 * LEASE))
    assert claims.standing.last is not None
    assert claims.standing.last.until == NOW + 2 * LEASE
    assert not claims.standing.last.released
    released = claims.then(EventType.RELEASED, 1).standing.last
    assert released is not None
    assert released.released


def test_a_restore_starts_a_higher_epoch_and_its_numbers_begin_again() -> None:
    claims = Claims().claimed(1).claimed(2).add(EventType.EPOCH, epoch=2, epoch_id=ID_2)
    assert claims.standing == Standing(epoch=2, epoch_id=ID_2)
    again = claims.claimed(1, epoch=2, epoch_id=ID_2).standing
    assert again.last is not None
    assert again.last.fence == fence(1, epoch=2, epoch_id=ID_2)


@pytest.mark.parametrize("at", [NOW, NOW + timedelta(days=1)])
@pytest.mark.parametrize("until", [NOW + timedelta(days=365), NOW + timedelta(days=2900000)])
def test_a_lease_far_in_the_future_is_capped(at: datetime, until: datetime) -> None:
    last = Claims().claimed(1, until=until, at=at).standing.last
    assert last is not None
    assert last.until == at + LONGEST_LEASE
    renewed = Claims().claimed(1, at=at).then(EventType.RENEWED, 1, until=in_utc(until)).standing.last
    assert renewed is not None
    assert renewed.until == NOW + LONGEST_LEASE


CORRUPT: dict[str, Claims] = {
    "the first fence is 1": Claims().claimed(2),
    "no fence 0": Claims().claimed(0),
    "no gap": Claims().claimed(1).claimed(3),
    "not the same again": Claims().claimed(1).claimed(1),
    "not the same number of another": Claims().claimed(1).claimed(1, THEIRS),
    "not backwards": Claims().claimed(1).claimed(2).claimed(1),
    "not fast-forward": Claims().claimed(1).claimed(2**31 - 1),
    "not 2**63": Claims().claimed(2**63),
    "not negative": Claims().claimed(-1),
    "not a boolean": Claims().claimed(True),
    "not a float": Claims().claimed(1.0),  # type: ignore[arg-type]
    "not text": Claims().claimed("1"),  # type: ignore[arg-type]
    "not nothing": Claims().claimed(None),  # type: ignore[arg-type]
    "a nonce of 32 hex digits": Claims().claimed(1, "A" * 32),
    "a nonce and nothing after it": Claims().claimed(1, MINE + "\n"),
    "a claim of an older epoch": Claims().claimed(1, epoch=0),
    "a claim of a newer epoch": Claims().claimed(1, epoch=2),
    "a claim of another epoch id": Claims().claimed(1, epoch_id=ID_2),
    "a claim of the epoch before": Claims().claimed(1).add(EventType.EPOCH, epoch=2, epoch_id=ID_2).claimed(2),
    "a renewal of no claim": Claims().then(EventType.RENEWED, 1, until=in_utc(NOW)),
    "a renewal of another's": Claims().claimed(1).then(EventType.RENEWED, 1, THEIRS, until=in_utc(NOW)),
    "a release of no claim": Claims().then(EventType.RELEASED, 1),
    "a release of a superseded claim": Claims().claimed(1).claimed(2, THEIRS).then(EventType.RELEASED, 1),
    "a claim without a lease": Claims().then(EventType.CLAIMED, 1, holder="ci", plan="p"),
    "a claim without a holder": Claims().then(EventType.CLAIMED, 1, plan="p", until=in_utc(NOW)),
    "a lease without a zone": Claims().claimed(1).then(EventType.RENEWED, 1, until="2026-12-01T09:00:00"),
    "a lease that is a number": Claims().claimed(1).then(EventType.RENEWED, 1, until=99),
    "an event of another kind": Claims().claimed(1).then(EventType.FAILED, 1),
    "the same epoch again": Claims().add(EventType.EPOCH, epoch=1, epoch_id=ID_2),
    "an epoch that goes back": Claims(epoch=5).add(EventType.EPOCH, epoch=4, epoch_id=ID_2),
    "an epoch without an id of its own": Claims().add(EventType.EPOCH, epoch=2, epoch_id=ID_1),
    "epoch 0": Claims(epoch=0),
    "epoch 2**63": Claims(epoch=2**63),
    "epoch true": Claims(epoch=True),
    "epoch text": Claims(epoch="1"),  # type: ignore[arg-type]
    "an epoch id of another form": Claims(epoch_id="x"),
    "an epoch without an id": Claims().add(EventType.EPOCH, epoch=2),
    "an epoch without a number": Claims().add(EventType.EPOCH, epoch_id=ID_2),
}  # fmt: skip


@pytest.mark.parametrize("rule", CORRUPT)
def test_a_number_that_does_not_follow_is_refused_and_never_honoured(rule: str) -> None:
    with pytest.raises(StoppedForSafety) as stop:
        _ = CORRUPT[rule].standing
    assert stop.value.code == "claims-corrupt"
    assert str(CORRUPT[rule].events[-1].n) in stop.value.says


@pytest.mark.parametrize("number", [2**31 - 1, 0])
def test_the_bounds_of_a_fence(number: int) -> None:
    assert fence_of(fence(number).as_data()).number == number


@pytest.mark.parametrize(
    "data",
    [
        None, [], "fence", {}, {**fence().as_data(), "fence": 2**31}, {**fence().as_data(), "epoch": 2**31},
        {**fence().as_data(), "epoch": 0},
        {**fence().as_data(), "epoch": False}, {**fence().as_data(), "nonce": 7}, {**fence().as_data(), "epoch_id": None},
        {**fence().as_data(), "nonce": "１" * 32},
    ],
    ids=repr,
)  # fmt: skip
def test_nothing_but_a_fence_is_one(data: object) -> None:
    with pytest.raises(ValueError):
        fence_of(data)


# --- order ------------------------------------------------------------------------------------------------------------------------


def test_fences_are_ordered_by_epoch_then_number() -> None:
    assert fence(1) < fence(2) < fence(1, epoch=2)
    assert fence(9) < fence(1, epoch=2, epoch_id=ID_2)
    assert fence(2) > fence(1)
    assert not fence(2) < fence(1)


@pytest.mark.parametrize("other", [fence(3, THEIRS), fence(3, epoch_id=ID_2)])
def test_equal_numbers_of_others_are_neither_lower_nor_higher_nor_equal(other: Fence) -> None:
    mine = fence(3)
    assert mine != other
    assert not mine < other
    assert not mine > other
    with pytest.raises(TypeError):
        _ = mine <= other  # type: ignore[operator]


# --- acquiring --------------------------------------------------------------------------------------------------------------------


def claim(standing: Standing, now: datetime = NOW, nonce: str = THEIRS, lease: timedelta = LEASE) -> NewEvent:
    return acquire(standing, holder="ci", nonce=nonce, plan="handbook/launch", now=now, lease=lease)


def test_the_first_claim_is_fence_1() -> None:
    event = claim(Claims().standing)
    assert event.type is EventType.CLAIMED
    assert event.claim == 1
    assert event.fields == {
        "epoch": 1, "epoch_id": ID_1, "fence": 1, "nonce": THEIRS, "holder": "ci", "plan": "handbook/launch",
        "until": in_utc(NOW + LEASE),
    }  # fmt: skip


def test_a_site_without_an_epoch_cannot_be_claimed() -> None:
    with pytest.raises(StoppedForSafety) as stop:
        claim(NOTHING)
    assert stop.value.code == "no-epoch"
    assert "restore" in stop.value.next


@pytest.mark.parametrize(
    ("after", "busy"),
    [
        (timedelta(), True),
        (LEASE - timedelta(seconds=1), True),
        (LEASE, False),
        (LEASE + timedelta(seconds=1), False),
    ],
)
def test_a_claim_blocks_until_its_lease_ends(after: timedelta, busy: bool) -> None:
    standing = Claims().claimed(1).standing
    if busy:
        with pytest.raises(ComeBackLater) as later:
            claim(standing, NOW + after)
        assert later.value.code == "busy"
        assert "fence 1" in later.value.says
        assert "UTC" in later.value.says
    else:
        assert claim(standing, NOW + after).fields["fence"] == 2


def test_a_released_claim_blocks_nobody() -> None:
    assert claim(Claims().claimed(1).then(EventType.RELEASED, 1).standing).fields["fence"] == 2


def test_even_its_own_holder_waits_for_the_lease() -> None:
    """Who holds is decided by the nonce, and each attempt has its own."""
    with pytest.raises(ComeBackLater):
        claim(Claims().claimed(1, MINE).standing, nonce=MINE)


def test_a_far_lease_blocks_for_the_longest_lease_only() -> None:
    standing = Claims().claimed(1, until=NOW + timedelta(days=400)).standing
    with pytest.raises(ComeBackLater):
        claim(standing, NOW + LONGEST_LEASE - timedelta(seconds=1))
    assert claim(standing, NOW + LONGEST_LEASE).fields["fence"] == 2


def test_ones_own_lease_is_capped_too() -> None:
    assert claim(Claims().standing, lease=timedelta(days=9)).fields["until"] == in_utc(NOW + LONGEST_LEASE)


@given(st.lists(st.sampled_from(["claim", "release", "wait", "restore"]), max_size=12))
def test_whatever_happens_numbers_grow_by_one_within_an_epoch(steps: Sequence[str]) -> None:
    claims, now, seen = Claims(), NOW, set()
    for place, step in enumerate(steps):
        standing = claims.standing
        if step == "wait":
            now += LONGEST_LEASE
        elif step == "restore":
            claims.add(EventType.EPOCH, now, epoch=standing.epoch + 1, epoch_id=f"{place:032x}")
        elif step == "release" and standing.last:
            claims.add(EventType.RELEASED, now, **standing.last.fence.as_data())
        elif step == "claim":
            free = standing.last is None or standing.last.released or now >= standing.last.until
            if not free:
                with pytest.raises(ComeBackLater):
                    claim(standing, now, f"{place:032x}")
                continue
            event = claim(standing, now, f"{place:032x}")
            assert event.fields["fence"] == (standing.last.fence.number if standing.last else 0) + 1
            claims.add(EventType.CLAIMED, now, **event.fields)
            made = claims.standing.last
            assert made is not None
            assert made.fence not in seen
            assert all(other < made.fence for other in seen)
            seen.add(made.fence)


# --- still mine? --------------------------------------------------------------------------------------------------------------------


def test_the_last_holder_may_write() -> None:
    require_mine(Claims().claimed(1).claimed(2).standing, fence(2))


@pytest.mark.parametrize(
    ("claims", "mine", "code"),
    [
        (Claims().claimed(1).claimed(2, THEIRS), fence(1), "claim-lost"),
        (Claims().claimed(1, THEIRS), fence(1), "claim-lost"),
        (Claims(), fence(1), "claim-lost"),
        (Claims().claimed(1), fence(2), "claim-lost"),
        (Claims().claimed(1).then(EventType.RELEASED, 1), fence(1), "claim-released"),
        (Claims().claimed(1).add(EventType.EPOCH, epoch=2, epoch_id=ID_2), fence(1), "epoch-changed"),
        (Claims().claimed(1), fence(1, epoch_id=ID_2), "epoch-changed"),
    ],
)
def test_anyone_else_may_write_nothing(claims: Claims, mine: Fence, code: str) -> None:
    with pytest.raises(StoppedForSafety) as stop:
        require_mine(claims.standing, mine)
    assert stop.value.code == code
    assert "this run changes nothing" in stop.value.says


def test_an_expired_lease_alone_takes_nothing_away() -> None:
    """Expiry lets another claim; until one does, the holder is still the last."""
    standing = Claims().claimed(1).standing
    require_mine(standing, fence(1))
