"""The public manifest is read strictly, and the public clock by the RFC's grammar."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from publisher.domain.article import MANIFEST_PATH, ManifestEntry, Withdrawn
from publisher.domain.evidence import Seen
from publisher.domain.fingerprint import digest
from publisher.domain.public_site import MOST_ENTRIES, PublicManifest, clock_apart, parse_http_date, read_manifest
from publisher.errors import ComeBackLater, StoppedForSafety
from publisher.sitebuilder.machines import manifest as build_manifest
from publisher.sitebuilder.views import SiteView

NOW = datetime(2026, 12, 1, 1, 0, 0, tzinfo=UTC)
URL = "https://site.example/.well-known/publisher.json"


def entry(number: int, **other: Any) -> dict[str, Any]:
    return {
        "id": f"a-{number}",
        "url": f"/page-{number}/",
        "guid": f"tag:site.example,2026:handbook/a-{number}",
        "date": "2026-12-01T09:00:00+08:00",
        "digest": digest(b"text"),
        **other,
    }


def gone(number: int, **other: Any) -> dict[str, Any]:
    return {"id": f"w-{number}", "url": f"/gone-{number}/", "answer": "gone", **other}


def manifest(*articles: Any, withdrawn: Any = (), **other: Any) -> dict[str, Any]:
    return {
        "schema": "publisher.manifest/1", "site": "handbook", "articles": list(articles), "withdrawn": list(withdrawn), **other,
    }  # fmt: skip


def seen(body: bytes | str | dict[str, Any], status: int = 200, problem: str = "") -> Seen:
    data = json.dumps(body) if isinstance(body, dict) else body
    return Seen(url=URL, status=status, problem=problem, body=data.encode() if isinstance(data, str) else data)


def test_a_manifest_is_read_in_its_order() -> None:
    redirect = gone(2, answer="redirect", to="/page-2/")
    found = read_manifest(seen(manifest(entry(2), entry(1), withdrawn=[gone(1), redirect])))
    assert found is not None
    assert found.site == "handbook"
    assert found.articles == (ManifestEntry(**entry(2)), ManifestEntry(**entry(1)))
    assert found.withdrawn == (
        Withdrawn(id="w-1", url="/gone-1/", answer="gone"),
        Withdrawn(id="w-2", url="/gone-2/", answer="redirect", to="/page-2/"),
    )


def test_what_the_builder_writes_is_what_is_read_here() -> None:
    entries = [ManifestEntry(**entry(1)), ManifestEntry(**entry(2))]
    withdrawn = [
        Withdrawn(id="w-1", url="/gone-1/", answer="gone"),
        Withdrawn(id="w-2", url="/gone-2/", answer="redirect", to="/page-2/"),
        Withdrawn(id="w-3", url="/gone-3/", answer="redirect", to="https://other.example/new?x=1"),
    ]
    site = cast(SiteView, SimpleNamespace(id="handbook"))
    for articles, away in ((entries, withdrawn), (entries, []), ([], [])):
        found = read_manifest(seen(build_manifest(site, articles, away)[MANIFEST_PATH]))
        assert found == PublicManifest(site="handbook", articles=tuple(articles), withdrawn=tuple(away))


def test_a_site_with_nothing_on_it_yet() -> None:
    found = read_manifest(seen(manifest()))
    assert found is not None
    assert (found.articles, found.withdrawn) == ((), ())


@pytest.mark.parametrize("status", [404, 410])
def test_a_definite_no_is_none(status: int) -> None:
    assert read_manifest(seen(b"<html>not here", status=status)) is None


@pytest.mark.parametrize(
    ("status", "problem"),
    [(0, "timeout"), (0, "tls"), (200, "short-body"), (404, "short-body"), (301, "redirect"), (500, ""), (503, ""), (403, "")],
)
def test_no_answer_is_not_absence(status: int, problem: str) -> None:
    with pytest.raises(ComeBackLater) as caught:
        read_manifest(seen(manifest(), status=status, problem=problem))
    assert caught.value.code == "manifest-unreachable"
    assert (problem or str(status)) in caught.value.says


GARBAGE: dict[str, bytes | str | dict[str, Any]] = {
    "a login wall": b"<!doctype html><title>Sign in</title>",
    "nothing": b"",
    "not UTF-8": b'{"site": "\xff"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "a list": "[]",
    "too deep": "[" * 200_000,
    "two documents": "{}{}",
    "another schema": manifest(schema="publisher.manifest/2"),
    "another name": manifest(version="1"),
    "a name missing": {"schema": "publisher.manifest/1", "site": "handbook", "articles": []},
    "a name twice": '{"schema": "publisher.manifest/1", "site": "x", "site": "handbook", "articles": [], "withdrawn": []}',
    "an inner name twice": json.dumps(manifest(entry(1))).replace('"id": "a-1"', '"id": "a-2", "id": "a-1"'),
    "a number": manifest(entry(1, digest=7)),
    "a huge number": '{"site": ' + "9" * 100_000 + "}",
    "not a number": '{"site": NaN}',
    "a null": manifest(entry(1, guid=None)),
    "a site that is no id": manifest() | {"site": "../x"},
    "a site that is no text": manifest() | {"site": None},
    "articles that are no list": manifest() | {"articles": {}},
    "an article that is no object": manifest("a-1"),
    "an article with more": manifest(entry(1, title="x")),
    "an article with less": manifest({"id": "a-1"}),
    "an id with a newline": manifest(entry(1, id="a-1\n")),
    "an id of another alphabet": manifest(entry(1, id="а-1")),
    "a reserved id": manifest(entry(1, id="con")),
    "a url that climbs": manifest(entry(1, url="/../")),
    "a url elsewhere": manifest(entry(1, url="//other.example/")),
    "a url with a host": manifest(entry(1, url="https://site.example/page-1/")),
    "a guid with a space": manifest(entry(1, guid="a b")),
    "a long guid": manifest(entry(1, guid="a" * 513)),
    "a short digest": manifest(entry(1, digest="sha256:abc")),
    "a date without offset": manifest(entry(1, date="2026-12-01T09:00:00")),
    "a date that is none": manifest(entry(1, date="2026-13-01T09:00:00Z")),
    "an id twice": manifest(entry(1), entry(2, id="a-1")),
    "a url twice": manifest(entry(1), entry(2, url="/page-1/")),
    "a guid twice": manifest(entry(1), entry(2, guid=entry(1)["guid"])),
    "a withdrawn one still there": manifest(entry(1), withdrawn=[gone(1, id="a-1")]),
    "a withdrawn url still there": manifest(entry(1), withdrawn=[gone(1, url="/page-1/")]),
    "withdrawn in another way": manifest(withdrawn=[gone(1, answer="hidden")]),
    "a redirect to nowhere": manifest(withdrawn=[gone(1, answer="redirect")]),
    "a redirect over http": manifest(withdrawn=[gone(1, answer="redirect", to="http://other.example/")]),
    "a redirect with a name": manifest(withdrawn=[gone(1, answer="redirect", to="https://a@other.example/")]),
    "a redirect with a quote": manifest(withdrawn=[gone(1, answer="redirect", to="https://other.example/'x")]),
    "a redirect to a script": manifest(withdrawn=[gone(1, answer="redirect", to="javascript:1")]),
    "gone, and yet a redirect": manifest(withdrawn=[gone(1, to="/page-1/")]),
    "too many": '{"schema": "publisher.manifest/1", "site": "handbook", "withdrawn": [], "articles": ['
    + "{}," * MOST_ENTRIES
    + "{}]}",
    "too large": b" " * (8 * 1024 * 1024 + 1),
}


@pytest.mark.parametrize("body", GARBAGE.values(), ids=GARBAGE.keys())
def test_anything_else_stops(body: bytes | str | dict[str, Any]) -> None:
    with pytest.raises(StoppedForSafety) as caught:
        read_manifest(seen(body))
    assert caught.value.code == "manifest-garbled"
    assert caught.value.where == URL
    assert caught.value.next


def test_a_refusal_quotes_nothing_of_the_answer() -> None:
    with pytest.raises(StoppedForSafety) as caught:
        read_manifest(seen(manifest(entry(1, id="SECRET-draft-title"))))
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None or "SECRET" not in str(caught.value.__cause__)


# --- the clock ----------------------------------------------------------------------------------------------------


def dated(text: str) -> Seen:
    return Seen(url=URL, status=200, date=text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Tue, 01 Dec 2026 01:00:00 GMT", 0),
        ("Tue, 01 Dec 2026 01:02:01 GMT", 121),
        ("Tue, 01 Dec 2026 00:57:59 GMT", 121),
        ("Tuesday, 01-Dec-26 01:00:00 GMT", 0),
        ("Tue Dec  1 01:00:05 2026", 5),
        ("Tue, 01 Dec 2026 00:59:60 GMT", 1),
    ],
)
def test_how_far_the_clocks_are_apart(text: str, seconds: int) -> None:
    assert clock_apart(dated(text), NOW) == timedelta(seconds=seconds)


def test_two_digit_years_lie_at_most_fifty_years_ahead() -> None:
    assert parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", NOW) == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
    assert parse_http_date("Sunday, 01-Nov-76 00:00:00 GMT", NOW) == datetime(2076, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "Mon, 01 Dec 2026 01:00:00 GMT",
        "tue, 01 dec 2026 01:00:00 gmt",
        "Tue, 1 Dec 2026 01:00:00 GMT",
        "Tue, 01 Dec 2026 01:00:00 UTC",
        "Tue, 01 Dec 2026 01:00:00 +0000",
        "Tue, 01 Dec 2026 01:00:00 GMT ",
        "Tue, 01 Dec 2026 25:00:00 GMT",
        "Tue, 01 Dec 2026 01:00:61 GMT",
        "Wed, 31 Feb 2026 01:00:00 GMT",
        "Tue, 01 Dec 2026 01:00:00 GMT\r\n",
        "Tue, ٠١ Dec 2026 01:00:00 GMT",
        "2026-12-01T01:00:00Z",
    ],
)
def test_another_spelling_tells_no_time(text: str) -> None:
    assert clock_apart(dated(text), NOW) is None
