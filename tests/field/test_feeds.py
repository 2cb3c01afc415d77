"""Feeds, and what readers take for the identity of an article."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.field import stories
from tests.field.stories import EDITED, FIRST, SHOWN, atom_entries, feed_items, manifest, told
from tests.support.instance import draft, source
from tests.support.scene import Scene
from tests.support.sitebuilding import SITE, article, build, png

CORRECTION = "blog/changes/2026/2026-12-01-1"


@pytest.fixture
def corrected(stage: Scene) -> Scene:
    """A typing error of the first article is put right, by a change of its own."""
    return stories.state_of(stage, "corrected", _correct)


def _correct(scene: Scene) -> None:
    stories.public(scene)
    scene.edit({f"{source(1)}/index.md": draft(1, "guide", body="A better sentence, and ![a chart](chart.png).\n")})
    scene.publish("12-01 10:00", "change", "correct", "a-0001", "--reason", "a typing error")


def identity(files: Mapping[str, bytes], *names: str) -> dict[str, list[str]]:
    return {guid: [item[name] for name in names] for guid, item in feed_items(files).items()}


def rss(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def test_F_01_identity_that_contains_the_transport(tmp_path: Path) -> None:
    """Another scheme, another domain: the same GUIDs, which are no links."""
    found: list[Any] = []
    for url in ("http://127.0.0.1:9", "https://garden.example", "https://elsewhere.example/notes"):
        _, files = build(tmp_path, article(1), article(2), site=replace(SITE, url=url))
        assert files["feed.xml"].count('isPermaLink="false"') == 2
        found.append((sorted(feed_items(rss(files))), sorted(atom_entries(rss(files)))))
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) == 2


def test_F_02_identity_made_at_build_time(tmp_path: Path) -> None:
    """Two builds of one request are the same bytes, the feeds with them."""
    one, two = (build(tmp_path, article(1), article(2))[0] for _ in range(2))
    assert (one.id, one.files) == (two.id, two.files)
    assert "feed.xml" in one.files


def test_F_04_every_item_stamped_by_the_build(stage: Scene) -> None:
    """The next day's build leaves the first day's items as they were."""
    first = stories.public(stage).live
    both = stories.two(stage).live
    old = identity(first, "pubDate", "link", "title")
    assert len(old) == 2
    assert old.items() < identity(both, "pubDate", "link", "title").items()
    entries, later = atom_entries(first), atom_entries(both)
    assert all(later[guid] == entry for guid, entry in entries.items())
    assert first["article-0001/index.html"] == both["article-0001/index.html"]


def test_F_05_correction_taken_for_a_new_publication(corrected: Scene, stage: Scene) -> None:
    after, listed = corrected.live, manifest(corrected.live)
    assert b"A better sentence" in after["article-0001/index.html"]
    before = stories.public(stage).live
    assert identity(after, "pubDate", "link") == identity(before, "pubDate", "link")
    for name in ("id", "url", "guid", "date"):
        assert [item[name] for item in listed.values()] == [item[name] for item in manifest(before).values()]


def test_F_07_new_items_at_the_end_of_a_long_feed(tmp_path: Path) -> None:
    """Newest first, and no more than twenty: a reader with any limit sees what is new."""
    _, files = build(tmp_path, *(article(number) for number in range(1, 61)))
    guids = list(feed_items(rss(files)))
    assert guids == [SITE.guid_of(f"g-{number:04}") for number in range(60, 40, -1)]
    assert list(atom_entries(rss(files))) == guids


def test_F_08_correction_posted_as_news(corrected: Scene) -> None:
    """A public article's correction tells nobody; its first publication told each reader once."""
    assert sorted(told(corrected)) == sorted(stories.READERS)
    assert not {"announce-intent", "announced"} & set(corrected.events(CORRECTION))


def test_F_10_volatile_part_in_a_media_address(tmp_path: Path) -> None:
    """An image has one address, without a query, in every build and beside whatever else is published."""
    shown = article(1, body="Here: ![a chart](chart.png)\n", files={"chart.png": png()})
    found = []
    for others in ((), (article(2), article(3))):
        _, files = build(tmp_path, shown, *others)
        (item,) = [item for guid, item in feed_items(rss(files)).items() if guid == shown.guid]
        (line,) = [part for part in str(item).split('"') if "chart.png" in part]
        found.append(line)
        assert "bed-1/chart.png" in files
    assert found[0] == found[1] == "https://garden.example/bed-1/chart.png"


def test_F_11_media_replaced_under_the_same_identity(two: Scene) -> None:
    """The image beside a public article was edited without a plan: the approved bytes stay public."""
    images = [data for path, data in two.live.items() if path.endswith("chart.png")]
    assert images == [SHOWN]
    assert EDITED not in two.live.values()


def test_F_14_page_and_feed_follow_different_clocks(approved: Scene) -> None:
    """Pages without their feed entry are half of it: said so, looked at again, one plan and one announcement."""
    approved.web.missing.add("/feed.xml")
    done = approved.run("12-01 09:01", check=6)
    problem = done.plan(FIRST)["problem"]
    assert problem["code"] == "public-partial"
    assert "feed.xml" in problem["says"]
    assert "/article-000" not in problem["says"]
    assert told(approved) == []
    approved.web.missing.clear()
    approved.run("12-01 09:30")
    assert (approved.events(FIRST).count("deployed"), len(told(approved))) == (1, 2)
