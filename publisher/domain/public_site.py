"""What the public site says about itself: its manifest and its clock. Pure: it reads what probes saw.

Rules:
* the manifest is the first authority of a restore, and whoever can write the site can write it; so it is read strictly:
  the names it may hold and no others, nothing twice, every value in the form that publisher writes;
* "there is none" needs a definite 404 or 410; no answer is not absence;
* a page that answers with something else (a login wall, another site's home page) stops.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from publisher.domain.article import MANIFEST_PATH, URL_PATH, ManifestEntry, Withdrawn, is_safe_name
from publisher.domain.business_calendar import parse_instant
from publisher.domain.evidence import Seen
from publisher.domain.fingerprint import is_digest
from publisher.errors import ComeBackLater, StoppedForSafety

SCHEMA = "publisher.manifest/1"
LARGEST_MANIFEST = 8 * 1024 * 1024
MOST_ENTRIES = 100_000
GUID = re.compile(r"[!-~]{1,512}", re.ASCII)
OUTSIDE = re.compile(r"https://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?(?:/[!#-&(-;=?-\[\]-~]*)?", re.ASCII)
"""An https address without user information, quotes, angle brackets or backslashes."""
ENTRY_NAMES = {"id", "url", "guid", "date", "digest"}

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LONG_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_MONTH = rf"(?P<month>{'|'.join(MONTHS)})"
# RFC 9110, 5.6.7: the form to write, and the two old ones that a reader must accept.
HTTP_DATES = (
    re.compile(rf"(?P<name>{'|'.join(DAYS)}), (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT", re.ASCII),
    re.compile(rf"(?P<name>{'|'.join(LONG_DAYS)}), (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT", re.ASCII),
    re.compile(rf"(?P<name>{'|'.join(DAYS)}) {_MONTH} (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})", re.ASCII),
)


@dataclass(frozen=True, kw_only=True)
class PublicManifest:
    """What the site says is public: its id, its articles in the manifest's order, and the addresses withdrawn."""

    site: str
    articles: tuple[ManifestEntry, ...]
    withdrawn: tuple[Withdrawn, ...]


def read_manifest(seen: Seen) -> PublicManifest | None:
    """The manifest in a probe's observation; None when the site definitely has none (404 or 410).

    ``ComeBackLater`` (``manifest-unreachable``) when there was no usable answer; ``StoppedForSafety``
    (``manifest-garbled``) when the answer is not a manifest that publisher wrote.
    """
    if seen.status in (404, 410) and not seen.problem:
        return None
    if seen.problem or seen.status != 200:
        reason = seen.problem or f"status {seen.status}"
        raise ComeBackLater(
            "manifest-unreachable", f"the public manifest could not be read ({reason}); that is not taken for an empty site",
            next="publisher reconcile", where=seen.url,
        )  # fmt: skip
    try:
        return _manifest_of(_parse(seen.body))
    except _Garbled as garbled:
        raise StoppedForSafety(
            "manifest-garbled", f"the answer at /{MANIFEST_PATH} is not a manifest of publisher's: {garbled.rule}",
            next="look at the address in a browser, then publisher reconcile", where=seen.url,
        )  # fmt: skip


class _Garbled(Exception):
    """A rule of the manifest's form that does not hold. ``rule`` is ours and quotes nothing."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


def _parse(body: bytes) -> Any:
    if len(body) > LARGEST_MANIFEST:
        raise _Garbled("it is too large")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise _Garbled("it is not UTF-8") from None
    try:
        # No number belongs in a manifest; refusing them here also keeps huge ones from being computed.
        return json.loads(
            text, object_pairs_hook=_once, parse_int=_no_number, parse_float=_no_number, parse_constant=_no_number
        )
    except (ValueError, RecursionError):
        raise _Garbled("it is not JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise _Garbled("a name stands twice")
    return data


def _no_number(_: str) -> Any:
    raise _Garbled("it holds a number")


def _manifest_of(data: Any) -> PublicManifest:
    top = _fields(data, {"schema", "site", "articles", "withdrawn"})
    if top["schema"] != SCHEMA:
        raise _Garbled("its schema is one that this version does not know")
    if not isinstance(top["site"], str) or not is_safe_name(top["site"]):
        raise _Garbled("site is not an id")
    articles = tuple(_entry(item) for item in _items(top["articles"]))
    withdrawn = tuple(_withdrawn(item) for item in _items(top["withdrawn"]))
    _no_repeats([entry.id for entry in articles] + [entry.id for entry in withdrawn], "id")
    _no_repeats([entry.url for entry in articles] + [entry.url for entry in withdrawn], "url")
    _no_repeats([entry.guid for entry in articles], "guid")
    return PublicManifest(site=top["site"], articles=articles, withdrawn=withdrawn)


def _fields(data: Any, names: set[str]) -> Mapping[str, Any]:
    if not isinstance(data, dict) or set(data) != names:
        raise _Garbled("an object has other names than a manifest's")
    return data


def _items(data: Any) -> Sequence[Any]:
    if not isinstance(data, list) or len(data) > MOST_ENTRIES:
        raise _Garbled("articles and withdrawn are lists of bounded length")
    return data


def _entry(data: Any) -> ManifestEntry:
    fields = _texts(_fields(data, ENTRY_NAMES))
    if not GUID.fullmatch(fields["guid"]):
        raise _Garbled("a guid has another form")
    if not is_digest(fields["digest"]):
        raise _Garbled("a digest has another form")
    try:
        parse_instant(fields["date"])
    except ValueError:
        raise _Garbled("a date has another form") from None
    return ManifestEntry(**fields)


def _withdrawn(data: Any) -> Withdrawn:
    names = {"id", "url", "answer"} | ({"to"} if isinstance(data, dict) and "to" in data else set())
    fields = _texts(_fields(data, names))
    to = fields.get("to", "")
    if fields["answer"] not in ("gone", "redirect") or (fields["answer"] == "redirect") != bool(to):
        raise _Garbled("a withdrawn address is gone, or redirects to another")
    if to and to != "/" and not URL_PATH.fullmatch(to) and not _is_outside(to):
        raise _Garbled("a url has another form")
    return Withdrawn(**fields)


def _is_outside(url: str) -> bool:
    return OUTSIDE.fullmatch(url) is not None


def _texts(fields: Mapping[str, Any]) -> dict[str, str]:
    if not all(isinstance(value, str) for value in fields.values()):
        raise _Garbled("a value is not text")
    if not is_safe_name(fields["id"]):
        raise _Garbled("an id has another form")
    if not URL_PATH.fullmatch(fields["url"]):
        raise _Garbled("a url has another form")
    return dict(fields)


def _no_repeats(values: Sequence[str], name: str) -> None:
    if len(set(values)) != len(values):
        raise _Garbled(f"two entries share their {name}")


def clock_apart(seen: Seen, now: datetime) -> timedelta | None:
    """How far the site's clock (its Date header) and ``now`` lie apart, never negative; None without a valid header."""
    theirs = parse_http_date(seen.date, now)
    return None if theirs is None else abs(theirs - now)


def parse_http_date(text: str, now: datetime) -> datetime | None:
    """An HTTP-date (RFC 9110, 5.6.7) in UTC; None for any other text, days that do not exist and wrong weekdays.

    ``now`` decides the century of the old two-digit years: one that looks more than 50 years ahead lies in the past.
    """
    found = next((match for form in HTTP_DATES if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    year = int(found["year"])
    if len(found["year"]) == 2:
        year += now.year // 100 * 100
        year -= 100 if year > now.year + 50 else 0
    try:
        moment = datetime(
            year, MONTHS.index(found["month"]) + 1, int(found["day"]),
            int(found["hour"]), int(found["minute"]), min(int(found["second"]), 59), tzinfo=UTC,
        )  # fmt: skip
    except ValueError:
        return None
    # A leap second (60) counts as the second before it; 61 and more do not exist.
    if int(found["second"]) > 60 or DAYS[moment.weekday()] != found["name"][:3]:
        return None
    return moment
