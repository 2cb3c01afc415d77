"""The file channel: one whole line per message, once per id, whatever stopped it before."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.instance import ChannelSpec
from publisher.errors import NeedsPerson
from publisher.notify.channels import make_channel
from publisher.notify.outcomes import Outcome
from publisher.ports import Channel, Message

WRITTEN = Outcome(outcome="sent", code="written")
THERE = Outcome(outcome="sent", code="already-there")


def channel(base: Path, secrets: dict[str, str] | None = None, **options: Any) -> Channel:
    spec = ChannelSpec(name="outbox", kind="file", options={"path": "box/out.jsonl", **options})
    return make_channel(spec, base, secrets or {})


def message(number: int = 1, text: str = "Fences\nhttps://site.example/fences/\n") -> Message:
    return Message(id=f"m-{number}", recipient="everyone", subject="Handbook: Fences", text=text)


def lines(base: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (base / "box" / "out.jsonl").read_text("utf-8").splitlines()]


def test_a_message_is_one_line(tmp_path: Path) -> None:
    text = 'Zäune "und" 栅栏\u2028\nhttps://site.example/\n'
    assert channel(tmp_path).send(message(text=text)) == WRITTEN
    raw = (tmp_path / "box" / "out.jsonl").read_bytes()
    assert raw.count(b"\n") == 1 and raw.endswith(b"\n")
    assert json.loads(raw) == {"id": "m-1", "to": "everyone", "subject": "Handbook: Fences", "text": text}
    assert (tmp_path / "box" / "out.jsonl").stat().st_mode & 0o077 == 0


def test_the_same_message_is_written_once(tmp_path: Path) -> None:
    for number in (1, 2, 1, 2, 1):
        assert channel(tmp_path).send(message(number)).outcome == "sent"
    before = (tmp_path / "box" / "out.jsonl").read_bytes()
    assert channel(tmp_path).send(message(2, text="another text")) == THERE
    assert (tmp_path / "box" / "out.jsonl").read_bytes() == before
    assert [line["id"] for line in lines(tmp_path)] == ["m-1", "m-2"]


def test_an_id_within_another_messages_text_is_not_that_message(tmp_path: Path) -> None:
    channel(tmp_path).send(message(1, text='{"id": "m-2"}\n'))
    assert channel(tmp_path).send(message(2)) == WRITTEN


def test_a_line_cut_short_counts_as_not_written_and_spoils_nothing(tmp_path: Path) -> None:
    channel(tmp_path).send(message(1))
    channel(tmp_path).send(message(2))
    file = tmp_path / "box" / "out.jsonl"
    whole = file.read_bytes()
    second = whole.index(b"\n") + 1
    for end in range(second, len(whole)):
        file.write_bytes(whole[:end])
        assert channel(tmp_path).send(message(2)) == WRITTEN
        found = file.read_bytes().split(b"\n")
        assert found[0] == whole[: second - 1] and found[-2] == whole[second:-1] and found[-1] == b""
        assert channel(tmp_path).send(message(2)) == THERE


def test_lines_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    odd = b'not json\n\xff\xfe\n[]\n{"id": ["m-1"]}\n' + b"[" * 100_000 + b"\n\n"
    (tmp_path / "box" / "out.jsonl").write_bytes(odd)
    assert channel(tmp_path).send(message(1)) == WRITTEN
    assert (tmp_path / "box" / "out.jsonl").read_bytes().startswith(odd)


def test_two_at_once_write_one_line(tmp_path: Path) -> None:
    start = threading.Barrier(8)
    results: list[Outcome] = []

    def send() -> None:
        start.wait()
        for number in range(10):
            results.append(channel(tmp_path).send(message(number)))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(line["id"] for line in lines(tmp_path)) == sorted(f"m-{number}" for number in range(10))
    assert results.count(WRITTEN) == 10 and results.count(THERE) == 70


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "box").write_text("a file where the folder should be")
    assert channel(tmp_path).send(message()) == Outcome(outcome="refused", code="file-unwritable")
    assert channel(tmp_path, path=".").send(message()) == Outcome(outcome="refused", code="file-unwritable")


def test_a_full_disk_is_refused_and_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:20]))
    assert channel(tmp_path).send(message()) == Outcome(outcome="refused", code="file-unwritable")
    monkeypatch.undo()
    assert channel(tmp_path).send(message()) == WRITTEN
    assert json.loads((tmp_path / "box" / "out.jsonl").read_bytes().split(b"\n")[1])["id"] == "m-1"


def test_what_is_not_flushed_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: int) -> None:
        raise OSError(5, "a text that must not be passed on")

    monkeypatch.setattr(os, "fsync", fail)
    assert channel(tmp_path).send(message()) == Outcome(outcome="unknown", code="not-flushed")


def test_without_a_list_everyone_is_the_recipient(tmp_path: Path) -> None:
    box = channel(tmp_path)
    assert box.recipients("readers") == box.recipients("") == ("everyone",)
    assert box.pseudonym("everyone") == "everyone"


def test_with_a_list_it_is_as_private_as_mail(tmp_path: Path) -> None:
    base, folder = tmp_path / "checkout", tmp_path / "lists"
    base.mkdir()
    folder.mkdir()
    (folder / "readers.txt").write_text("ben@b.example\nann@b.example\n")
    box = channel(base, lists=str(folder), pseudonym_key_secret="KEY")
    assert box.recipients("readers") == ("ann@b.example", "ben@b.example")
    with pytest.raises(NeedsPerson):
        box.pseudonym("ann@b.example")
    keyed = channel(base, {"KEY": "0123456789abcdef"}, lists=str(folder), pseudonym_key_secret="KEY")
    assert keyed.pseudonym("ann@b.example").startswith("p-")
