"""Mail servers for tests: a real one (aiosmtpd), and one that misbehaves at a chosen point of the conversation."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.support.raw_server import RawServer, Talk


@dataclass
class Mailbox:
    """A running server and what it accepted: (recipient, message)."""

    port: int = 0
    mails: list[tuple[str, EmailMessage]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    greetings: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    users: Mapping[str, str] | None = None

    async def handle_MAIL(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:
        if self.users is not None and not session.authenticated:
            return "530 5.7.0 authentication required"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, lines: list[str]
    ) -> list[str]:
        self.greetings.append(hostname)
        session.host_name = hostname
        return lines

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:
        if address.startswith("nobody@"):
            return "550 5.1.1 no such mailbox, and a text that must not be passed on"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        content = cast(bytes, envelope.original_content)
        self.raw.append(content)
        for recipient in envelope.rcpt_tos:
            self.mails.append((recipient, cast(EmailMessage, message_from_bytes(content, policy=default))))
        return "250 accepted"


@contextmanager
def mail_server(
    tls: ssl.SSLContext | None = None, *, implicit: bool = False, users: Mapping[str, str] | None = None
) -> Iterator[Mailbox]:
    """An SMTP server on a free port of 127.0.0.1. ``tls`` is offered by STARTTLS, or spoken at once when ``implicit``."""
    box = Mailbox(users=users)

    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        login = cast(LoginPassword, data)
        box.logins.append(login.login.decode())
        success = (users or {}).get(login.login.decode()) == login.password.decode()
        return AuthResult(success=success, handled=False)  # "handled" would mean that the answer was already sent

    def protocol() -> SMTP:
        options: dict[str, Any] = {"hostname": "mail.test", "tls_context": None if implicit else tls}
        if users is not None:
            # Where TLS is spoken at once, aiosmtpd does not count it as TLS; that a login is needed, handle_MAIL says.
            options |= {"authenticator": check, "auth_require_tls": tls is not None and not implicit}
        return SMTP(box, loop=asyncio.get_running_loop(), **options)

    ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        server = await loop.create_server(protocol, "127.0.0.1", 0, ssl=tls if implicit else None)
        box.port = server.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()
        server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for _ in range(10):  # transports close their sockets in callbacks of callbacks
            await asyncio.sleep(0)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield box
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


class Endless(bytes):
    """An answer that is repeated until the test is over."""


def smtp_script(
    answers: Mapping[str, bytes | None], greeting: bytes | None = b"220 here\r\n", log: list[bytes] | None = None
) -> Talk:
    """A conversation for ``raw_server``: the answer by verb (``EHLO``, ``MAIL``, ``RCPT``, ``DATA``, ``.``).

    None hangs up instead of answering; b"" stays silent until the test is over. What is not listed goes well.
    """
    well = {"EHLO": b"250 here\r\n", "MAIL": b"250 ok\r\n", "RCPT": b"250 ok\r\n", "DATA": b"354 go\r\n", ".": b"250 ok\r\n",
            "QUIT": b"221 bye\r\n"}  # fmt: skip
    script = {**well, **answers}

    def say(server: RawServer, sock: socket.socket, answer: bytes | None) -> bool:
        if answer is None:
            return False
        if answer == b"":
            server.over.wait()
            return False
        sock.sendall(answer)
        while isinstance(answer, Endless) and not server.over.wait(0.05):
            sock.sendall(answer)
        return True

    def talk(server: RawServer, sock: socket.socket) -> None:
        if not say(server, sock, greeting):
            return
        with sock.makefile("rb") as lines:
            in_data = False
            for line in lines:
                if log is not None:
                    log.append(line)
                verb = "." if line == b".\r\n" else line.split(b" ")[0].strip().decode("ascii", "replace").upper()
                if in_data and verb != ".":
                    continue
                in_data = False
                if not say(server, sock, script.get(verb, b"502 what\r\n")):
                    return
                in_data = verb == "DATA" and (script["DATA"] or b"").startswith(b"354")

    return talk
