"""Notices reach somebody or say so; wording holds public facts, one line at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from publisher.domain import wording
from publisher.domain.alarms import Code
from publisher.domain.instance import ChannelSpec
from publisher.errors import InputProblem, NeedsPerson
from publisher.notify.alerts import Notices, StderrAlerts, make_alerts
from publisher.notify.outcomes import Outcome, refused, sent, unknown
from publisher.ports import Message
from tests.support.mail import mail_server

PLAN = "handbook/daily/2026/2026-12-01"
NOTICE = wording.stopped(PLAN, "claim-lost", "fence 7 was superseded by fence 8", "publisher status", step="deploy")


class Answering:
    """A channel whose outcomes are given by recipient."""

    idempotent = False

    def __init__(self, outcomes: dict[str, Outcome]) -> None:
        self.outcomes = outcomes
        self.messages: list[Message] = []

    def recipients(self, list_name: str) -> tuple[str, ...]:
        return tuple(self.outcomes)

    def pseudonym(self, recipient: str) -> str:
        return recipient

    def send(self, message: Message) -> Outcome:
        self.messages.append(message)
        return self.outcomes[message.recipient]


def test_a_file_has_one_line_per_notice_however_often_it_is_said(tmp_path: Path) -> None:
    spec = ChannelSpec(name="alerts", kind="file", options={"path": "alerts.jsonl"})
    for _ in range(50):
        make_alerts(spec, tmp_path, {}, ("ann@b.example", "ben@b.example")).say("n-1", NOTICE)
    make_alerts(spec, tmp_path, {}, ()).say("n-2", NOTICE)
    lines = [json.loads(line) for line in (tmp_path / "alerts.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["n-1 to on-call", "n-2 to on-call"]
    assert lines[0]["subject"] == f"{PLAN} stopped at deploy [claim-lost]"
    assert lines[0]["text"] == NOTICE


def test_mail_reaches_everybody_on_call(tmp_path: Path) -> None:
    with mail_server() as box:
        options = {"host": "localhost", "port": box.port, "security": "none", "from": "alerts@site.example"}
        spec = ChannelSpec(name="alerts", kind="smtp", options=options)
        make_alerts(spec, tmp_path, {}, ("ann@b.example", "ben@b.example")).say("n-1", NOTICE)
    assert [recipient for recipient, _ in box.mails] == ["ann@b.example", "ben@b.example"]
    assert {mail["Subject"] for _, mail in box.mails} == {f"{PLAN} stopped at deploy [claim-lost]"}
    assert len({mail["Message-ID"] for _, mail in box.mails}) == 2


@pytest.mark.parametrize("on_call", [(), ("ann",), ("ann@b.example", "ben at b")])
def test_mail_needs_addresses_of_people_on_call(tmp_path: Path, on_call: tuple[str, ...]) -> None:
    options = {"host": "localhost", "security": "none", "from": "alerts@site.example"}
    with pytest.raises(InputProblem) as caught:
        make_alerts(ChannelSpec(name="alerts", kind="smtp", options=options), tmp_path, {}, on_call)
    assert caught.value.code == "on-call"


def test_one_person_surely_reached_is_enough_and_the_others_are_still_tried() -> None:
    channel = Answering({"a": refused("smtp-550"), "b": sent("smtp-250"), "c": unknown("no-answer")})
    Notices(channel, ("a", "b", "c")).say("n-1", NOTICE)
    assert [message.recipient for message in channel.messages] == ["a", "b", "c"]


@pytest.mark.parametrize("outcomes", [{"a": refused("smtp-550")}, {"a": unknown("no-answer"), "b": refused("smtp-550")}, {}])
def test_nobody_surely_reached_is_a_stop(outcomes: dict[str, Outcome]) -> None:
    with pytest.raises(NeedsPerson) as caught:
        Notices(Answering(outcomes), tuple(outcomes)).say("n-1", NOTICE)
    assert caught.value.code == "alert-undelivered"
    assert all(result.code in caught.value.says for result in outcomes.values())


def test_a_matter_that_ends_without_a_word_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    channel = Answering({"a": sent("smtp-250")})
    Notices(channel, ("a",)).say("n-1", "", thread="t", over=True)
    StderrAlerts().say("n-1", "", thread="t", over=True)
    assert (channel.messages, capsys.readouterr().err) == ([], "")


def test_stderr_lines_cannot_be_commands_or_colours(capsys: pytest.CaptureFixture[str]) -> None:
    StderrAlerts().say("n-1", "first\n::add-mask::x\n  ::error::y\r##[command]z\x1b[31mred\u2028::stop\n")
    out, err = capsys.readouterr()
    assert out == ""
    assert all(line.startswith("notice: ") for line in err.splitlines())
    assert err.splitlines()[:2] == ["notice: first", "notice: ::add-mask::x"]
    assert "##[" not in err and "\x1b" not in err


def test_without_configuration_notices_go_to_stderr(tmp_path: Path) -> None:
    assert isinstance(make_alerts(None, tmp_path, {}, ()), StderrAlerts)


# --- wording ---------------------------------------------------------------------------------------------------------------


def test_an_announcement_of_one_and_of_several() -> None:
    one = wording.announcement("Handbook", [("Fences", "https://site.example/fences/")])
    assert one == ("Handbook: Fences", "New on Handbook:\n\nFences\nhttps://site.example/fences/\n")
    two = wording.announcement("Handbook", [("Fences", "https://s.example/f/"), ("Leases", "https://s.example/l/")])
    assert two[0] == "Handbook: 2 new articles"
    assert two[1] == "New on Handbook:\n\nFences\nhttps://s.example/f/\n\nLeases\nhttps://s.example/l/\n"


def test_titles_stay_on_their_line_and_keep_their_letters() -> None:
    subject, text = wording.announcement("Hand\r\nbook", [("می\u200cخواهم\nBcc: x\x1b[31m\u2028", "https://s.example/f/")])
    assert subject == "Hand book: می\u200cخواهم Bcc: x [31m"
    assert len(text.splitlines()) == 4


def test_every_notice_names_its_subject_and_a_next_step() -> None:
    notices = [
        wording.stopped(PLAN, "approval-missing", "nobody has approved it", ""),
        NOTICE,
        *(wording.alarm(PLAN, str(code), "this is why", "publisher status") for code in Code),
    ]
    for notice in notices:
        lines = notice.splitlines()
        assert len(lines) > 2 and notice.endswith("\n")
        assert PLAN in lines[0]
        assert lines[-1].startswith("next: ") and len(lines[-1]) > len("next: ")


def test_every_alarm_has_a_sentence_of_its_own_for_its_beginning_and_its_end() -> None:
    assert set(wording.HEADLINES) == set(Code)
    assert len({wording.headline("blog", code) for code in Code}) == len(Code)
    for code in Code:
        assert wording.headline("blog", code) in wording.cleared("blog", code).splitlines()[0]
        assert wording.cleared("blog", code) != wording.alarm("blog", code, "", "x")


def test_an_alarm_lists_its_addresses() -> None:
    text = wording.alarm("blog", "drifted", "look", "publisher reconcile", ["https://site.example/fences/"])
    assert text.splitlines()[2:] == ["- https://site.example/fences/", "next: publisher reconcile"]


def test_recovery_names_the_release_and_the_addresses_once() -> None:
    urls = [f"https://site.example/{n}/" for n in range(30)]
    text = wording.recovered(PLAN, "0123456789ab", urls)
    assert text.splitlines()[0] == f"{PLAN} is public and confirmed"
    assert "0123456789ab" in text and "- https://site.example/0/" in text
    assert "- and 10 more" in text and text.count("https://") == 20


def test_wording_keeps_lines_apart() -> None:
    assert len(wording.stopped(PLAN, "code", "a\nnext: rm -rf /\r\n", "x\ny").splitlines()) == 3
