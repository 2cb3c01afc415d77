"""The drills' stages: what stood before the disaster, made once and put back for each drill."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.mail import Mailbox, mail_server
from tests.support.scene import Scene, scene_of

STATE = "publisher-state"
READERS = ("anna@readers.example", "ben@readers.example")
CHANNELS = """\
    channels:
      mail: {{kind: smtp, host: 127.0.0.1, port: {port}, security: none, from: news@blog.example, lists: ../lists, timeout: 5,
             pseudonym_key_secret: LIST_KEY}}
    announce: {{channels: [mail], list: readers, at_most: 3}}
"""


def two_days(scene: Scene) -> Scene:
    """Two dates approved at once, each published on its day: ``approved``, ``first-day`` and ``two-days`` are saved."""
    for who in ("planner", "reviewer", "oncall"):
        scene.instance.clone(who)
    scene.approve(scene.plan("12-01 08:00", "--days", "2"), "12-01 08:05")
    scene.save("approved")
    scene.run("12-01 09:01")
    scene.save("first-day")
    scene.run("12-02 09:01")
    for who in ("planner", "reviewer", "oncall"):
        scene.instance.clone(who).git("fetch", "--quiet", "origin")
    scene.save("two-days")
    return scene


@pytest.fixture(scope="session")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The ledger on a branch of its own."""
    with scene_of(tmp_path_factory.mktemp("apart"), publish_time="09:00", state=STATE) as scene:
        yield two_days(scene)


@pytest.fixture(scope="session")
def together(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Plans, drafts and ledger on one branch."""
    with scene_of(tmp_path_factory.mktemp("together"), publish_time="09:00") as scene:
        yield two_days(scene)


@pytest.fixture(scope="session")
def box() -> Iterator[Mailbox]:
    with mail_server() as box:
        yield box


@pytest.fixture(scope="session")
def telling(tmp_path_factory: pytest.TempPathFactory, box: Mailbox) -> Iterator[Scene]:
    """A site that announces what it publishes by mail."""
    more = CHANNELS.format(port=box.port)
    with scene_of(tmp_path_factory.mktemp("telling"), publish_time="09:00", state=STATE, more=more) as scene:
        lists = scene.instance.folder / "lists"
        lists.mkdir()
        (lists / "readers.txt").write_text("".join(f"{reader}\n" for reader in READERS))
        scene.instance.environment["LIST_KEY"] = "a key of more than sixteen characters"
        scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
        scene.save("approved")
        yield scene
