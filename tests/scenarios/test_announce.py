"""Announcements: accounted one by one, never sent again where the outcome is unknown, and unable to touch the publication."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.support.mail import Mailbox, mail_server
from tests.support.scene import Scene, daily, scene_of

PLAN = daily("12-01")
ANNA, BEN, CARL = "anna@readers.example", "ben@readers.example", "carl@readers.example"
CONFIGURATION = """\
    channels:
      mail: {{kind: smtp, host: 127.0.0.1, port: {port}, security: none, from: news@blog.example, {lists}, timeout: 5}}
      post: {{kind: file, path: ../post.jsonl, {lists}}}
    announce: {{channels: [mail], list: readers, at_most: 3}}
"""
LISTS = "lists: ../lists, removals: ../lists/removed.txt, pseudonym_key_secret: LIST_KEY"


@pytest.fixture(scope="module")
def box() -> Iterator[Mailbox]:
    with mail_server() as box:
        yield box


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, box: Mailbox) -> Iterator[Scene]:
    more = CONFIGURATION.format(port=box.port, lists=LISTS)
    with scene_of(tmp_path_factory.mktemp("announce"), publish_time="09:00", more=more) as scene:
        scene.instance.environment["LIST_KEY"] = "a key of more than sixteen characters"
        (scene.instance.folder / "lists").mkdir()
        subscribe(scene, ANNA, BEN, CARL)
        remove(scene)
        scene.save("new")
        scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
        scene.save("by-mail")
        scene.back_to("new")
        scene.edit({"publisher.yaml": scene.text("publisher.yaml").replace("channels: [mail]", "channels: [post]")})
        scene.approve(scene.plan("12-01 08:00"), "12-01 08:05")
        scene.save("by-file")
        yield scene


@pytest.fixture
def by_mail(stage: Scene, box: Mailbox) -> Scene:
    stage.back_to("by-mail")
    box.mails.clear()
    box.__dict__.pop("handle_DATA", None)
    return stage


@pytest.fixture
def by_file(stage: Scene) -> Scene:
    stage.back_to("by-file")
    return stage


def subscribe(scene: Scene, *addresses: str) -> None:
    (scene.instance.folder / "lists" / "readers.txt").write_text("".join(f"{address}\n" for address in addresses))


def remove(scene: Scene, *addresses: str) -> None:
    (scene.instance.folder / "lists" / "removed.txt").write_text("".join(f"{address}\n" for address in addresses))


def drop_after_data(box: Mailbox, unlucky: str, *, keep: bool = True) -> None:
    """The server takes the message for ``unlucky`` and the connection breaks before it can say so."""
    plain = Mailbox.handle_DATA

    async def handle_DATA(server: SMTP, session: Session, envelope: Envelope) -> str:
        if unlucky in envelope.rcpt_tos:
            if keep:
                await plain(box, server, session, envelope)
            assert server.transport is not None
            server.transport.abort()
            return "250 never heard"
        return await plain(box, server, session, envelope)

    box.__dict__["handle_DATA"] = handle_DATA


def told(box: Mailbox) -> Counter[str]:
    return Counter(recipient for recipient, _ in box.mails)


def posted(scene: Scene) -> Counter[str]:
    path = scene.instance.folder / "post.jsonl"
    return Counter(json.loads(line)["to"] for line in path.read_text().splitlines()) if path.exists() else Counter()


def results(scene: Scene) -> list[str]:
    """What became of each recipient, in the ledger; who it was is not there."""
    merged: dict[str, str] = {}
    for event in scene.instance.ledger(PLAN):
        if event["type"] == "announce-result":
            merged |= event["results"]
    return sorted(merged.values())


def publication(scene: Scene) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """The records that are the publication's own, and what is public."""
    own = ("approved", "prepared", "built", "deploy-intent", "deployed", "confirmed")
    return [event for event in scene.instance.ledger(PLAN) if event["type"] in own], scene.live


def require_public(scene: Scene) -> None:
    records, _ = publication(scene)
    assert [record["type"] for record in records].count("confirmed") == 1
    assert scene.articles() == ["a-0001", "a-0002"]


# --- by mail ---------------------------------------------------------------------------------------------------------------------


def test_everybody_on_the_list_is_told_once(by_mail: Scene, box: Mailbox) -> None:
    remove(by_mail, BEN.upper())
    assert by_mail.run("12-01 09:01").plan(PLAN)["stage"] == "announced"
    assert told(box) == {ANNA: 1, CARL: 1}
    text = box.mails[0][1].get_content()
    assert "Article number 1 of the test" in text
    assert f"{by_mail.instance.url}/article-0001/" in text
    before = by_mail.refs()
    by_mail.run("12-01 09:10")
    assert (told(box), by_mail.refs()) == ({ANNA: 1, CARL: 1}, before)
    ledger = json.dumps(by_mail.instance.ledger(PLAN))
    assert not any(name in ledger for name in ("anna", "ben", "carl", "readers.example"))
    assert "Article number" not in ledger


def test_an_unknown_outcome_is_a_persons_and_never_sent_again(by_mail: Scene, box: Mailbox) -> None:
    drop_after_data(box, BEN)
    done = by_mail.run("12-01 09:01", check=6)
    assert done.code_of(PLAN) == "delivery-unknown"
    assert told(box) == {ANNA: 1, BEN: 1, CARL: 1}
    assert results(by_mail) == ["sent", "sent", "unknown"]
    require_public(by_mail)
    before, refs = publication(by_mail), by_mail.refs()
    for minute in ("12-01 09:10", "12-02 09:10"):
        done = by_mail.run(minute, check=6)
        assert "settle" in done.plan(PLAN)["next"]["command"]
    assert (told(box), by_mail.refs()) == ({ANNA: 1, BEN: 1, CARL: 1}, refs)
    assert len(by_mail.instance.alerts) == 1
    by_mail.do("reviewer", "settle", PLAN, "announce", "--happened", "--reason", "Ben has it", now="12-02 10:00")
    assert by_mail.run("12-02 10:05").data["sites"][0]["pushes"] == 0
    assert told(box) == {ANNA: 1, BEN: 1, CARL: 1}
    assert publication(by_mail) == before


def test_what_a_person_says_did_not_arrive_is_sent_to_that_reader_alone(by_mail: Scene, box: Mailbox) -> None:
    drop_after_data(box, BEN, keep=False)
    by_mail.run("12-01 09:01", check=6)
    assert told(box) == {ANNA: 1, CARL: 1}
    box.__dict__.pop("handle_DATA")
    by_mail.do("reviewer", "settle", PLAN, "announce", "--did-not", "--reason", "the server says so", now="12-01 10:00")
    assert "retry" in by_mail.run("12-01 10:05", check=4).plan(PLAN)["next"]["command"]
    assert told(box) == {ANNA: 1, CARL: 1}
    by_mail.do("reviewer", "retry", PLAN, "announce", "--reason", "once more", now="12-01 10:10")
    by_mail.run("12-01 10:15")
    assert told(box) == {ANNA: 1, BEN: 1, CARL: 1}
    require_public(by_mail)


def test_a_refused_reader_is_recorded_and_not_asked_again(by_mail: Scene, box: Mailbox) -> None:
    subscribe(by_mail, ANNA, "nobody@readers.example", CARL)
    by_mail.run("12-01 09:01")
    assert told(box) == {ANNA: 1, CARL: 1}
    assert results(by_mail) == ["refused", "sent", "sent"]
    by_mail.run("12-01 09:10")
    assert told(box) == {ANNA: 1, CARL: 1}


def test_a_list_that_outgrew_its_approval_is_not_sent_at_all(by_mail: Scene, box: Mailbox) -> None:
    subscribe(by_mail, ANNA, BEN, CARL, "dora@readers.example")
    done = by_mail.run("12-01 09:01", check=4)
    assert done.code_of(PLAN) == "list-too-large"
    assert f"publisher retry {PLAN} announce" in done.plan(PLAN)["problem"]["next"]
    assert (told(box), "announce-intent" in by_mail.events(PLAN)) == ({}, False)
    require_public(by_mail)
    before = publication(by_mail)
    by_mail.run("12-01 09:10", check=4)
    assert told(box) == {}
    remove(by_mail, "dora@readers.example")
    by_mail.do("reviewer", "retry", PLAN, "announce", "--reason", "the list is shorter", now="12-01 09:20")
    by_mail.run("12-01 09:25")
    assert told(box) == {ANNA: 1, BEN: 1, CARL: 1}
    assert publication(by_mail) == before


def test_a_server_that_is_down_loses_nobody(by_mail: Scene, box: Mailbox) -> None:
    """Nobody was told, so nobody is counted as told; a person's retry reaches them all."""
    text = by_mail.text("publisher.yaml")
    by_mail.edit({"publisher.yaml": text.replace(f"port: {box.port}", "port: 9")})
    done = by_mail.run("12-01 09:01", check=4)
    assert done.code_of(PLAN) == "channel-silent"
    require_public(by_mail)
    before = publication(by_mail)
    assert by_mail.run("12-01 09:10", check=4).data["sites"][0]["pushes"] == 0
    by_mail.edit({"publisher.yaml": text})
    by_mail.do("reviewer", "retry", PLAN, "announce", "--reason", "it is up again", now="12-01 10:00")
    by_mail.run("12-01 10:05")
    assert told(box) == {ANNA: 1, BEN: 1, CARL: 1}
    assert publication(by_mail) == before


def test_a_kill_in_the_middle_of_the_mails(by_mail: Scene, box: Mailbox) -> None:
    """Nobody can know who of the group was reached: unknown, each of them, and none is mailed again."""
    by_mail.killed("12-01 09:01", "after:channel.send:2")
    assert told(box) == {ANNA: 1, BEN: 1}
    done = by_mail.run("12-01 09:20", check=6)
    assert done.code_of(PLAN) == "delivery-unknown"
    assert results(by_mail) == ["unknown"] * 3
    by_mail.run("12-01 09:30", check=6)
    assert told(box) == {ANNA: 1, BEN: 1}
    require_public(by_mail)
    by_mail.do("reviewer", "settle", PLAN, "announce", "--happened", "--reason", "looked", now="12-01 10:00")
    by_mail.run("12-01 10:05")
    assert told(box) == {ANNA: 1, BEN: 1}


# --- by file ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["before:channel.send:1", "after:channel.send:2"])
def test_a_kill_in_the_middle_of_a_file(by_file: Scene, where: str) -> None:
    """A file can be asked what stands in it: the rest is written, and nothing twice."""
    by_file.killed("12-01 09:01", where)
    assert by_file.run("12-01 09:20").plan(PLAN)["stage"] == "announced"
    assert posted(by_file) == {ANNA: 1, BEN: 1, CARL: 1}
    require_public(by_file)
    by_file.run("12-01 09:30")
    assert posted(by_file) == {ANNA: 1, BEN: 1, CARL: 1}


def test_a_reader_removed_after_a_kill_is_not_told(by_file: Scene) -> None:
    by_file.killed("12-01 09:01", "before:channel.send:1")
    remove(by_file, CARL)
    by_file.run("12-01 09:20")
    assert posted(by_file) == {ANNA: 1, BEN: 1}


def test_a_paused_site_announces_nothing_until_it_is_resumed(by_file: Scene) -> None:
    by_file.killed("12-01 09:01", "after:target.switch:1")
    by_file.do("reviewer", "pause", "blog", "--reason", "wait", now="12-01 09:10")
    assert by_file.run("12-01 09:20", check=4).code_of(PLAN) == "paused"
    require_public(by_file)
    assert posted(by_file) == {}
    by_file.do("reviewer", "resume", "blog", "--reason", "on", now="12-01 10:00")
    by_file.run("12-01 10:05")
    assert posted(by_file) == {ANNA: 1, BEN: 1, CARL: 1}
