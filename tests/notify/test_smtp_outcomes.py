"""Exactly what became of a mail, by the point at which the server went wrong.

Before the final dot: refused, nothing was sent. An answer to the dot decides. Silence after it: unknown.
"""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path

import pytest

from publisher.domain.instance import ChannelSpec
from publisher.notify import smtp_delivery
from publisher.notify.channels import make_channel
from publisher.notify.outcomes import Outcome
from publisher.ports import Message
from tests.support.mail import Endless, smtp_script
from tests.support.raw_server import RawServer, Talk, raw_server, silent


def send(port: int, text: str = "text\n", timeout: int = 10) -> tuple[str, str]:
    options = {"host": "127.0.0.1", "port": port, "security": "none", "from": "news@site.example", "timeout": timeout}
    channel = make_channel(ChannelSpec(name="mail", kind="smtp", options=options), Path("/nonexistent"), {})
    result = channel.send(Message(id="m-1", recipient="ann@b.example", subject="News", text=text))
    assert isinstance(result, Outcome)
    return result.outcome, result.code


def outcome(talk: Talk, text: str = "text\n") -> tuple[str, str]:
    with raw_server(talk) as server:
        return send(server.port, text)


def test_all_goes_well() -> None:
    assert outcome(smtp_script({})) == ("sent", "smtp-250")
    assert outcome(smtp_script({"RCPT": b"251 forwarded\r\n"})) == ("sent", "smtp-250")


@pytest.mark.parametrize(
    ("greeting", "code"),
    [
        (b"421 too busy\r\n", "session-421"),
        (b"554 go away\r\n", "session-554"),
        (None, "session-dropped"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "session-bad-answer"),
        (b"220 " + b"x" * 10_000 + b"\r\n", "session-500"),
    ],
)
def test_at_connect_it_is_refused(greeting: bytes | None, code: str) -> None:
    log: list[bytes] = []
    assert outcome(smtp_script({}, greeting=greeting, log=log)) == ("refused", code)
    assert not any(b"MAIL" in line or line == b".\r\n" for line in log)


@pytest.mark.parametrize("verb", ["EHLO", "MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"450 later\r\n", "smtp-450"),
        (b"421 closing\r\n", "smtp-421"),
        (b"550-no\r\n550 never\r\n", "smtp-550"),
        (b"what?\r\n", "bad-answer"),
        (None, "dropped"),
    ],
)
def test_before_the_dot_it_is_refused(verb: str, answer: bytes | None, code: str) -> None:
    log: list[bytes] = []
    answers = {verb: answer, "HELO": answer} if verb == "EHLO" else {verb: answer}
    if verb in ("EHLO", "MAIL"):  # no recipient was named yet, so it is not about this one
        code = f"session-{code.removeprefix('smtp-')}"
    assert outcome(smtp_script(answers, log=log)) == ("refused", code)
    assert b".\r\n" not in log


def test_an_unexpected_success_before_the_dot_is_refused_too() -> None:
    log: list[bytes] = []
    assert outcome(smtp_script({"DATA": b"250 thanks, that will do\r\n"}, log=log)) == ("refused", "smtp-250")
    assert b".\r\n" not in log


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"250 queued\r\n", ("sent", "smtp-250")),
        (b"250-one\r\n250 two\r\n", ("sent", "smtp-250")),
        (b"451 try later\r\n", ("refused", "smtp-451")),
        (b"421 closing\r\n", ("refused", "smtp-421")),
        (b"552 too big\r\n", ("refused", "smtp-552")),
        (b"554 spam\r\n", ("refused", "smtp-554")),
        (None, ("unknown", "no-answer")),
        (b"what?\r\n", ("unknown", "bad-answer")),
        (b"354 more\r\n", ("unknown", "bad-answer")),
        (b"999 odd\r\n", ("unknown", "bad-answer")),
    ],
)
def test_the_answer_to_the_dot_decides(answer: bytes | None, expected: tuple[str, str]) -> None:
    log: list[bytes] = []
    assert outcome(smtp_script({".": answer}, log=log)) == expected
    assert log.count(b".\r\n") == 1


def test_a_reset_after_the_dot_is_unknown() -> None:
    def talk(server: RawServer, sock: socket.socket) -> None:
        smtp_script({".": None})(server, sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    assert outcome(talk) == ("unknown", "no-answer")


def test_silence_after_the_dot_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp_delivery, "ANSWER_SECONDS", 0.3)
    assert outcome(smtp_script({".": b""})) == ("unknown", "no-answer")


def test_what_happens_after_the_answer_changes_nothing() -> None:
    for farewell in (None, b"421 bye\r\n", b"what?\r\n", b"550 no\r\n"):
        assert outcome(smtp_script({"QUIT": farewell})) == ("sent", "smtp-250")
        assert outcome(smtp_script({".": b"552 no\r\n", "QUIT": farewell})) == ("refused", "smtp-552")


def test_a_server_that_hangs_up_in_the_middle_of_the_text_never_saw_the_dot() -> None:
    def talk(server: RawServer, sock: socket.socket) -> None:
        sock.sendall(b"220 here\r\n")
        with sock.makefile("rb") as lines:
            for line in lines:
                sock.sendall(b"354 go\r\n" if line == b"DATA\r\n" else b"250 ok\r\n")
                if line == b"DATA\r\n":
                    lines.readline()
                    return

    assert outcome(talk, text="x" * 70 + "\n" + ("y" * 70 + "\n") * 200_000) == ("refused", "dropped")


def test_a_reply_stretched_for_ever_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.monotonic()
    with raw_server(smtp_script({}, greeting=Endless(b"220-patience\r\n"))) as server:
        assert send(server.port, timeout=1) == ("refused", "timeout")
    monkeypatch.setattr(smtp_delivery, "ANSWER_SECONDS", 0.3)
    assert outcome(smtp_script({".": Endless(b"250-patience\r\n")})) == ("unknown", "no-answer")
    assert time.monotonic() - start < 10


def test_a_silent_server_is_left_before_anything_is_sent() -> None:
    with raw_server(silent) as server:
        assert send(server.port, timeout=1) == ("refused", "timeout")


def test_nobody_listening() -> None:
    with raw_server(silent) as server:
        port = server.port
    assert send(port) == ("refused", "connection-refused")


def test_a_dot_in_the_text_does_not_end_it() -> None:
    log: list[bytes] = []
    assert outcome(smtp_script({}, log=log), text="one\n.\nMAIL FROM:<x@y.example>\n.two\n") == ("sent", "smtp-250")
    assert log.count(b".\r\n") == 1
    assert log.index(b"..\r\n") < log.index(b"MAIL FROM:<x@y.example>\r\n") < log.index(b"..two\r\n") < log.index(b".\r\n")
