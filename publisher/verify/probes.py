"""Looks at the public site, and shares no code with what did the deploying.

Rules (RELIABILITY.md 2.G and the HTTP rows of 3.5):
* plain GETs of the configured origin only, over verified TLS; no redirect is followed, no cookie kept, no proxy taken from
  the environment; plain ``http`` only where the site itself is on the loopback interface;
* a name is resolved once per look, every address must be public, and the connection goes to an address that was checked;
* one deadline for all URLs of a look. Time-outs on single reads do not bound a server that sends a byte now and then, so at
  the deadline the sockets are shut down from outside;
* a body is never decoded and never longer than the cap; what is reported are codes, never an exception's text.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from publisher.domain.evidence import Seen
from publisher.errors import InputProblem
from publisher.verify.addresses import VISIBLE_ASCII, Origin, Unreachable, checked_addresses, is_loopback_host
from publisher.verify.answers import Question, code_of

LARGEST_BODY = 8 * 1024 * 1024
AT_ONCE = 4
PARTING = 0.2
"""Seconds that are given to the look's threads, all together, to notice that it is over."""


class HttpProbes:
    """``Probes`` over HTTP/1.1 for one site.

    Problems: ``bad-url``, ``foreign-host``, ``no-address``, ``private-address``, ``refused`` (connection), ``unreachable``,
    ``tls``, ``dropped`` (closed before an answer), ``timeout``, ``bad-answer``, ``redirect``, ``encoded``, ``too-large``,
    ``short-body``.
    """

    def __init__(self, *, site_url: str, largest_body: int = LARGEST_BODY) -> None:
        origin = Origin.of(site_url)
        if origin is None or (origin.scheme != "https" and not is_loopback_host(origin.host)):
            raise InputProblem(
                "site-url", "a site's url starts with https:// (http:// only for localhost) and holds no user name",
                next="correct the site's url in publisher.yaml",
            )  # fmt: skip
        self._origin = origin
        self._largest_body = largest_body

    def look(self, urls: Sequence[str], *, seconds: float, bust: str) -> Mapping[str, Seen]:
        """One look at each URL within ``seconds`` for all; what had no complete answer by then is a ``timeout``."""
        wanted = tuple(dict.fromkeys(urls))
        question = Question(origin=self._origin, bust=bust, largest_body=self._largest_body)
        seen = _Look(question, time.monotonic() + seconds).at(wanted)
        return {url: seen.get(url, Seen(url=url, status=0, problem="timeout")) for url in wanted}


class _Problem(Exception):
    """An observation that is not an answer; ``code`` is the whole of it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class _Look:
    """One call of ``look``: the deadline, the open sockets, and what was seen so far."""

    def __init__(self, question: Question, deadline: float) -> None:
        self._question = question
        self._origin = question.origin
        self._deadline = deadline
        self._lock = threading.Lock()
        self._over = False
        self._sockets: set[socket.socket] = set()
        self._seen: dict[str, Seen] = {}
        self._naming = threading.Lock()
        self._addresses: tuple[str, ...] | None = None
        self._tls = ssl.create_default_context() if self._origin.scheme == "https" else None

    def at(self, urls: Sequence[str]) -> Mapping[str, Seen]:
        waiting = deque(urls)
        # Daemon threads of our own, because an executor would wait at exit for a name server that never answers.
        threads = [
            threading.Thread(target=self._work, args=(waiting,), name="publisher-probe", daemon=True)
            for _ in range(min(AT_ONCE, len(urls)))
        ]
        try:
            for thread in threads:
                thread.start()
            _join(threads, self._deadline)
        finally:
            seen = self._cut()
            _join(threads, time.monotonic() + PARTING)
        return seen

    def _cut(self) -> Mapping[str, Seen]:
        """Ends the look: later answers do not count, and whoever still reads is woken."""
        with self._lock:
            self._over = True
            for sock in self._sockets:
                # Not SSLSocket.shutdown: that drops the TLS layer under a reader's feet.
                with suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)
            return dict(self._seen)

    def _work(self, waiting: deque[str]) -> None:
        while True:
            try:
                url = waiting.popleft()
            except IndexError:
                return
            seen = self._see(url)
            with self._lock:
                if self._over:
                    return
                self._seen[url] = seen

    def _see(self, url: str) -> Seen:
        try:
            if not VISIBLE_ASCII.fullmatch(url):
                raise _Problem("bad-url")
            if Origin.of(url) != self._origin:
                raise _Problem("foreign-host")
            sock = self._connect()
            try:
                return self._question.ask(url, sock, until=self._deadline)
            finally:
                self._forget(sock)
        except _Problem as problem:
            return Seen(url=url, status=0, problem=problem.code)

    def _connect(self) -> socket.socket:
        addresses = self._resolved()
        problem = "unreachable"
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            try:
                # Each address has its share of the time, so that one that swallows packets leaves some for the next.
                return self._connect_to(address, self._remaining() / left)
            except OSError as error:
                problem = code_of(error)
        raise _Problem(problem)

    def _resolved(self) -> tuple[str, ...]:
        with self._naming:
            if self._addresses is None:
                try:
                    self._addresses = checked_addresses(self._origin)
                except Unreachable as unreachable:
                    raise _Problem(unreachable.code)
            return self._addresses

    def _connect_to(self, address: str, seconds: float) -> socket.socket:
        sock = socket.create_connection((address, self._origin.port), timeout=seconds)
        try:
            sock.settimeout(self._remaining())
            if self._tls is not None:
                # The handshake comes after registering, so that the deadline can end it too.
                sock = self._tls.wrap_socket(sock, server_hostname=self._origin.host, do_handshake_on_connect=False)
            self._register(sock)
            if isinstance(sock, ssl.SSLSocket):
                sock.do_handshake()
        except BaseException:
            self._forget(sock)
            raise
        return sock

    def _register(self, sock: socket.socket) -> None:
        with self._lock:
            if self._over:
                raise _Problem("timeout")
            self._sockets.add(sock)

    def _forget(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(sock)
        sock.close()

    def _remaining(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise _Problem("timeout")
        return left


def _join(threads: Sequence[threading.Thread], until: float) -> None:
    for thread in threads:
        if thread.ident is not None:  # started
            thread.join(max(0.0, until - time.monotonic()))
