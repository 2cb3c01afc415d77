"""A channel that sends mail through an SMTP server.

A message's Message-ID is derived from its id, so that a repetition after an unknown outcome can be recognised by readers'
programs and by a person; mail offers no more than that, and nothing here claims "exactly once".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from publisher.domain.instance import ChannelSpec
from publisher.domain.wording import one_line
from publisher.notify.options import Options
from publisher.notify.outcomes import Outcome, refused
from publisher.notify.recipients import LIST_OPTIONS, Lists, is_address, pseudonym_of
from publisher.ports import Message

PORTS = {"tls": 465, "starttls": 587, "none": 25}
LOOPBACK = re.compile(r"localhost|127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|::1", re.ASCII)
HOST = re.compile(r"[A-Za-z0-9.:-]{1,253}", re.ASCII)
UNSUBSCRIBE = re.compile(r"(?:mailto:|https://)[!-;=?-~]{1,500}", re.ASCII)
HALF_PAIR = re.compile("[\ud800-\udfff]")
OPTIONS = LIST_OPTIONS | {
    "host", "port", "security", "from", "username_secret", "password_secret", "unsubscribe", "timeout",
}  # fmt: skip


class SmtpChannel:
    """Options: ``host``, ``port``, ``security`` (``tls``, ``starttls``, ``none`` on loopback only), ``from``, the list's
    options, ``username_secret``, ``password_secret``, ``unsubscribe`` (a mailto: or https: address), ``timeout`` (seconds).
    """

    idempotent = False

    def __init__(self, spec: ChannelSpec, base: Path, secrets: Mapping[str, str]) -> None:
        self._options = options = Options(spec=spec, base=base, secrets=secrets)
        options.only(OPTIONS)
        self._host = options.text("host")
        self._security = options.text("security", "starttls")
        if not HOST.fullmatch(self._host):
            raise options.problem("host", "is a host name")
        if self._security not in PORTS:
            raise options.problem("security", "is tls, starttls or none")
        if self._security == "none" and not LOOPBACK.fullmatch(self._host):
            raise options.problem(
                "security", "may be none on this machine only: mail and password would be readable on the way"
            )
        self._port = options.number("port", PORTS[self._security], low=1, high=65535)
        self._seconds = options.number("timeout", 30, low=1, high=300)
        self._from_name, self._from = self._parse_from(options.text("from"))
        self._domain = self._from.rpartition("@")[2]
        self._unsubscribe = options.text("unsubscribe", "")
        if self._unsubscribe and not UNSUBSCRIBE.fullmatch(self._unsubscribe):
            raise options.problem("unsubscribe", "is a mailto: or https: address")
        self._username_secret = options.secret_name("username_secret")
        self._password_secret = options.secret_name("password_secret")
        if bool(self._username_secret) != bool(self._password_secret):
            raise options.problem("username_secret and password_secret", "go together")
        self._lists = Lists.of(options)

    def recipients(self, list_name: str) -> tuple[str, ...]:
        """The list, once every secret that sending needs is there: a missing one must stop before an intent is recorded."""
        self._credentials()
        return self._lists.addresses(list_name)

    def pseudonym(self, recipient: str) -> str:
        return pseudonym_of(recipient, self._options)

    def send(self, message: Message) -> Outcome:
        """Codes: ``smtp-<number>`` as the server answered (``session-<number>`` before any recipient was named), else a word of
        ``smtp_delivery``, ``bad-address``, ``bad-text``.

        ``NeedsPerson`` (``secret-missing``) before anything is sent.
        """
        from publisher.notify.smtp_delivery import Server, deliver

        if not is_address(message.recipient):
            return refused("bad-address")
        if message.subject != one_line(message.subject) or HALF_PAIR.search(message.text):
            return refused("bad-text")
        username, password = self._credentials()
        server = Server(
            host=self._host, port=self._port, security=self._security, seconds=self._seconds,
            greeting=self._domain, username=username, password=password,
        )  # fmt: skip
        return deliver(server, self._from, message.recipient, self._mail(message))

    def _credentials(self) -> tuple[str, str]:
        if not self._username_secret:
            return "", ""
        return self._options.secret(self._username_secret), self._options.secret(self._password_secret)

    def _mail(self, message: Message) -> bytes:
        from email.headerregistry import Address
        from email.message import EmailMessage
        from email.policy import SMTP
        from email.utils import formatdate

        # cte_type 7bit: a server without 8BITMIME must not be sent raw bytes.
        mail = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
        mail["From"] = Address(self._from_name, addr_spec=self._from)
        mail["Subject"] = message.subject
        mail["Date"] = formatdate(usegmt=True)
        mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office replies to this
        mail.set_content(message.text)
        return self._unfolded(message) + mail.as_bytes()

    def _unfolded(self, message: Message) -> bytes:
        """The headers whose long values the email package would break up into encoded words. All are checked ASCII."""
        lines = [
            f"Message-ID: <{hashlib.sha256(message.id.encode()).hexdigest()[:40]}@{self._domain}>",
            f"To: {message.recipient}",
        ]
        if self._unsubscribe:
            lines.append(f"List-Unsubscribe: <{self._unsubscribe}>")
        return "".join(f"{line}\r\n" for line in lines).encode("ascii")

    def _parse_from(self, text: str) -> tuple[str, str]:
        found = re.fullmatch(r"(?:(?P<name>[^<>\"]{1,100}?)\s*<(?P<inner>[^<>]+)>|(?P<bare>[^<>\s]+))", text)
        address = (found["inner"] or found["bare"]) if found else ""
        if found is None or not is_address(address):
            raise self._options.problem("from", "is an address, such as news@site.example or Site <news@site.example>")
        return (found["name"] or "").strip(), address
