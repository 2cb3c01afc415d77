"""Mail against a real server: what arrives, and that nothing goes out in the open."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from publisher.domain.instance import ChannelSpec
from publisher.errors import InputProblem, NeedsPerson
from publisher.notify.channels import make_channel
from publisher.notify.outcomes import Outcome
from publisher.ports import Channel, Message
from tests.support.mail import mail_server

NEEDS_OPENSSL = pytest.mark.skipif(shutil.which("openssl") is None, reason="the certificate is made with openssl")
SENT = Outcome(outcome="sent", code="smtp-250")


def channel(port: int, secrets: dict[str, str] | None = None, **options: Any) -> Channel:
    given = {
        "host": "localhost", "port": port, "security": "none", "from": "Handbuch für alle <news@site.example>", "timeout": 10,
        **options,
    }  # fmt: skip
    return make_channel(ChannelSpec(name="mail", kind="smtp", options=given), Path("/nonexistent"), secrets or {})


def message(**other: str) -> Message:
    given = {"id": "handbook/daily/2026/2026-12-01/mail/p-1", "recipient": "ann@b.example", "subject": "Handbook: Fences",
             "text": "Fences\nhttps://site.example/fences/\n"}  # fmt: skip
    return Message(**{**given, **other})


def text_of(mail: EmailMessage) -> str:
    return str(mail.get_content()).replace("\r\n", "\n")


def test_what_arrives() -> None:
    with mail_server() as box:
        assert channel(box.port, unsubscribe="https://site.example/unsubscribe?from=mail").send(message()) == SENT
        ((recipient, mail),) = box.mails
    assert recipient == mail["To"] == "ann@b.example"
    assert mail["From"] == "Handbuch für alle <news@site.example>"
    assert mail["Subject"] == "Handbook: Fences"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["List-Unsubscribe"] == "<https://site.example/unsubscribe?from=mail>"
    assert mail["Date"].datetime is not None
    assert text_of(mail) == "Fences\nhttps://site.example/fences/\n"
    assert mail.get_content_type() == "text/plain"
    assert box.greetings == ["site.example"]


def test_a_repetition_can_be_recognised_and_another_message_told_apart() -> None:
    with mail_server() as box:
        for one in (message(), message(), message(id="another")):
            channel(box.port).send(one)
        first, again, other = [mail["Message-ID"] for _, mail in box.mails]
    assert first == again != other
    assert first.endswith("@site.example>") and first.startswith("<")
    assert "handbook" not in first


def test_any_letters_and_any_length_arrive_whole() -> None:
    subject = "Zäune, 栅栏 и заборы: " + "so long that it is folded " * 8 + "end"
    text = ".\n..\n.hidden\nZäune 栅栏\n" + "x" * 5000 + "\nFrom here\n\n.\n"
    domain = "a-quite-long-label-indeed." * 6 + "example"
    with mail_server() as box:
        sent = channel(box.port, unsubscribe="https://site.example/" + "u" * 300, **{"from": f"News <news@{domain}>"}).send(
            message(subject=subject, text=text, recipient=f"{'a' * 60}@{domain}")
        )
        assert sent == SENT
        ((_, mail),) = box.mails
        (raw,) = box.raw
    assert mail["Subject"] == subject
    assert text_of(mail) == text
    assert mail["To"] == f"{'a' * 60}@{domain}"
    assert mail["From"].addresses[0].addr_spec == f"news@{domain}"
    assert mail["List-Unsubscribe"] == "<https://site.example/" + "u" * 300 + ">"
    assert mail["Message-ID"].endswith(f"@{domain}>")
    assert not mail.defects
    assert raw.isascii() and max(map(len, raw.splitlines())) < 998
    assert raw.count(b"\n") == raw.count(b"\r\n")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"subject": "News\r\nBcc: x@y.example"}, "bad-text"),
        ({"subject": "News\nX: y"}, "bad-text"),
        ({"subject": "News\x00"}, "bad-text"),
        ({"subject": "News\ud800"}, "bad-text"),
        ({"text": "News\ud800"}, "bad-text"),
        ({"recipient": "a@b.example\r\nBcc: x@y.example"}, "bad-address"),
        ({"recipient": "a@b.example> SIZE=1"}, "bad-address"),
        ({"recipient": "everyone"}, "bad-address"),
    ],
)
def test_nothing_gets_into_the_headers(changes: dict[str, str], code: str) -> None:
    with mail_server() as box:
        assert channel(box.port).send(message(**changes)) == Outcome(outcome="refused", code=code)
        assert channel(box.port).send(message()) == SENT
    assert len(box.mails) == 1


def test_an_id_with_line_breaks_stays_out_of_the_headers() -> None:
    with mail_server() as box:
        assert channel(box.port).send(message(id="x>\r\nBcc: y@z.example")) == SENT
        assert box.mails[0][1]["Bcc"] is None


def test_a_mailbox_that_does_not_exist_is_refused_by_code_only() -> None:
    with mail_server() as box:
        assert channel(box.port).send(message(recipient="nobody@b.example")) == Outcome(outcome="refused", code="smtp-550")
    assert box.mails == []


# --- TLS and login ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context


LOGIN = {"username_secret": "MAIL_USER", "password_secret": "MAIL_PASSWORD"}
SECRETS = {"MAIL_USER": "news", "MAIL_PASSWORD": "correct horse"}


@NEEDS_OPENSSL
@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_mail_over_tls_with_a_login(tls: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch, security: str) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tls[0]))
    with mail_server(tls[1], implicit=security == "tls", users={"news": "correct horse"}) as box:
        assert channel(box.port, SECRETS, security=security, **LOGIN).send(message()) == SENT
        wrong = channel(box.port, {**SECRETS, "MAIL_PASSWORD": "wrong"}, security=security, **LOGIN)
        assert wrong.send(message()) == Outcome(outcome="refused", code="session-535")
        without = channel(box.port, security=security)
        assert without.send(message()) == Outcome(outcome="refused", code="session-530")
    assert len(box.mails) == 1


@NEEDS_OPENSSL
@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_an_untrusted_mail_server_hears_neither_mail_nor_password(tls: tuple[Path, ssl.SSLContext], security: str) -> None:
    with mail_server(tls[1], implicit=security == "tls", users={"news": "correct horse"}) as box:
        sent = channel(box.port, SECRETS, security=security, **LOGIN).send(message())
    assert sent == Outcome(outcome="refused", code="tls")
    assert (box.mails, box.logins) == ([], [])


def test_a_server_without_starttls_hears_neither_mail_nor_password() -> None:
    with mail_server(users={"news": "correct horse"}) as box:
        sent = channel(box.port, SECRETS, security="starttls", **LOGIN).send(message())
    assert sent == Outcome(outcome="refused", code="unsupported")
    assert (box.mails, box.logins) == ([], [])


def test_a_missing_password_stops_before_anything(tmp_path: Path) -> None:
    with mail_server() as box:
        mail = channel(box.port, {"MAIL_USER": "SECRET"}, list_secrets={"readers": "READERS"}, **LOGIN)
        for act in (lambda: mail.recipients("readers"), lambda: mail.send(message())):
            with pytest.raises(NeedsPerson) as caught:
                act()
            assert caught.value.code == "secret-missing"
            assert "MAIL_PASSWORD" in caught.value.says and "SECRET" not in str(caught.value)
    assert box.greetings == []


@pytest.mark.parametrize(
    "name",
    [
        "PUBLISHER_TOKEN",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "PUBLISHER_DEPLOY_KEY",
        "PUBLISHER_STATE_KEY",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    ],
)
def test_what_opens_the_repository_is_sent_to_no_mail_server(name: str) -> None:
    with mail_server() as box:
        with pytest.raises(InputProblem) as refused:
            channel(box.port, {name: "t0ken", "MAIL_USER": "news"}, username_secret="MAIL_USER", password_secret=name).send(
                message()
            )
        assert refused.value.code == "channel-option" and "t0ken" not in str(refused.value)
    assert box.greetings == []
