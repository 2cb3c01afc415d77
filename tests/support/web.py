"""A small static web server over a directory, with switches for what the public web does to a site.

``serving(root)`` follows a symbolic link at ``root`` anew for each request, as the ``directory`` target's ``current`` needs.
The switches are plain attributes, safe to set while it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TYPES = {
    ".html": "text/html; charset=utf-8", ".xml": "application/xml", ".json": "application/json", ".css": "text/css",
    ".txt": "text/plain; charset=utf-8", ".png": "image/png", ".jpg": "image/jpeg", ".svg": "image/svg+xml",
}  # fmt: skip
BUST_NAME = "publisher-check"


@dataclass(frozen=True, kw_only=True)
class Request:
    """One logged request; header names are lower-case."""

    path: str
    query: str
    headers: Mapping[str, str]

    @property
    def busted(self) -> bool:
        return BUST_NAME in parse_qs(self.query)


@dataclass
class StaticSite:
    """A running server.

    ``missing``: paths answered 404. ``foreign``: bytes answered for every path, as another project on the same domain would.
    ``date``: what the Date header says (a callable), or None for no header. ``redirects``: path to location.
    ``statuses``: path to a status that is answered with an empty page.
    """

    root: Path
    url: str = ""
    log: list[Request] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    foreign: bytes | None = None
    redirects: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    date: Callable[[], datetime] | None = lambda: datetime.now(UTC)
    _stored: dict[str, bytes] | None = None
    _busted_too: bool = False

    def cache(self, *, busted_too: bool = False) -> None:
        """From now on a cache stands before the site and keeps the present bytes, whatever is published later.

        It answers plain requests from its store, whatever they say about freshness; with ``busted_too`` the busted ones as
        well, as a cache that drops unknown parameters does.
        """
        root = self.root.resolve()
        found = {file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()}
        self._busted_too = busted_too
        self._stored = found

    def purge(self) -> None:
        """Removes the cache."""
        self._stored = None

    def paths(self) -> list[str]:
        return [request.path for request in self.log]

    def answer(self, request: Request) -> tuple[int, bytes, Mapping[str, str]]:
        self.log.append(request)
        if request.path in self.redirects:
            return 301, b"", {"Location": self.redirects[request.path]}
        if request.path in self.statuses:
            return self.statuses[request.path], b"", {}
        if self.foreign is not None:
            return 200, self.foreign, {"Content-Type": TYPES[".html"]}
        name = unquote(request.path).lstrip("/")
        if name == "" or name.endswith("/"):
            name += "index.html"
        body = None if request.path in self.missing else self._read(name, request)
        if body is None:
            return 404, self._read("404.html", request) or b"not found", {"Content-Type": TYPES[".html"]}
        return 200, body, {"Content-Type": TYPES.get(Path(name).suffix, "application/octet-stream")}

    def _read(self, name: str, request: Request) -> bytes | None:
        stored = self._stored
        if stored is not None and (self._busted_too or not request.busted):
            return stored.get(name)
        try:
            root = self.root.resolve(strict=True)
            file = (root / name).resolve(strict=True)
            return file.read_bytes() if file.is_relative_to(root) else None
        except (OSError, ValueError):
            return None


def _handler(site: StaticSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, body, answer_headers = site.answer(Request(path=parts.path, query=parts.query, headers=headers))
            self.send_response_only(status)
            if site.date is not None:
                self.send_header("Date", format_datetime(site.date().astimezone(UTC), usegmt=True))
            for name, value in answer_headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """The request log is ``site.log``."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is the client's business."""


@contextmanager
def serving(root: Path | StaticSite) -> Iterator[StaticSite]:
    """The site below ``root`` (or a site of another kind) on a free port of 127.0.0.1; ``url`` ends with a slash."""
    site = root if isinstance(root, StaticSite) else StaticSite(root=root)
    server = _Server(("127.0.0.1", 0), _handler(site))
    site.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
