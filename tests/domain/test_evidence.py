"""What counts as seen: the full truth table of one page, and of pages together."""

from __future__ import annotations

from itertools import product

import pytest

from publisher.domain.evidence import ExpectedPage, Public, Report, Seen, Verdict, judge, judge_page
from publisher.domain.fingerprint import digest

RIGHT, OTHER = digest(b"right"), digest(b"other")
PAGE = ExpectedPage(url="https://x.example/a/", digest=RIGHT)
GONE = ExpectedPage(url="https://x.example/a/", digest="", gone=True)

UNCLEAR = (0, 401, 403, 408, 429, 500, 502, 503, 504, 599)
DEFINITE = (200, 201, 204, 301, 302, 304, 400, 404, 405, 410, 451)


def seen(status: int, body: str = "", problem: str = "") -> Seen:
    return Seen(url=PAGE.url, status=status, digest=body, problem=problem)


@pytest.mark.parametrize(
    ("status", "body", "problem"), list(product((*UNCLEAR, *DEFINITE), ("", RIGHT, OTHER), ("", "timeout")))
)
def test_a_page_is_confirmed_by_its_own_bytes_only(status: int, body: str, problem: str) -> None:
    found = judge_page(PAGE, seen(status, body, problem))
    if problem or status in UNCLEAR:
        assert found is Public.UNKNOWN
    elif (status, body) == (200, RIGHT):
        assert found is Public.CONFIRMED
    else:
        assert found is Public.ABSENT


@pytest.mark.parametrize(("status", "body", "problem"), list(product((*UNCLEAR, *DEFINITE), ("", RIGHT), ("", "refused"))))
def test_a_page_is_gone_by_404_or_410_only(status: int, body: str, problem: str) -> None:
    found = judge_page(GONE, seen(status, body, problem))
    if problem or status in UNCLEAR:
        assert found is Public.UNKNOWN
    else:
        assert found is (Public.CONFIRMED if status in (404, 410) else Public.ABSENT)


def test_what_was_not_looked_at_is_unknown() -> None:
    assert judge_page(PAGE, None) is Public.UNKNOWN
    assert judge_page(GONE, None) is Public.UNKNOWN


ANSWERS = {"confirmed": seen(200, RIGHT), "absent": seen(404), "unknown": seen(0, problem="timeout")}


def together(*states: str) -> Report:
    pages = [ExpectedPage(url=f"https://x.example/{place}/", digest=RIGHT) for place in range(len(states))]
    return judge(pages, {page.url: ANSWERS[state] for page, state in zip(pages, states, strict=True)})


@pytest.mark.parametrize("states", [states for size in (1, 2, 3, 4) for states in product(ANSWERS, repeat=size)], ids="-".join)
def test_all_pages_confirm_or_nothing_does(states: tuple[str, ...]) -> None:
    kinds = set(states)
    expected = {
        frozenset({"confirmed"}): "confirmed",
        frozenset({"absent"}): "absent",
        frozenset({"confirmed", "absent"}): "partial",
    }
    report = together(*states)
    assert report.verdict == expected.get(frozenset(kinds), "unknown")
    assert [str(state) for state in report.pages.values()] == list(states)
    assert len(report.missing) == sum(state != "confirmed" for state in states)


def test_nothing_expected_is_never_confirmed() -> None:
    assert judge([], {}).verdict is Verdict.UNKNOWN
    assert judge([], {PAGE.url: seen(200, RIGHT)}).verdict is Verdict.UNKNOWN


def test_the_home_page_alone_confirms_nothing() -> None:
    home = ExpectedPage(url="https://x.example/", digest=OTHER)
    report = judge([PAGE, home], {home.url: Seen(url=home.url, status=200, digest=OTHER)})
    assert report.verdict is Verdict.UNKNOWN
    assert report.missing == (PAGE.url,)


def test_pages_that_nobody_expects_change_nothing() -> None:
    assert judge([PAGE], {PAGE.url: seen(200, RIGHT), "https://x.example/b/": seen(404)}).verdict is Verdict.CONFIRMED
