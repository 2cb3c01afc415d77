"""One message to one recipient over SMTP, and exactly what became of it (RFC 5321).

The line that ends the message (a dot alone) is the point of no return. Whatever goes wrong before it means that nothing was
sent; an answer to it decides; silence after it is "unknown", since the server may have accepted and the answer been lost.
smtplib's ``sendmail`` does not tell these apart, so its single commands are used.
"""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass, field

from publisher.notify.outcomes import Outcome, refused, sent, unknown

ANSWER_SECONDS = 120
"""How long the answer to the final dot is awaited. RFC 5321 (4.5.3.2.6) names ten minutes; a run's lease is shorter, and
not waiting longer only means that the outcome is recorded as unknown."""

END = b".\r\n"


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where to deliver. ``security``: ``tls`` from the first byte, ``starttls`` or refuse, ``none`` (loopback only).

    ``seconds`` bounds each reply; ``greeting`` is the name said in EHLO, so that this machine's own name stays out of mails.
    """

    host: str
    port: int
    security: str
    seconds: int
    greeting: str
    username: str = ""
    password: str = field(default="", repr=False)


class _Session(smtplib.SMTP):
    """smtplib bounds each read; this bounds each reply, which a server could otherwise stretch for ever, line by line."""

    def getreply(self) -> tuple[int, bytes]:
        sock = self.sock
        if sock is None:
            raise smtplib.SMTPServerDisconnected
        over = threading.Event()
        watchdog = threading.Timer(sock.gettimeout() or ANSWER_SECONDS, _shut, [sock, over])
        watchdog.daemon = True
        watchdog.start()
        try:
            return super().getreply()
        except smtplib.SMTPServerDisconnected:
            if over.is_set():
                raise TimeoutError from None
            raise
        finally:
            watchdog.cancel()


class _TlsSession(_Session, smtplib.SMTP_SSL):
    pass


def _shut(sock: socket.socket, over: threading.Event) -> None:
    over.set()
    # Not SSLSocket.shutdown: that drops the TLS layer under a reader's feet.
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _Declined(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def deliver(server: Server, sender: str, recipient: str, content: bytes) -> Outcome:
    """``content`` is the whole message with CRLF line ends, not yet dot-stuffed."""
    smtp: smtplib.SMTP | None = None
    named = False
    try:
        smtp = _connect(server)
        _expect(smtp.mail(sender)[0], 200, 299)
        named = True
        _hand_over(smtp, recipient, content)
        return _end(smtp)
    except _Declined as declined:
        return refused(declined.code if named else _of_session(declined.code))
    except (OSError, ValueError) as error:  # smtplib's own errors are OSErrors
        return refused(_code_of(error) if named else _of_session(_code_of(error)))
    finally:
        if smtp is not None:
            _leave(smtp)


def _connect(server: Server) -> smtplib.SMTP:
    if server.security == "tls":
        smtp: smtplib.SMTP = _TlsSession(
            server.host, server.port, server.greeting, timeout=server.seconds, context=ssl.create_default_context()
        )
    else:
        smtp = _Session(server.host, server.port, server.greeting, timeout=server.seconds)
    try:
        smtp.ehlo_or_helo_if_needed()
        if server.security == "starttls":
            smtp.starttls(context=ssl.create_default_context())
            smtp.ehlo()
        if server.username:
            smtp.login(server.username, server.password)
    except BaseException:
        _leave(smtp)
        raise
    return smtp


def _hand_over(smtp: smtplib.SMTP, recipient: str, content: bytes) -> None:
    """Everything from the recipient's name up to, and without, the final dot."""
    _expect(smtp.rcpt(recipient)[0], 200, 299)
    _expect(smtp.docmd("DATA")[0], 354, 354)
    stuffed = re.sub(rb"(?m)^\.", b"..", content)
    smtp.send(stuffed if stuffed.endswith(b"\r\n") else stuffed + b"\r\n")


def _expect(code: int, low: int, high: int) -> None:
    if not low <= code <= high:
        raise _Declined(f"smtp-{code}" if 200 <= code <= 599 else "bad-answer")


def _end(smtp: smtplib.SMTP) -> Outcome:
    try:
        if smtp.sock is not None:
            smtp.sock.settimeout(ANSWER_SECONDS)
        smtp.send(END)
        code = smtp.getreply()[0]
    except OSError:
        return unknown("no-answer")
    if 200 <= code <= 299:
        return sent(f"smtp-{code}")
    if 400 <= code <= 599:
        return refused(f"smtp-{code}")
    return unknown("bad-answer")


def _leave(smtp: smtplib.SMTP) -> None:
    """Says goodbye where possible; what became of the message is already known, and this cannot change it."""
    with suppress(OSError):
        if smtp.sock is not None:
            smtp.sock.settimeout(2)
            smtp.quit()
    smtp.close()


def _of_session(code: str) -> str:
    """What was refused before any recipient was named was refused to all of them: no login, not this sender, no more today."""
    return f"session-{code.removeprefix('smtp-')}" if code.startswith("smtp-") or code in ("dropped", "bad-answer") else code


def _code_of(error: Exception) -> str:
    match error:
        case smtplib.SMTPResponseException():
            return f"smtp-{error.smtp_code}" if 200 <= error.smtp_code <= 599 else "bad-answer"
        case smtplib.SMTPNotSupportedError():
            return "unsupported"  # no STARTTLS or no AUTH: going on would mean without it
        case smtplib.SMTPServerDisconnected() if isinstance(error.__context__, TimeoutError):
            return "timeout"
        case smtplib.SMTPServerDisconnected() | ConnectionResetError() | BrokenPipeError():
            return "dropped"
        case ssl.SSLError():
            return "tls"
        case TimeoutError():
            return "timeout"
        case ConnectionRefusedError():
            return "connection-refused"
        case socket.gaierror():
            return "no-address"
        case smtplib.SMTPException() | ValueError():
            return "bad-answer"
    return "unreachable"
