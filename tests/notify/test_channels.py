"""Configuration is read strictly: a kind or option that does not exist is refused, not passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from publisher.domain.instance import ChannelSpec
from publisher.errors import InputProblem
from publisher.notify.channels import make_channel
from publisher.notify.file_channel import FileChannel
from publisher.notify.smtp_channel import SmtpChannel

SMTP = {"host": "mail.site.example", "from": "Site News <news@site.example>"}


def make(tmp_path: Path, kind: str, options: dict[str, Any]) -> Any:
    return make_channel(ChannelSpec(name="mail", kind=kind, options=options), tmp_path, {})


def test_kinds(tmp_path: Path) -> None:
    assert isinstance(make(tmp_path, "file", {"path": "out.jsonl"}), FileChannel)
    assert isinstance(make(tmp_path, "smtp", SMTP), SmtpChannel)
    assert make(tmp_path, "file", {"path": "out.jsonl"}).idempotent
    assert not make(tmp_path, "smtp", SMTP).idempotent
    assert isinstance(make(tmp_path, "smtp", {**SMTP, "port": "2525", "timeout": 5, "security": "tls"}), SmtpChannel)


@pytest.mark.parametrize("kind", ["", "SMTP", "os.system", "publisher.notify.file_channel.FileChannel"])
def test_a_kind_that_does_not_exist(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputProblem) as caught:
        make(tmp_path, kind, {})
    assert caught.value.code == "channel-kind"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("file", {}),
        ("file", {"path": ""}),
        ("file", {"path": 7}),
        ("file", {"path": "a\nb"}),
        ("file", {"path": "out", "paht": "x"}),
        ("smtp", {}),
        ("smtp", {"host": "mail.site.example"}),
        ("smtp", {**SMTP, "passwrod_secret": "X"}),
        ("smtp", {**SMTP, "host": "mail.site.example\r\n"}),
        ("smtp", {**SMTP, "host": "a b"}),
        ("smtp", {**SMTP, "security": "ssl"}),
        ("smtp", {**SMTP, "security": "none"}),
        ("smtp", {**SMTP, "security": "none", "host": "localhost.site.example"}),
        ("smtp", {**SMTP, "security": "none", "host": "127.0.0.1.site.example"}),
        ("smtp", {**SMTP, "port": 0}),
        ("smtp", {**SMTP, "port": 70000}),
        ("smtp", {**SMTP, "port": True}),
        ("smtp", {**SMTP, "port": "٢٥"}),
        ("smtp", {**SMTP, "timeout": 0}),
        ("smtp", {**SMTP, "from": "news"}),
        ("smtp", {**SMTP, "from": "News <news@site.example> <x@y.example>"}),
        ("smtp", {**SMTP, "from": "News\r\nBcc: x@y.example <news@site.example>"}),
        ("smtp", {**SMTP, "username_secret": "MAIL_USER"}),
        ("smtp", {**SMTP, "username_secret": "MAIL_USER", "password_secret": "hunter2"}),
        ("smtp", {**SMTP, "list_secrets": "READERS"}),
        ("smtp", {**SMTP, "list_secrets": {"readers": "ann@site.example"}}),
        ("smtp", {**SMTP, "unsubscribe": "http://site.example/"}),
        ("smtp", {**SMTP, "unsubscribe": "https://site.example/\r\nBcc: x"}),
        ("smtp", {**SMTP, "unsubscribe": "https://site.example/>,<mailto:x"}),
    ],
)
def test_a_wrong_option_is_refused_by_name_and_never_quoted(tmp_path: Path, kind: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputProblem) as caught:
        make(tmp_path, kind, options)
    refusal = caught.value
    assert (refusal.code, refusal.where) == ("channel-option", "publisher.yaml")
    assert "channel mail" in refusal.says and refusal.next
    assert "hunter2" not in str(refusal) and "ann@" not in str(refusal) and "Bcc" not in str(refusal)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_plain_text_is_for_this_machine(tmp_path: Path, host: str) -> None:
    assert make(tmp_path, "smtp", {**SMTP, "security": "none", "host": host})
