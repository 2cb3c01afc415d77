"""Privacy: what is not selected is in no outlet, and every outlet tells of the same set."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from publisher.domain.evidence import ExpectedPage, Public, Seen, Verdict, judge
from publisher.domain.fingerprint import digest
from tests.field.stories import FIRST, SECOND, SENTINEL, feed_items, manifest
from tests.support.instance import source
from tests.support.oracle import all_events, files_at
from tests.support.scene import Scene

LONGEST = 200
MAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from texts(item)


def outlets(scene: Scene) -> dict[str, bytes]:
    """Everything that leaves: public files, what is recorded, messages of commits, notices, announcements, and output."""
    found = {f"public/{path}": data for path, data in scene.live.items()}
    for folder in ("ledger/", "site-src/blog/articles/", "plans/"):
        found |= files_at(scene.instance.remote.path, "main", folder)
    found["commits"] = scene.instance.remote.git("log", "--all", "--format=%B").encode()
    for name in ("alerts.jsonl", "post.jsonl"):
        path = scene.instance.folder / name
        found[name] = path.read_bytes() if path.exists() else b""
    for verb in (("status", "--all", "--fresh"), ("log",), ("preview", "--fresh", "--json"), ("watch",)):
        found[verb[0]] = scene.do("ci", *verb, now="12-01 10:00").text.encode()
    return found


def test_V_01_second_outlet_forgets_the_filter(public: Scene) -> None:
    queued = public.text(f"{source(12)}/index.md")
    assert queued.count(SENTINEL) == 5, "title, summary, body, alternative text, code"
    for name, data in outlets(public).items():
        assert SENTINEL.encode() not in data, name
    assert b"chart.png" in public.live["article-0001/index.html"]


def test_V_03_listed_and_not_there(public: Scene) -> None:
    """List, feeds, map, manifest and pages tell of one set; where the public shows another, it is not confirmed."""
    live = public.live
    known = {item["url"] for item in manifest(live).values()}
    home = set(re.findall(r'href="(/article-\d+/)"', live["index.html"].decode()))
    feed = {item["link"].removeprefix(public.instance.url) for item in feed_items(live).values()}
    mapped = {part.text or "" for part in ElementTree.fromstring(live["sitemap.xml"]).iter(f"{MAP}loc")}
    mapped = {url.removeprefix(public.instance.url) for url in mapped if "/article-" in url}
    pages = {f"/{path.removesuffix('index.html')}" for path in live if re.match(r"article-\d+/index", path)}
    assert known == home == feed == mapped == pages == {"/article-0001/", "/article-0002/"}
    pair = [ExpectedPage(url=url, digest=digest(url.encode())) for url in ("list", "page")]
    seen = {"list": Seen(url="list", status=200, digest=digest(b"list")), "page": Seen(url="page", status=404)}
    report = judge(pair, seen)
    assert (report.verdict, report.pages["page"]) == (Verdict.PARTIAL, Public.ABSENT)


def test_V_04_filter_per_view(public: Scene) -> None:
    """Slug, id, tag and address of what is queued or planned for later: in no page of any kind, nor any file's name."""
    for number in (3, 4, 12):
        for word in (f"article-{number:04d}", f"a-{number:04d}", "secret-tag"):
            assert [path for path, data in public.live.items() if word in path or word.encode() in data] == []
    assert public.page("/article-0012/") is None
    assert public.page("/tags/secret-tag/") is None
    assert b"/article-0001/" in public.live["sitemap.xml"]


def test_V_06_record_that_keeps_the_content(public: Scene) -> None:
    """Records hold ids, digests and times: nothing longer than an address, and no word of any title or text."""
    records = all_events(public.instance)
    assert {FIRST, "blog/claims/2026"} <= set(records)
    for name, events in records.items():
        for text in texts(events):
            assert len(text) <= LONGEST, f"{name} holds {len(text)} letters"
            assert "Article number" not in text
            assert "marker-" not in text
    assert "Article number" not in json.dumps(public.do("ci", "log", "--json", now="12-01 10:00").data)
    assert SECOND not in records
