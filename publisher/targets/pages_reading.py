"""Reads a public site over HTTP, as the deploying side sees it: digests of files, past every cache.

Rules:
* plain GETs of the site's own address over verified TLS (plain http on this machine only); no redirect is followed;
* each question is unique, so that no cache has its answer: GitHub Pages keeps pages, and the absence of pages, for ten minutes;
* a file is there (200), or is not there (404, 410), or the site cannot be read now: nothing else is taken for an answer;
* bodies are digested as they come, within a deadline for all of them; only small ones are kept.
"""

from __future__ import annotations

import hashlib
import http.client
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import local
from urllib.parse import quote, urlsplit

from publisher.errors import ComeBackLater, InputProblem

AT_ONCE = 8
DEADLINE = 180.0
"""Seconds for all files of one look."""
WAIT = 20.0
"""Seconds for each wait for bytes."""
TRIES = 3
LARGEST_FILE = 100 * 1024 * 1024
CHUNK = 1 << 16
BUST = "publisher-look"
ERROR_PAGE = "404.html"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class _NoAnswer(Exception):
    """Neither the file nor its absence: asked again, and then given up."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """One file as it is public: its digest, and its bytes where they were wanted."""

    digest: str
    body: bytes = b""


class PublicSite:
    """The site at ``url``, whose path may be below the host's root. ``sleep`` waits between two tries."""

    def __init__(self, url: str, *, site: str, sleep: Callable[[float], None]) -> None:
        at = urlsplit(url)
        if at.scheme != "https" and not (at.scheme == "http" and at.hostname in LOOPBACK):
            raise InputProblem(
                "site-url", "a site's url starts with https:// (http:// only for localhost)", next="edit publisher.yaml",
                where="publisher.yaml",
            )  # fmt: skip
        self._at = at
        self._site = site
        self._sleep = sleep

    def body(self, path: str, *, most: int) -> bytes | None:
        """The bytes of a small file, None where it is not there."""
        found = self._all([path], keep=most)[path]
        return found.body if found else None

    def digests(self, paths: Iterable[str]) -> Mapping[str, str]:
        """The digest of each file that is there."""
        return {path: found.digest for path, found in self._all(list(paths), keep=0).items() if found}

    def _all(self, paths: list[str], *, keep: int) -> Mapping[str, Found | None]:
        connections = _Connections(self._at.scheme, self._at.hostname or "", self._at.port)
        until = time.monotonic() + DEADLINE
        pool = ThreadPoolExecutor(min(AT_ONCE, len(paths)) or 1, thread_name_prefix="publisher-look")
        try:
            answers = pool.map(lambda path: self._read(connections, path, keep, until), paths)
            return dict(zip(paths, answers, strict=True))
        except (_NoAnswer, OSError):
            raise ComeBackLater(
                "target-unreachable", f"the public site of {self._site} cannot be read now", next="publisher status"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)
            connections.close()

    def _read(self, connections: _Connections, path: str, keep: int, until: float) -> Found | None:
        for attempt in range(TRIES):
            if attempt:
                self._sleep(attempt)
            if time.monotonic() > until:
                break
            try:
                return self._ask(connections, path, keep, until)
            except (_NoAnswer, OSError, http.client.HTTPException, ValueError):
                connections.drop()
        raise _NoAnswer

    def _ask(self, connections: _Connections, path: str, keep: int, until: float) -> Found | None:
        connection = connections.mine()
        connection.request("GET", self._target_of(path), headers=_HEADERS)
        answer = connection.getresponse()
        encoded = answer.headers.get("Content-Encoding", "identity").strip().lower() != "identity"
        wanted = answer.status == 200 or (answer.status in (404, 410) and path == ERROR_PAGE)
        hashed, body, size = hashlib.sha256(), bytearray(), 0
        while piece := answer.read(CHUNK):
            hashed.update(piece)
            size += len(piece)
            if size <= keep:
                body += piece
            if time.monotonic() > until or size > LARGEST_FILE:
                raise _NoAnswer
        if answer.length:  # it ended before its announced length
            raise _NoAnswer
        if wanted and not encoded:
            return Found(digest=f"sha256:{hashed.hexdigest()}", body=bytes(body) if size <= keep else b"")
        if answer.status in (404, 410):
            return None
        raise _NoAnswer

    def _target_of(self, path: str) -> str:
        return f"{self._at.path.rstrip('/')}/{quote(path, safe='/')}?{BUST}={secrets.token_hex(8)}"


_HEADERS = {
    "User-Agent": "publisher-target/1", "Accept": "*/*", "Accept-Encoding": "identity", "Cache-Control": "no-cache",
    "Pragma": "no-cache",
}  # fmt: skip


class _Connections:
    """One connection for each thread, kept open from file to file."""

    def __init__(self, scheme: str, host: str, port: int | None) -> None:
        self._kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
        self._host, self._port = host, port
        self._mine = local()
        self._open: list[http.client.HTTPConnection] = []

    def mine(self) -> http.client.HTTPConnection:
        if getattr(self._mine, "connection", None) is None:
            self._mine.connection = self._kind(self._host, self._port, timeout=WAIT)
            self._open.append(self._mine.connection)
        connection: http.client.HTTPConnection = self._mine.connection
        return connection

    def drop(self) -> None:
        """Ends this thread's connection: what was left on it would be taken for the next answer."""
        if getattr(self._mine, "connection", None) is not None:
            with suppress(OSError):
                self._mine.connection.close()
            self._mine.connection = None

    def close(self) -> None:
        for connection in self._open:
            with suppress(OSError):
                connection.close()
