"""How the next date's articles are chosen: shares by deficit, in the queue's order, never fewer than the policy says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from publisher.domain.business_calendar import in_utc
from publisher.domain.policy import Candidate, Policy, ShortQueue, take


def policy(quantity: int = 2, shares: Mapping[str, int] | None = None, **changes: Any) -> Policy:
    made: dict[str, Any] = {
        "version": 3, "quantity": quantity, "start": date(2026, 12, 1), "zone_name": "Asia/Hong_Kong", "shares": shares or {},
        "horizon_days": 7, "digest": "sha256:" + "0" * 64,
    }  # fmt: skip
    return Policy(**{**made, **changes})


def queue(text: str) -> list[Candidate]:
    """One candidate a letter, in order; the letter is the category."""
    return [Candidate(id=f"{letter}{place}", category=letter) for place, letter in enumerate(text)]


def chosen(
    text: str, quantity: int, shares: Mapping[str, int] | None = None, scheduled: Mapping[str, int] | None = None
) -> str:
    return " ".join(item.id for item in take(policy(quantity, shares), queue(text), scheduled or {}))


@pytest.mark.parametrize(
    ("text", "quantity", "shares", "scheduled", "expected"),
    [
        ("abab", 2, {}, {}, "a0 b1"),
        ("aabb", 2, {"a": 1, "b": 1}, {}, "a0 b2"),
        ("bbaa", 2, {"a": 1, "b": 1}, {}, "a2 b0"),
        ("bbaa", 2, {"b": 1, "a": 1}, {}, "b0 a2"),
        ("aabb", 2, {"a": 1, "b": 1}, {"a": 1}, "b2 a0"),
        ("aabb", 2, {"a": 1, "b": 1}, {"a": 5, "b": 3}, "b2 b3"),
        ("aaab", 3, {"a": 2, "b": 1}, {}, "a0 b3 a1"),
        ("aaab", 3, {"a": 2, "b": 1}, {"a": 1}, "b3 a0 a1"),
        ("xaxb", 2, {"a": 1, "b": 1}, {}, "a1 b3"),
        ("ab", 1, {"a": 1, "b": 1}, {"a": 1, "b": 1}, "a0"),
        ("aab", 2, {"a": 1}, {}, "a0 a1"),
        ("ba", 1, {"a": 1, "b": 1000}, {"a": 1, "b": 999}, "b0"),
        ("ba", 1, {"a": 1, "b": 1000}, {"a": 1, "b": 1000}, "a1"),
    ],
)
def test_the_category_furthest_behind_its_share_comes_next(
    text: str, quantity: int, shares: dict[str, int], scheduled: dict[str, int], expected: str
) -> None:
    assert chosen(text, quantity, shares, scheduled) == expected


@pytest.mark.parametrize(
    ("text", "quantity", "shares", "category", "found"),
    [
        ("", 2, {}, "", 0),
        ("a", 2, {}, "", 1),
        ("aa", 2, {"a": 1, "b": 1}, "b", 1),
        ("aaaa", 3, {"a": 2, "b": 1}, "b", 1),
        ("xx", 1, {"a": 1}, "a", 0),
        ("", 1, {"a": 1, "b": 1}, "a", 0),
    ],
)
def test_a_queue_that_cannot_fill_a_date_stops_and_nothing_fills_the_gap(
    text: str, quantity: int, shares: dict[str, int], category: str, found: int
) -> None:
    with pytest.raises(ShortQueue) as short:
        chosen(text, quantity, shares)
    assert (short.value.category, short.value.wanted, short.value.found) == (category, quantity, found)


def oracle(quantity: int, shares: Mapping[str, int], texts: Sequence[Candidate], counts: Mapping[str, int]) -> list[str] | None:
    """The rule with fractions, written the slow way."""
    left, have, result = list(texts), Counter(counts), []
    for _ in range(quantity):
        if shares:
            behind = min(shares, key=lambda name: (Fraction(have[name], shares[name]), list(shares).index(name)))
            left_of = [item for item in left if item.category == behind]
        else:
            left_of = left
        if not left_of:
            return None
        result.append(left_of[0].id)
        have[left_of[0].category] += 1
        left.remove(left_of[0])
    return result


LETTERS = st.sampled_from("abcd")


@settings(max_examples=400)
@given(
    st.integers(1, 6),
    st.dictionaries(LETTERS, st.integers(1, 1000), max_size=3),
    st.text(alphabet="abcd", max_size=12),
    st.dictionaries(LETTERS, st.integers(0, 10**6), max_size=3),
)
def test_taking_agrees_with_the_rule_in_fractions(
    quantity: int, shares: dict[str, int], text: str, counts: dict[str, int]
) -> None:
    expected = oracle(quantity, shares, queue(text), counts)
    if expected is None:
        with pytest.raises(ShortQueue):
            take(policy(quantity, shares), queue(text), counts)
        return
    taken = take(policy(quantity, shares), queue(text), counts)
    assert [item.id for item in taken] == expected
    assert len({item.id for item in taken}) == quantity
    for category in {item.category for item in taken}:
        places = [int(item.id[1:]) for item in taken if item.category == category]
        assert places == sorted(places), "within a category the queue's order decides"
    assert not shares or {item.category for item in taken} <= set(shares)


def test_over_many_dates_the_shares_are_met() -> None:
    shares = {"a": 3, "b": 2, "c": 1}
    counts: Counter[str] = Counter()
    for _ in range(60):
        counts.update(item.category for item in take(policy(2, shares), queue("aaabbbccc"), counts))
    assert counts == {"a": 60, "b": 40, "c": 20}


def test_the_inputs_stay_as_they_were() -> None:
    texts, counts = queue("ab"), {"a": 1}
    take(policy(2), texts, counts)
    assert (texts, counts) == (queue("ab"), {"a": 1})


def test_a_policy_names_the_instant_of_a_date() -> None:
    assert in_utc(policy(publish_time="09:00").instant(date(2026, 12, 1))) == "2026-12-01T01:00:00Z"
    assert in_utc(policy().instant(date(2026, 12, 1))) == "2026-11-30T16:00:00Z"
    assert (
        in_utc(policy(zone_name="America/New_York", publish_time="02:30").instant(date(2026, 3, 8))) == "2026-03-08T07:30:00Z"
    )
