"""Announcements: accounted one by one, after the fact, and unable to touch it; and a pause that can be seen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.field.stories import FIRST, READERS, told
from tests.support.mail import Mailbox, mail_server
from tests.support.oracle import outside
from tests.support.scene import Scene
from tests.support.volume import rounds

REPEATED = 11
MAIL = (
    "{kind: smtp, host: 127.0.0.1, port: %d, security: none, from: news@blog.example, lists: ../lists, timeout: 5, "
    "pseudonym_key_secret: LIST_KEY}"
)


def results(scene: Scene) -> dict[str, str]:
    """What became of each recipient, by pseudonym."""
    merged: dict[str, str] = {}
    for event in scene.instance.ledger(FIRST):
        if event["type"] == "announce-result":
            merged |= event["results"]
    return merged


def by_mail(scene: Scene, box: Mailbox) -> None:
    """The site's one channel is a mail server."""
    text = scene.text("publisher.yaml")
    post = next(line for line in text.splitlines() if line.strip().startswith("post:"))
    scene.edit({"publisher.yaml": text.replace(post, f"      post: {MAIL % box.port}")})


class Unlucky(Mailbox):
    """Takes the message for one reader, and the connection breaks before it can say so."""

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        said: Any = await super().handle_DATA(server, session, envelope)
        if READERS[1] in envelope.rcpt_tos:
            assert server.transport is not None
            server.transport.abort()
        return str(said)


def test_N_01_published_and_not_told(new: Scene) -> None:
    """Two are sent, one is unknown: the publication is confirmed all the same, and nobody is sent to twice."""
    readers = (*READERS, "carl@readers.example")
    (new.instance.folder / "lists" / "readers.txt").write_text("".join(f"{reader}\n" for reader in readers))
    with mail_server() as box:
        box.__class__ = Unlucky
        by_mail(new, box)
        new.approve(new.plan("12-01 08:00"), "12-01 08:05")
        done = new.run("12-01 09:01", check=6)
        assert done.code_of(FIRST) == "delivery-unknown"
        assert Counter(results(new).values()) == {"sent": 2, "unknown": 1}
        assert new.events(FIRST).count("confirmed") == 1
        assert "settle" in new.run("12-01 10:00", check=6).plan(FIRST)["next"]["command"]
        assert Counter(to for to, _ in box.mails) == dict.fromkeys(readers, 1)


def test_N_03_no_evidence_of_sends(public: Scene) -> None:
    """However often it is run: one record and one message for each reader."""
    before = outside(public.instance)
    for minute in range(rounds(3, REPEATED)):
        public.run(f"12-01 09:{10 + minute}")
    assert outside(public.instance) == before
    assert set(results(public).values()) == {"sent"}
    assert Counter(told(public)) == dict.fromkeys(READERS, 1)


@pytest.mark.parametrize("channel", ["file", "mail"])
def test_N_04_message_in_the_critical_path(new: Scene, channel: str) -> None:
    """A channel that takes nothing: public and confirmed; nobody counts as told, and a person's retry tells them all."""
    place = new.instance.folder / "post.jsonl"
    with mail_server() as box:
        if channel == "mail":
            by_mail(new, box)
        new.approve(new.plan("12-01 08:00"), "12-01 08:05")
        place.mkdir()
        box.users = {"nobody": "knows this"}
        done = new.run("12-01 09:01", check=4)
        assert (done.code_of(FIRST), done.plan(FIRST)["stage"]) == ("channel-silent", "confirmed")
        assert results(new) == {}
        public, next_command = new.live, f"publisher retry {FIRST} announce"
        assert next_command in done.plan(FIRST)["problem"]["next"]
        place.rmdir()
        box.users = None
        new.do("reviewer", *next_command.split()[1:], "--reason", "it is mended", now="12-01 09:20")
        new.run("12-01 09:30")
        assert sorted(told(new) or [to for to, _ in box.mails]) == sorted(READERS)
    assert (new.live, new.events(FIRST).count("deployed")) == (public, 1)


def test_N_06_invisible_pause(approved: Scene) -> None:
    """Shown, with who paused it and why; a run says so, changes nothing, and repeats nothing to anybody."""
    approved.do("reviewer", "pause", "blog", "--reason", "a look first", now="12-01 08:30")
    before = outside(approved.instance)
    for minute in ("12-01 09:01", "12-01 10:01"):
        done = approved.run(minute, check=4)
        assert done.code_of(FIRST) == "paused"
    assert outside(approved.instance) == before
    assert approved.instance.alerts == []
    assert "PAUSED" in approved.do("ci", "status", now="12-01 10:02").out
    log = approved.do("ci", "log", "--site", "blog", now="12-01 10:02").out
    assert "reviewer" in log
    assert "paused the site: a look first" in log
