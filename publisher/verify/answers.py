"""One question to one server over a connected socket, and what its answer is worth.

A doubtful answer carries a problem code, so that it is judged "unknown" and never "absent": a body that is shorter than
announced, headers that break off, a coding that was not asked for.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from urllib.parse import quote, urlsplit

from publisher.domain.evidence import Seen
from publisher.domain.fingerprint import digest
from publisher.verify.addresses import Origin

CHUNK = 64 * 1024
BUST_NAME = "publisher-check"
LENGTH = re.compile(r"[0-9]{1,15}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a site: fresh from its origin (``bust`` not "") or as anybody sees it, and how much is read."""

    origin: Origin
    bust: str
    largest_body: int

    def ask(self, url: str, sock: socket.socket, *, until: float) -> Seen:
        """The answer for ``url`` over ``sock``, whose reads end at their own time-out; ``until`` is monotonic time."""
        connection = http.client.HTTPConnection(self.origin.host, self.origin.port)
        with closing(connection):
            connection.sock = sock
            try:
                self._send(url, connection)
                with connection.getresponse() as response:
                    head = _head(url, response)
                    return head if head.problem else self._with_body(head, response, until)
            except http.client.RemoteDisconnected:
                return Seen(url=url, status=0, problem="dropped")
            except (http.client.HTTPException, ValueError):
                return Seen(url=url, status=0, problem="bad-answer")
            except OSError as error:
                return Seen(url=url, status=0, problem=code_of(error))

    def _send(self, url: str, connection: http.client.HTTPConnection) -> None:
        connection.putrequest("GET", self.path(url), skip_host=True, skip_accept_encoding=True)
        for name, value in self._headers().items():
            connection.putheader(name, value)
        connection.endheaders()

    def path(self, url: str) -> str:
        parts = urlsplit(url)
        query = [parts.query] if parts.query else []
        if self.bust:
            query.append(f"{BUST_NAME}={quote(self.bust, safe='')}")
        return (parts.path or "/") + ("?" + "&".join(query) if query else "")

    def _headers(self) -> Mapping[str, str]:
        headers = {
            "Host": self.origin.authority,
            "User-Agent": "publisher-probe/1",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        if self.bust:
            headers |= {"Cache-Control": "no-cache", "Pragma": "no-cache"}
        return headers

    def _with_body(self, head: Seen, response: http.client.HTTPResponse, until: float) -> Seen:
        announced = response.length
        if announced is not None and announced > self.largest_body:
            return replace(head, problem="too-large")
        body = bytearray()
        problem = ""
        try:
            while not problem and (chunk := response.read1(CHUNK)):
                body += chunk
                if len(body) > self.largest_body:
                    problem = "too-large"
                elif time.monotonic() >= until:
                    problem = "timeout"
        except http.client.IncompleteRead:
            problem = "short-body"
        except OSError as error:
            code = code_of(error)
            problem = "short-body" if code == "dropped" else code
        if not problem and announced is not None and len(body) < announced:
            problem = "short-body"
        if not problem and announced is None and not response.chunked and not body:
            # Headers that break off look like an answer that ends with the connection, and leave no body.
            problem = "dropped"
        if problem:
            return replace(head, problem=problem, size=len(body))
        return replace(head, digest=digest(bytes(body)), size=len(body), body=bytes(body))


def _head(url: str, response: http.client.HTTPResponse) -> Seen:
    """What an answer's head alone tells. A stored answer's Date says when it was stored, so with an Age it is left out."""
    headers = response.headers
    stored = (headers.get("Age") or "0").strip() != "0"
    if not 200 <= response.status <= 599:
        problem = "bad-answer"
    elif 300 <= response.status <= 399:
        problem = "redirect"
    else:
        problem = _framing_problem(headers)
    return Seen(url=url, status=response.status, problem=problem, date="" if stored else headers.get("Date") or "")


def _framing_problem(headers: http.client.HTTPMessage) -> str:
    lengths = {value.strip() for value in headers.get_all("Content-Length", [])}
    transfer = ",".join(headers.get_all("Transfer-Encoding", [])).strip().lower()
    coding = ",".join(headers.get_all("Content-Encoding", [])).strip().lower()
    if len(lengths) > 1 or not all(LENGTH.fullmatch(length) for length in lengths):
        return "bad-answer"
    if lengths and transfer:
        return "bad-answer"  # two lengths: readers differ in which one holds (RFC 9112, 6.3)
    if transfer not in ("", "chunked") or coding not in ("", "identity"):
        return "encoded"
    return ""


def code_of(error: OSError) -> str:
    """The problem code of a failed connection or read."""
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ssl.SSLEOFError | ConnectionResetError | BrokenPipeError | ConnectionAbortedError):
        return "dropped"
    if isinstance(error, ssl.SSLError):
        return "tls"
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    return "unreachable"
