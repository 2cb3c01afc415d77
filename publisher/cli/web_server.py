"""A small web server for one machine: it shows a folder of a built site the way that a real server would.

Rules:
* it listens on 127.0.0.1 alone and answers only to local names, so that no web page can reach it by another name;
* only plain files inside the folder are served: no listing, no path or link that leaves it, nothing that begins with a dot
  except ``.well-known``;
* the folder is found anew for each request, so that a switched release shows at once.
"""

from __future__ import annotations

import errno
import mimetypes
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlsplit

from publisher.errors import Refusal, UsageProblem

HOST = "127.0.0.1"
LOCAL_NAMES = frozenset({"127.0.0.1", "localhost"})
NO_FILES = "Nothing is there yet.\n"
LOOKS = 3

# Our own table, so that a page looks the same on every machine: mimetypes reads the system's.
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".xml": "application/xml; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".ico": "image/vnd.microsoft.icon",
    ".woff2": "font/woff2",
    ".mp3": "audio/mpeg",
    ".vtt": "text/vtt; charset=utf-8",
    ".pdf": "application/pdf",
}
FEEDS = {
    "atom.xml": "application/atom+xml; charset=utf-8",
    "feed.xml": "application/rss+xml; charset=utf-8",
    "rss.xml": "application/rss+xml; charset=utf-8",
    "feed.json": "application/feed+json",
}
ENDINGS = {".atom": FEEDS["atom.xml"], ".rss": FEEDS["rss.xml"]}


@dataclass(frozen=True, kw_only=True)
class Place:
    """What is served. ``folder`` gives the built site's folder at this moment, or a refusal to show instead.

    ``prefix`` is the path of the site's URL ("/" mostly); ``say`` hears of each answer.
    """

    folder: Callable[[], Path]
    prefix: str = "/"
    say: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One response: headers besides the length, and the bytes."""

    status: HTTPStatus
    kind: str
    body: bytes
    location: str = ""


def content_type(path: Path, first: bytes = b"") -> str:
    """The type of a file by its name; for a feed by its root element where the name does not tell."""
    name, ending = path.name.lower(), path.suffix.lower()
    if name in FEEDS:
        return _feed_type(first) or FEEDS[name]
    if ending == ".xml":
        return _feed_type(first) or TYPES[ending]
    guess = TYPES.get(ending) or ENDINGS.get(ending) or mimetypes.guess_type(path.name)[0]
    return guess or "application/octet-stream"


def _feed_type(first: bytes) -> str:
    if b"<feed" in first:
        return FEEDS["atom.xml"]
    return FEEDS["rss.xml"] if b"<rss" in first else ""


def answer_for(place: Place, target: str) -> Answer:
    """The answer to a GET of ``target`` (the request line's path and query)."""
    for _ in range(LOOKS):
        try:
            folder = place.folder().resolve(strict=True)
        except FileNotFoundError:
            return _text(HTTPStatus.NOT_FOUND, NO_FILES)
        except Refusal as refusal:
            return _text(HTTPStatus.INTERNAL_SERVER_ERROR, f"{refusal}\n")
        # The folder may be switched and an old one tidied away between two looks: then look again.
        with suppress(FileNotFoundError, NotADirectoryError):
            return _from_folder(folder, place.prefix, target)
    return _text(HTTPStatus.NOT_FOUND, NO_FILES)


def _from_folder(folder: Path, prefix: str, target: str) -> Answer:
    asked, _, query = target.partition("?")
    names = _names(asked, prefix)
    if names is None:
        return _not_found(folder)
    path = folder.joinpath(*names)
    if path.is_dir():
        if names and not asked.endswith("/") and _inside(folder, path / "index.html"):
            location = prefix + quote("/".join(names)) + "/" + (f"?{query}" if query else "")
            return Answer(status=HTTPStatus.MOVED_PERMANENTLY, kind="", body=b"", location=location)
        path /= "index.html"
    elif asked.endswith("/"):
        return _not_found(folder)
    if not _inside(folder, path):
        return _not_found(folder)
    body = path.read_bytes()
    return Answer(status=HTTPStatus.OK, kind=content_type(path, body[:1024]), body=body)


def _names(asked: str, prefix: str) -> list[str] | None:
    """The parts of the path below the prefix; None for whatever must not be looked up."""
    try:
        path = unquote_to_bytes(asked).decode("utf-8")
    except ValueError:
        return None
    if not (path + "/").startswith(prefix) or not path.isprintable() or "\\" in path:
        return None
    names = [name for name in path.removeprefix(prefix.rstrip("/")).split("/") if name]
    hidden = [name for name in names if name.startswith(".") and name != ".well-known"]
    return None if hidden or any(":" in name for name in names) else names


def _inside(folder: Path, path: Path) -> bool:
    """Whether ``path`` is a plain file that really lies below ``folder``, whatever links are on the way."""
    try:
        return path.is_file() and path.resolve(strict=True).is_relative_to(folder)
    except (OSError, RuntimeError):  # gone meanwhile, or a loop of links
        return False


def _not_found(folder: Path) -> Answer:
    page = folder / "404.html"
    if _inside(folder, page):
        return Answer(status=HTTPStatus.NOT_FOUND, kind=TYPES[".html"], body=page.read_bytes())
    return _text(HTTPStatus.NOT_FOUND, "Not found.\n")


def _text(status: HTTPStatus, text: str) -> Answer:
    return Answer(status=status, kind="text/plain; charset=utf-8", body=text.encode("utf-8", "backslashreplace"))


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    server_version = "publisher-serve"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30
    """Seconds that a silent connection may keep a thread."""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        if not self._is_for_us():
            answer = _text(HTTPStatus.MISDIRECTED_REQUEST, "This server answers to local names only.\n")
        else:
            answer = answer_for(self.server.place, self.path)
        self.send_response(answer.status)
        if answer.kind:
            self.send_header("Content-Type", answer.kind)
        if answer.location:
            self.send_header("Location", answer.location)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if with_body:
            self.wfile.write(answer.body)
        self.server.place.say(f"{answer.status.value} {self.command} {self.path}")

    def _is_for_us(self) -> bool:
        """A page elsewhere can point a name of its own at 127.0.0.1 and read us by it; its name gives it away."""
        host = self.headers.get("Host", "")
        try:
            return (urlsplit(f"//{host}").hostname or "") in self.server.names
        except ValueError:
            return False

    def version_string(self) -> str:
        return self.server_version

    def date_time_string(self, timestamp: float | None = None) -> str:
        return formatdate(timestamp, usegmt=True)

    def log_message(self, format: str, *args: Any) -> None:
        """Answers are told by ``say``; the library's own lines would go to stderr past it."""


class LocalServer(ThreadingHTTPServer):
    """Serves a ``Place`` on 127.0.0.1, answering to ``names`` besides the local ones. ``UsageProblem``: choose another port."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, place: Place, port: int, names: Collection[str] = LOCAL_NAMES) -> None:
        self.place = place
        self.names = frozenset(names) | LOCAL_NAMES
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            raise _port_problem(port, error)

    def server_bind(self) -> None:
        # Not HTTPServer's: it asks the resolver for this machine's name, which can take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        """A browser that closes a connection early is no event worth a traceback."""


def _port_problem(port: int, error: Exception) -> UsageProblem:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        says = f"port {port} is in use by another program, perhaps another publisher serve"
    elif number == errno.EACCES:
        says = f"port {port} may not be used by this account"
    else:
        says = f"port {port} cannot be used"
    return UsageProblem("port-taken", says, next="publisher serve --port 0 (any free port)")
