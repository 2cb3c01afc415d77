"""Evidence: an expected release against what independent probes saw.

Rules:
* only bytes seen on the configured domain count; a command's success, an upload's answer or a home page alone confirms nothing;
* every expected page must be seen with the release's own digest; one that is missing or different keeps the whole from
  being confirmed;
* "absent" needs a definite answer (404 or 410, or other bytes); silence, errors and time-outs are "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Public(StrEnum):
    CONFIRMED = "confirmed"
    ABSENT = "absent"
    UNKNOWN = "unknown"
    NOT_YET = "not-yet"


class Verdict(StrEnum):
    CONFIRMED = "confirmed"
    PARTIAL = "partial"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class ExpectedPage:
    """A URL whose body must have this digest. ``gone`` pages must answer 404 or 410 instead (digest "")."""

    url: str
    digest: str
    gone: bool = False


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One probe's observation. ``status`` 0 means no answer; ``problem`` is then a code such as ``timeout`` or ``refused``.

    ``date`` is the answer's HTTP Date header as it stands. ``digest`` is over the body's bytes as received (identity coding).
    """

    url: str
    status: int
    digest: str = ""
    size: int = 0
    problem: str = ""
    date: str = ""
    body: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The verdict and, per URL, what was seen."""

    verdict: Verdict
    pages: Mapping[str, Public]

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(url for url, state in self.pages.items() if state is not Public.CONFIRMED)


def judge_page(expected: ExpectedPage, seen: Seen | None) -> Public:
    if seen is None or seen.status == 0 or seen.problem or seen.status >= 500 or seen.status in (401, 403, 408, 429):
        return Public.UNKNOWN
    if expected.gone:
        return Public.CONFIRMED if seen.status in (404, 410) else Public.ABSENT
    if seen.status == 200 and seen.digest == expected.digest:
        return Public.CONFIRMED
    return Public.ABSENT


def judge(expected: Sequence[ExpectedPage], seen: Mapping[str, Seen]) -> Report:
    """Confirmed only when every expected page is; nothing expected is never confirmed."""
    pages = {page.url: judge_page(page, seen.get(page.url)) for page in expected}
    states = set(pages.values())
    if states == {Public.CONFIRMED}:
        verdict = Verdict.CONFIRMED
    elif Public.UNKNOWN in states or not states:
        verdict = Verdict.UNKNOWN
    elif states == {Public.ABSENT}:
        verdict = Verdict.ABSENT
    else:
        verdict = Verdict.PARTIAL
    return Report(verdict=verdict, pages=pages)
