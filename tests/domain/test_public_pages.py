"""Which pages a confirmation looks at."""

from __future__ import annotations

from typing import Any

import pytest

from publisher.domain.article import MANIFEST_PATH, Release
from publisher.domain.facts import Prepared, public_text_of
from publisher.domain.fingerprint import digest
from publisher.domain.public_pages import absolute, expected_pages, plan_urls
from publisher.domain.site_content import Content, after
from tests.support.values import put

SHARED = ("index.html", "feed.xml", "atom.xml", MANIFEST_PATH)


def prepared(*numbers: int, **fields: Any) -> Prepared:
    return Prepared(payload="p", puts=tuple(public_text_of(put(number), "plan") for number in numbers), **fields)


def release(*pages: str) -> Release:
    return Release(id=digest(b"r"), files={path: digest(path.encode()) for path in (*pages, *SHARED)}, root="/nowhere")


def test_the_plans_pages_the_list_both_feeds_and_the_manifest_are_looked_at() -> None:
    plan = prepared(1, 2)
    pages = expected_pages("https://x.example", release("text-1/index.html", "text-2/index.html"), plan, after(Content(), plan))
    assert [page.url.removeprefix("https://x.example/") for page in pages] == [
        "text-1/", "text-2/", "", "feed.xml", "atom.xml", MANIFEST_PATH,
    ]  # fmt: skip
    assert pages[0].digest == digest(b"text-1/index.html")
    assert not any(page.gone for page in pages)


def test_other_plans_pages_are_not() -> None:
    content = after(after(Content(), prepared(1)), prepared(2))
    pages = expected_pages("https://x.example", release("text-1/index.html", "text-2/index.html"), prepared(2), content)
    assert "https://x.example/text-1/" not in [page.url for page in pages]


def test_a_text_hidden_or_withdrawn_meanwhile_is_not_expected() -> None:
    plan = prepared(1, 2, 3)
    later = after(
        after(Content(), plan), prepared(hides=("a-0001",), withdraws=({"id": "a-0002", "url": "/text-2/", "answer": "gone"},))
    )
    assert plan_urls(plan, later) == ("/text-3/",)


def test_a_withdrawn_address_must_be_gone_or_show_its_redirect() -> None:
    gone = {"id": "a-0001", "url": "/text-1/", "answer": "gone"}
    moved = {"id": "a-0002", "url": "/text-2/", "answer": "redirect", "to": "/text-3/"}
    plan = prepared(withdraws=(gone, moved))
    pages = expected_pages("https://x.example/", release("text-2/index.html"), plan, after(Content(), plan))
    by_url = {page.url: page for page in pages}
    assert by_url["https://x.example/text-1/"].gone
    assert by_url["https://x.example/text-1/"].digest == ""
    assert by_url["https://x.example/text-2/"].digest == digest(b"text-2/index.html")
    assert not by_url["https://x.example/text-2/"].gone


def test_a_page_that_the_release_does_not_have_cannot_be_expected() -> None:
    plan = prepared(1)
    small = Release(id=digest(b"r"), files={"index.html": digest(b"i")}, root="/nowhere")
    assert [page.url for page in expected_pages("https://x.example", small, plan, after(Content(), plan))] == [
        "https://x.example/"
    ]


@pytest.mark.parametrize(
    ("site", "path", "url"),
    [
        ("https://x.example", "/fences/", "https://x.example/fences/"),
        ("https://x.example/", "feed.xml", "https://x.example/feed.xml"),
        ("https://x.example/blog", "/fences/", "https://x.example/blog/fences/"),
        ("https://x.example/blog/", "", "https://x.example/blog/"),
        ("https://x.example", "", "https://x.example/"),
    ],
)
def test_a_site_may_live_below_a_path(site: str, path: str, url: str) -> None:
    assert absolute(site, path) == url
