"""The one instance that most field reports are played on, and the states that it is put back to.

Two dates are planned and approved in one request; the first is published, then the second. Before the second is, people edit
what must have no say: a public article's image, another's draft, a file beside all of it. One queued draft holds a sentinel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.support.instance import draft, source
from tests.support.scene import Scene, daily, scene_of
from tests.support.sitebuilding import png

FIRST, SECOND = daily("12-01"), daily("12-02")
READERS = ("anna@readers.example", "ben@readers.example")
CHANNELS = """\
    channels:
      post: {kind: file, path: ../post.jsonl, lists: ../lists, pseudonym_key_secret: LIST_KEY}
    announce: {channels: [post], list: readers, at_most: 3}
"""
SENTINEL, PRIVATE = "ZX-SENTINEL-7f3a", 12
IMAGE = f"{source(1)}/chart.png"
SHOWN, EDITED = png(width=3), png(width=4)
ATOM = "{http://www.w3.org/2005/Atom}"
MANIFEST = ".well-known/publisher.json"


def private_draft() -> str:
    """A queued text whose every part holds the sentinel; no plan names it."""
    return (
        f'---\nid: a-{PRIVATE:04d}\ntitle: "{SENTINEL} about the merger"\nsummary: "{SENTINEL} in short"\ncategory: note\n'
        f"tags: [secret-tag]\n---\n{SENTINEL} stands here.\n\n![{SENTINEL} as a chart](chart.png)\n\n```\n{SENTINEL} = 1\n```\n"
    )


@contextmanager
def story(folder: Path) -> Iterator[Scene]:
    with scene_of(folder, publish_time="09:00", articles=PRIVATE, more=CHANNELS) as scene:
        scene.instance.environment["LIST_KEY"] = "a key of more than sixteen characters"
        (scene.instance.folder / "lists").mkdir()
        (scene.instance.folder / "lists" / "readers.txt").write_text("".join(f"{reader}\n" for reader in READERS))
        text = draft(1, "guide", body="The body of article number 1, marker-0001, beside ![a chart](chart.png).\n")
        scene.edit(
            {
                "plans/blog/policy.yaml": scene.text("plans/blog/policy.yaml").replace("2026-01-01", "2026-12-01"),
                f"{source(1)}/index.md": text, IMAGE: SHOWN,
                f"{source(PRIVATE)}/index.md": private_draft(), f"{source(PRIVATE)}/chart.png": png(width=9),
            }
        )  # fmt: skip
        scene.save("new")
        yield scene


def planned(scene: Scene) -> Scene:
    """Both dates wait for a review, in request 1."""
    return state_of(scene, "planned", _plan)


def approved(scene: Scene) -> Scene:
    return state_of(scene, "approved", _approve)


def public(scene: Scene) -> Scene:
    """The first date is out, by a run a minute after its time."""
    return state_of(scene, "public", _publish)


def two(scene: Scene) -> Scene:
    """Both are out. Before the second, sources of the first were edited and removed."""
    return state_of(scene, "two", _publish_both)


def state_of(scene: Scene, name: str, make: Any) -> Scene:
    if scene.has(name):
        scene.back_to(name)
    else:
        make(scene)
        scene.save(name)
    scene.web.statuses.clear()
    scene.web.purge()
    return scene


def _plan(scene: Scene) -> None:
    scene.back_to("new")
    assert scene.plan("12-01 08:00", "--days", "2") == 1


def _approve(scene: Scene) -> None:
    planned(scene)
    scene.approve(1, "12-01 08:05")


def _publish(scene: Scene) -> None:
    approved(scene)
    scene.run("12-01 09:01")


def _publish_both(scene: Scene) -> None:
    public(scene)
    scene.edit({IMAGE: EDITED, f"{source(2)}/index.md": None, "README.md": "unrelated\n"})
    scene.run("12-02 09:01")


# --- what is there ----------------------------------------------------------------------------------------------------------


def told(scene: Scene) -> list[str]:
    """Whom the messages in the channel's file went to, in order."""
    path = scene.instance.folder / "post.jsonl"
    return [json.loads(line)["to"] for line in path.read_text().splitlines()] if path.exists() else []


def claims(scene: Scene) -> int:
    return sum(event["type"] == "claimed" for event in scene.instance.ledger("blog/claims/2026", scene.state))


def manifest(files: Mapping[str, bytes]) -> dict[str, dict[str, str]]:
    return {item["id"]: item for item in json.loads(files[MANIFEST])["articles"]}


def feed_items(files: Mapping[str, bytes]) -> dict[str, dict[str, str]]:
    """Each RSS item's fields by its GUID."""
    items = ElementTree.fromstring(files["feed.xml"]).iter("item")
    return {item.findtext("guid") or "": {part.tag: part.text or "" for part in item} for item in items}


def atom_entries(files: Mapping[str, bytes]) -> dict[str, dict[str, str]]:
    entries = ElementTree.fromstring(files["atom.xml"]).iter(f"{ATOM}entry")
    return {entry.findtext(f"{ATOM}id") or "": {part.tag: part.text or "" for part in entry} for entry in entries}


def times_shown(text: str) -> set[str]:
    """Everything in a text for people that looks like a time with minutes, in whatever form."""
    shown = re.findall(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?(?: [A-Z]{2,5} \([^)]*\))?", text)
    return set(shown)


def effects(log: Path) -> list[str]:
    return [line.split(" ")[0] for line in log.read_text().splitlines()] if log.exists() else []
