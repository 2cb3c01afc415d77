"""One answer of GitHub's API: what its status, headers and error codes say. Its sentences are never passed on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qsl, urlsplit

from publisher.errors import ComeBackLater

LAST_YEAR = 9999
"""After it there is no date to add seconds to."""


@dataclass(frozen=True)
class Answer:
    """``headers`` by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


def next_page(answer: Answer) -> dict[str, str]:
    """The query of the next page. Its path is not taken: GitHub writes another form of it, and ours is known."""
    found = re.search(r'<([^<>]*)>\s*;\s*rel="next"', answer.headers.get("link", ""))
    try:
        return dict(parse_qsl(urlsplit(found[1]).query)) if found else {}
    except ValueError:  # there is a next page and no way to it: that is no end of the list
        raise ComeBackLater(
            "host-unreadable", "GitHub's list cannot be read to its end", next="publisher status --fresh"
        ) from None


def date_of(answer: Answer) -> datetime | None:
    try:
        return parsedate_to_datetime(answer.headers["date"]).astimezone(UTC)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def is_rate_limit(answer: Answer) -> bool:
    if "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining") == "0":
        return True
    # A secondary limit may come without any header; nothing but GitHub's sentence tells it from a missing permission then.
    return "rate limit" in _message(answer).lower()


def reset_of(answer: Answer) -> datetime | None:
    """When the host may be asked again, by its own clock."""
    after, reset = answer.headers.get("retry-after", ""), answer.headers.get("x-ratelimit-reset", "")
    date = date_of(answer)
    if after.isdecimal() and len(after) < 7 and date and date.year < LAST_YEAR:
        return date + timedelta(seconds=int(after))
    if reset.isdecimal() and len(reset) < 12:
        return datetime.fromtimestamp(int(reset), UTC)
    return None


def _message(answer: Answer) -> str:
    try:
        data = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    message = data.get("message") if isinstance(data, dict) else None
    return message if isinstance(message, str) else ""


def words_of(answer: Answer) -> str:
    """The status and GitHub's own error codes, which are single words; never its sentences."""
    try:
        errors = json.loads(answer.body)["errors"]
        codes = {error["code"] for error in errors if isinstance(error, dict)}
    except (ValueError, KeyError, TypeError, RecursionError):
        codes = set()
    words = sorted(code for code in codes if isinstance(code, str) and re.fullmatch(r"[a-z_]{1,40}", code))
    return " ".join([str(answer.status), *words])
